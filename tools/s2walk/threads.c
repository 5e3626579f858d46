// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads: shared walks on several vCPUs, exclusive walks and hardware walks
 * at the same time, for ThreadSanitizer.  mmu_lock is a real lock; hardware
 * takes none, and is only held off by TLB invalidations, as on a real CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "s2walk.h"

extern const struct s2w_walker base_4k, patched_4k;

/*
 * stage2_make_pte() of every tree checks with a plain load that the entry is
 * still locked.  ThreadSanitizer counts the compare-and-exchange of a walker
 * that finds it locked, and fails, as a write; it isn't one.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race_top:stage2_make_pte\n";
}

#define FAULTERS	3
#define ROUNDS		2500

static const struct s2w_walker *w;
static pthread_rwlock_t mmu_lock =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int stop;
static unsigned int done[S2W_NR_KINDS], retries, hits;

#define PAGE		4096ULL
#define BLOCK		(512 * PAGE)
/* Two level-2 tables and a few blocks, so that everybody meets everybody */
#define BASE		((1ULL << 30) - 2 * BLOCK)

static uint64_t rnd(uint64_t *s, uint64_t below)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s % below;
}

static uint64_t address(uint64_t *s)
{
	return BASE + rnd(s, 4) * BLOCK + rnd(s, 6) * PAGE;
}

static void *faulter(void *arg)
{
	uint64_t s = (uintptr_t)arg * 0x9e3779b97f4a7c15ULL + 1;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		struct s2w_op op = { .addr = address(&s), .size = PAGE, .mc = 4,
				     .bits = S2W_R | (rnd(&s, 2) ? S2W_W : 0) };

		switch (rnd(&s, 4)) {
		case 0:
			op.kind = S2W_RELAX;
			op.bits = S2W_R | S2W_W;
			break;
		case 1:
			op.kind = S2W_MKYOUNG;
			break;
		default:
			op.kind = S2W_MAP;
			if (!rnd(&s, 3)) {
				op.addr &= ~(BLOCK - 1);
				op.size = BLOCK;
			}
		}
		op.phys = op.addr;
		pthread_rwlock_rdlock(&mmu_lock);
		ret = w->fault(&op);
		pthread_rwlock_unlock(&mmu_lock);
		__atomic_fetch_add(&done[op.kind], 1, __ATOMIC_RELAXED);
		if (ret)
			__atomic_fetch_add(&retries, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *excluder(void *arg)
{
	static const enum s2w_kind kinds[] = {
		S2W_UNMAP, S2W_WRPROTECT, S2W_SPLIT, S2W_AGE, S2W_FLUSH,
		S2W_LOG_DIRTY,
	};
	uint64_t s = 4711;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct s2w_op op = { .addr = address(&s), .mc = 4,
				     .size = rnd(&s, 2) ? PAGE : BLOCK,
				     .kind = kinds[rnd(&s, 6)],
				     .phys = rnd(&s, 1 << 20) };

		pthread_rwlock_wrlock(&mmu_lock);
		w->exclusive(&op);
		pthread_rwlock_unlock(&mmu_lock);
		done[op.kind]++;
	}
	return NULL;
}

static void *hardware(void *arg)
{
	uint64_t s = 815;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		hits += w->hw_access(address(&s));
	return NULL;
}

static void start(pthread_t *t, void *(*fn)(void *), uintptr_t arg)
{
	int err = pthread_create(t, NULL, fn, (void *)arg);

	if (err) {
		fprintf(stderr, "threads: can't start a thread: %s\n", strerror(err));
		exit(2);
	}
}

static int run(int n, const struct s2w_walker *walker, bool fwb, bool tlb_range)
{
	struct s2w_config cfg = { .ia_bits = 40, .fwb = fwb, .tlb_range = tlb_range };
	pthread_t t[FAULTERS + 2];
	const char *violation;
	uintptr_t i;
	int k;

	w = walker;
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	hits = retries = 0;
	memset(done, 0, sizeof(done));
	if (w->open(&cfg)) {
		printf("not ok %d %s threads: open failed\n", n, w->name);
		return 1;
	}
	for (i = 0; i < FAULTERS; i++)
		start(&t[i], faulter, i);
	start(&t[i], excluder, 0);
	start(&t[i + 1], hardware, 0);
	for (i = 0; i < FAULTERS; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (; i < FAULTERS + 2; i++)
		pthread_join(t[i], NULL);
	violation = w->close();
	if (violation)
		printf("not ok %d %s threads: %s\n", n, w->name, violation);
	else
		printf("ok %d %s threads, FWB %d, range TLBI %d\n", n, w->name,
		       fwb, tlb_range);
	printf("# %u hardware accesses that hit, %u faults to retry;", hits, retries);
	for (k = 0; k < S2W_NR_KINDS; k++)
		if (done[k])
			printf(" %s %u", s2w_kind_name[k], done[k]);
	printf("\n");
	fflush(stdout);
	return !!violation;
}

int main(void)
{
	int failed = 0;

	printf("KTAP version 1\n1..4\n");
	failed += run(1, &base_4k, false, false);
	failed += run(2, &base_4k, true, true);
	failed += run(3, &patched_4k, false, false);
	failed += run(4, &patched_4k, true, true);
	printf("# %d passed, %d failed, 0 skipped\n", 4 - failed, failed);
	return failed != 0;
}
