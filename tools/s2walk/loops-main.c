// SPDX-License-Identifier: GPL-2.0-only
/*
 * loops: random VMs under the loops of mmu.c, kvm_main.c and dirty_ring.c.
 *
 * Each tree runs in processes of its own, one for each CPU, so that a crash or a
 * sanitizer's report names the VM it happened in.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loops.h"

extern const struct l_tree base_loops, patched_loops;

#define MAX_JOBS	64

/* Shared with the processes */
static struct job {
	struct l_stats stats;
	uint64_t seed;		/* being run */
	uint64_t bad;		/* VMs that failed */
	uint64_t bad_seed;	/* the first of them */
	char why[300];
} *jobs;

static unsigned int passed, failed, skipped;

static void run_job(const struct l_tree *tree, struct job *job, uint64_t first,
		    uint64_t step, uint64_t end, unsigned int flags, bool stop)
{
	for (job->seed = first; job->seed < end; job->seed += step) {
		const char *why = tree->run(job->seed, flags);

		if (!why)
			continue;
		if (!job->bad++) {
			job->bad_seed = job->seed;
			snprintf(job->why, sizeof(job->why), "%s", why);
		}
		if (stop)
			break;
	}
	job->stats = *tree->stats;
}

static void add(struct l_stats *sum, const struct l_stats *s)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)s;
	size_t i;

	for (i = 0; i < sizeof(*s) / sizeof(*to); i++)
		to[i] += from[i];
}

/* Returns whether all VMs were fine; else @bad is what the first one said */
static bool run(const struct l_tree *tree, uint64_t seed, uint64_t count,
		unsigned int flags, bool stop, struct l_stats *sum, struct job *bad)
{
	int nr = sysconf(_SC_NPROCESSORS_ONLN), i, status;
	pid_t pid[MAX_JOBS];
	bool fine = true;

	nr = nr < 1 || count == 1 ? 1 : nr > MAX_JOBS ? MAX_JOBS : nr;
	memset(jobs, 0, sizeof(*jobs) * MAX_JOBS);
	memset(sum, 0, sizeof(*sum));
	fflush(stdout);
	for (i = 0; i < nr; i++) {
		pid[i] = fork();
		if (pid[i] < 0) {
			perror("loops: fork");
			exit(2);
		}
		if (!pid[i]) {
			run_job(tree, &jobs[i], seed + i, nr, seed + count, flags,
				stop);
			fflush(stdout);
			_exit(0);
		}
	}
	for (i = 0; i < nr; i++) {
		if (waitpid(pid[i], &status, 0) < 0)
			status = -1;
		if (status && !jobs[i].bad++) {
			jobs[i].bad_seed = jobs[i].seed;
			snprintf(jobs[i].why, sizeof(jobs[i].why),
				 "died (status %#x)", status);
		}
		add(sum, &jobs[i].stats);
		if (!jobs[i].bad)
			continue;
		if (fine || jobs[i].bad_seed < bad->bad_seed)
			*bad = jobs[i];
		fine = false;
	}
	return fine;
}

static void print_stats(const struct l_stats *s)
{
	printf("# %" PRIu64 " VMs, %" PRIu64 " ioctls, %" PRIu64 " moments for others\n",
	       s->vms, s->ioctls, s->moments);
	printf("# %" PRIu64 " faults, %" PRIu64 " writes, %" PRIu64 " of them by stale TLB entries\n",
	       s->faults, s->writes, s->stale_writes);
	printf("# %" PRIu64 " host operations, %" PRIu64 " of %" PRIu64 " top-ups failed, %" PRIu64 " signals\n",
	       s->host_ops, s->failed_topups, s->topups, s->signals);
	printf("# %" PRIu64 " pages reported\n", s->reported);
}

static void result(bool ok, const char *tree, const char *what)
{
	passed += ok;
	failed += !ok;
	printf("%sok %u %s %s\n", ok ? "" : "not ", passed + failed, tree, what);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: loops [--tree base|patched] [--seed N] [--count N] [--trace]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct l_tree *const trees[] = { &base_loops, &patched_loops };
	uint64_t seed = 1, count = 200;
	const char *only = NULL;
	unsigned int flags = 0;
	struct l_stats s;
	struct job bad;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--trace"))
			flags |= L_TRACE;
		else if (i + 1 == argc)
			usage();
		else if (!strcmp(argv[i], "--tree"))
			only = argv[++i];
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[++i], NULL, 0);
		else
			usage();
	}
	if (!count || (only && strcmp(only, "base") && strcmp(only, "patched")))
		usage();
	jobs = mmap(NULL, sizeof(*jobs) * MAX_JOBS, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (jobs == MAP_FAILED) {
		perror("loops: mmap");
		return 2;
	}

	printf("KTAP version 1\n");
	for (i = 0; i < 2; i++) {
		bool patched = i == 1, ok;

		if (only && strcmp(only, patched ? "patched" : "base"))
			continue;
		/*
		 * A base that forgets entries when a signal interrupts a reset is
		 * run without signals, and has to be caught with them.
		 */
		ok = run(trees[i], seed, count, flags | (patched ? L_SIGNALS : 0),
			 flags & L_TRACE, &s, &bad);
		if (!ok) {
			printf("# seed %" PRIu64 ": %s (VMs that failed: at least %" PRIu64 ")\n",
			       bad.bad_seed, bad.why, bad.bad);
			printf("# replay: loops --tree %s --seed %" PRIu64 " --count 1 --trace\n",
			       patched ? "patched" : "base", bad.bad_seed);
		}
		print_stats(&s);
		result(ok, trees[i]->name, "loses no page");
		if (patched || flags & L_TRACE)
			continue;
		if (run(trees[i], seed, count, flags | L_SIGNALS, true, &s, &bad)) {
			printf("ok %u %s interrupted resets # SKIP nothing was lost\n",
			       passed + failed + ++skipped, trees[i]->name);
			continue;
		}
		printf("# seed %" PRIu64 ": %s\n", bad.bad_seed, bad.why);
		result(true, trees[i]->name, "is caught forgetting interrupted resets");
	}
	printf("1..%u\n# %u passed, %u failed, %u skipped\n",
	       passed + failed + skipped, passed, failed, skipped);
	return failed != 0;
}
