// SPDX-License-Identifier: GPL-2.0
/*
 * The guest that is migrated: /init of a small Linux, a static program. Its memory says by itself whether a page was lost.
 *
 * One thread a CPU owns a share of the pages. Each round rewrites one sixteenth of it, all 4 KiB of each page, with words
 * that follow from the seed, the page and the round; before that it checks that the page still holds what the round in which
 * it was written last put there. A pass is sixteen rounds: whatever happened to any page before a pass began, the
 * pass notices. After each pass a line goes to the console:
 *
 *	pass <n>: <pages> pages, <wrong> wrong
 *
 * The kernel's command line sets fw_mib (memory to write to), fw_dense (1: neighbouring pages in a round; 0: every
 * sixteenth), fw_pause (milliseconds between rounds) and fw_seed: what the kernel does not know it hands to /init as
 * its environment.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES	4096ul
#define WORDS		(PAGE_BYTES / sizeof(uint64_t))
#define ROUNDS		16ul
#define MAX_CPUS	16
#define MAX_REPORTS	10

static uint64_t (*pages)[WORDS];
static unsigned long nr_pages, nr_threads, seed, pause_ms, wrong;
static bool dense;
static pthread_barrier_t barrier;

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The first word of a page; each of the others is a constant more than the one before. */
static uint64_t first_word(unsigned long page, unsigned long round)
{
	uint64_t x = (seed << 48) ^ ((uint64_t)page << 24) ^ round;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static void fill(unsigned long page, unsigned long round)
{
	uint64_t word = first_word(page, round);
	unsigned long i;

	for (i = 0; i < WORDS; i++, word += 0x9e3779b97f4a7c15ull)
		pages[page][i] = word;
}

static void check(unsigned long page, unsigned long round)
{
	uint64_t word = first_word(page, round);
	unsigned long i;

	for (i = 0; i < WORDS; i++, word += 0x9e3779b97f4a7c15ull) {
		if (pages[page][i] == word)
			continue;
		if (__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < MAX_REPORTS)
			printf("lost: page %lu does not hold what round %lu wrote%s\n", page, round,
			       pages[page][0] == first_word(page, round - ROUNDS) ? ", but what it held before" : "");
		return;
	}
}

static void *worker(void *arg)
{
	unsigned long nr = nr_pages / nr_threads, first = (unsigned long)arg * nr;
	unsigned long part = nr / ROUNDS, round, i, page;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((unsigned long)arg, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");

	for (round = 0;; round++) {
		for (i = 0; i < part; i++) {
			page = first + (dense ? round % ROUNDS * part + i : round % ROUNDS + i * ROUNDS);
			if (round >= ROUNDS)
				check(page, round - ROUNDS);
			fill(page, round);
		}
		usleep(pause_ms * 1000);
		if (round % ROUNDS != ROUNDS - 1)
			continue;
		/* One thread speaks for all, while nobody counts. */
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			printf("pass %lu: %lu pages, %lu wrong\n", round / ROUNDS, nr_pages, wrong);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[MAX_CPUS];
	unsigned long i;
	cpu_set_t cpus;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		die("sched_getaffinity");
	nr_threads = CPU_COUNT(&cpus) < MAX_CPUS ? CPU_COUNT(&cpus) : MAX_CPUS;
	seed = setting("fw_seed", 1);
	dense = setting("fw_dense", 0);
	pause_ms = setting("fw_pause", 0);
	nr_pages = (setting("fw_mib", 64) << 20) / PAGE_BYTES;
	nr_pages -= nr_pages % (nr_threads * ROUNDS);
	pages = mmap(NULL, nr_pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		die("mmap");
	pthread_barrier_init(&barrier, NULL, nr_threads);
	printf("guest: %lu pages, %lu threads, seed %lu\n", nr_pages, nr_threads, seed);

	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			die("pthread_create");
	pthread_join(threads[0], NULL);
	return 1;
}
