// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-walk: native time of the walkers, base and patched in turns.
 *
 * CPU time of this thread, so that other load does not count, though it does
 * share the caches.  "floor" is the time of one access to each cache line that
 * holds the leaf entries: what no walk can undercut.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "loops.h"
#include "s2walk.h"

extern const struct s2w_walker base_4k, patched_4k;
static const struct s2w_walker *const walkers[] = { &base_4k, &patched_4k };

#define MAX_RUNS	301
#define GIB		(1ULL << 30)

static const struct scenario {
	const char *name;
	enum s2w_kind kind;
	int level;		/* of the leaves mapped before; 0: none */
	unsigned int ia_bits;
	bool whole;		/* the operation covers the whole IPA space */
	enum s2w_touch floor;
} scenarios[] = {
	{ "wrprotect-4k", S2W_WRPROTECT, 3, 48, false, S2W_TOUCH_WRITE },
	{ "age-4k", S2W_AGE, 3, 48, false, S2W_TOUCH_READ },
	{ "split-thp", S2W_SPLIT, 2, 48, false, S2W_TOUCH_WRITE },
	{ "split-1g", S2W_SPLIT, 1, 48, false, S2W_TOUCH_WRITE },
	{ "split-4k-nothing", S2W_SPLIT, 3, 48, false, S2W_TOUCH_READ },
	{ "unmap-4k", S2W_UNMAP, 3, 48, false, S2W_TOUCH_WRITE },
	{ "unmap-thp", S2W_UNMAP, 2, 48, false, S2W_TOUCH_READ },
	{ "unmap-full-4k", S2W_UNMAP, 3, 48, true, S2W_TOUCH_WRITE },
	{ "unmap-full-empty", S2W_UNMAP, 0, 48, true, S2W_TOUCH_READ },
	{ "teardown-4k", S2W_DESTROY, 3, 48, true, S2W_TOUCH_WRITE },
	{ "teardown-thp", S2W_DESTROY, 2, 48, true, S2W_TOUCH_READ },
	{ "teardown-empty-48", S2W_DESTROY, 0, 48, true, S2W_TOUCH_READ },
	{ "teardown-empty-52", S2W_DESTROY, 0, 52, true, S2W_TOUCH_READ },
};

extern const struct l_tree base_loops, patched_loops;
static const struct l_tree *const loops[] = { &base_loops, &patched_loops };

/*
 * The density sweep: the ioctl of mmu.c, kvm_main.c and pgtable.c, 512 MiB of
 * which one page in so many is dirty.  Named as in scripts/bench.scenarios.
 */
#define SWEEP_SIZE	(GIB / 2)
#define SWEEP_WORDS	(SWEEP_SIZE / 4096 / 64)

static const struct sweep {
	const char *name;
	int level;		/* of the leaves mapped before */
	uint64_t chunk;
	int manual;		/* KVM_DIRTY_LOG_*, 0: KVM_GET_DIRTY_LOG clears */
} sweeps[] = {
	{ "sweep-get-4k-e0", 3, 0, 0 },
	{ "sweep-clear1-4k-e0", 3, 0, 1 },
	{ "sweep-clear3-4k-e2m", 3, GIB / 512, 3 },
	{ "sweep-clear3-thp-e0", 2, 0, 3 },
	{ "sweep-clear3-thp-e2m", 2, GIB / 512, 3 },
	{ "sweep-clear3-1g-e1g", 1, GIB, 3 },
};

/* One page in so many; 0: none */
#define ONE	(SWEEP_SIZE / 4096)
static const uint64_t densities[] = {
	1, 2, 8, 16, 64, 512, 1024, 4096, 16384, 65536, ONE, 0,
};

static int perf_fd = -1;
static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void open_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	perf_fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double instructions(void)
{
	uint64_t n = 0;

	if (perf_fd < 0 || read(perf_fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return n;
}

/* Push the tables out of all caches, or don't */
static void make_cold(void)
{
	static char *buf;
	size_t len = 96 << 20, i;
	uint64_t sum = 0;

	if (!buf) {
		buf = malloc(len);
		if (!buf) {
			perror("bench-walk");
			exit(2);
		}
		memset(buf, 1, len);
	}
	for (i = 0; i < len; i += 64)
		sum += buf[i]++;
	sink = sum;
}

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct samples {
	double ns[MAX_RUNS], insns[MAX_RUNS];
};

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), cmp);
	return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Half the distance between the quartiles, in per cent; @v is sorted */
static double spread(const double *v, int n, double med)
{
	return n < 4 || !med ? 0 : 50 * (v[3 * n / 4] - v[n / 4]) / med;
}

static void fail(const char *what, const struct s2w_walker *w, int err)
{
	fprintf(stderr, "bench-walk: %s: %s: %s\n", w->name, what,
		err < 0 ? strerror(-err) : "failed");
	exit(1);
}

static void prepare(const struct s2w_walker *w, const struct scenario *s,
		    uint64_t size)
{
	int ret = w->bench_reset(s->ia_bits);

	if (ret)
		fail("can't create the page table", w, ret);
	if (s->level)
		w->bench_map(0, size, s->level);
	if (s->kind == S2W_SPLIT)
		w->bench_stock(s->level == 1 ? size / GIB * 513 :
			       s->level == 2 ? size / (2 << 20) : 4);
}

static void measure(const struct s2w_walker *w, const struct scenario *s,
		    uint64_t size, bool cold, double *ns, double *insns)
{
	uint64_t whole = 1ULL << s->ia_bits;
	double t, n;
	int ret;

	if (cold)
		make_cold();
	else
		sink = w->bench_touch(0, size, S2W_TOUCH_READ);
	n = instructions();
	t = now_ns();
	ret = w->bench_run(s->kind, 0, s->whole ? whole : size);
	*ns = now_ns() - t;
	*insns = instructions() - n;
	if (ret)
		fail(s->name, w, ret);
}

static void bench(const struct scenario *s, uint64_t gib, bool cold, int runs,
		  FILE *tsv)
{
	static struct samples samples[2];
	static double floor_ns[MAX_RUNS];
	uint64_t size = gib * GIB;
	double entries = s->level ? size / 4096.0 : 1, med[2], ins[2], fl, t;
	const char *unit = s->level ? "ns/entry" : "ns/call";
	char insn_text[64] = "-\t-", name[64];
	bool keep = s->kind == S2W_WRPROTECT || s->kind == S2W_AGE;
	int i, j, k;

	/* An entry is a leaf that is changed or, in a split, made */
	if (s->level && s->kind != S2W_SPLIT)
		entries = size >> s2w_level_shift(12, s->level);

	for (j = 0; j < 2 && keep; j++)
		prepare(walkers[j], s, size);
	for (i = 0; i < runs; i++) {
		for (k = 0; k < 2; k++) {
			j = (i + k) & 1;	/* who goes first alternates */
			if (!keep)
				prepare(walkers[j], s, size);
			else
				walkers[j]->bench_touch(0, size, S2W_TOUCH_MKDIRTY);
			measure(walkers[j], s, size, cold, &samples[j].ns[i],
				&samples[j].insns[i]);
		}
		/* The floor, on a tree as the operation finds or makes it */
		if (!keep) {
			walkers[1]->bench_reset(s->ia_bits);
			if (s->level)
				walkers[1]->bench_map(0, size, s->kind == S2W_SPLIT ?
						      3 : s->level);
		}
		if (cold)
			make_cold();
		else
			sink = walkers[1]->bench_touch(0, size, S2W_TOUCH_READ);
		t = now_ns();
		sink = walkers[1]->bench_touch(0, size, s->floor);
		floor_ns[i] = now_ns() - t;
	}
	for (j = 0; j < 2; j++) {
		med[j] = median(samples[j].ns, runs);
		ins[j] = median(samples[j].insns, runs);
	}
	fl = s->level ? median(floor_ns, runs) : 0;

	snprintf(name, sizeof(name), "%s-%s-%" PRIu64 "g", s->name,
		 cold ? "cold" : "warm", gib);
	if (!s->level)
		snprintf(name, sizeof(name), "%s-%s", s->name, cold ? "cold" : "warm");
	printf("%-28s %-8s %11.2f ±%3.0f%% %11.2f ±%3.0f%%  %6.3f", name, unit,
	       med[0] / entries, spread(samples[0].ns, runs, med[0]),
	       med[1] / entries, spread(samples[1].ns, runs, med[1]),
	       med[1] / med[0]);
	if (s->level)
		printf("  %8.2f  %6.1f", fl / entries, med[1] / fl);
	else
		printf("  %8s  %6s", "-", "-");
	if (perf_fd >= 0) {
		printf("  %9.1f %9.1f", ins[0] / entries, ins[1] / entries);
		snprintf(insn_text, sizeof(insn_text), "%.2f\t%.2f",
			 ins[0] / entries, ins[1] / entries);
	}
	printf("\n");
	fflush(stdout);
	fprintf(tsv, "%s\ttime\t%s\t%.3f\t%.3f\t%.4f\t%.1f\t%.1f\t%.3f\t%s\n", name,
		unit, med[0] / entries, med[1] / entries, med[1] / med[0],
		spread(samples[0].ns, runs, med[0]),
		spread(samples[1].ns, runs, med[1]), fl / entries, insn_text);
}

/* @one_in 0: no page; at random: as many as strided */
static void make_dirty(unsigned long *dirty, uint64_t one_in, bool random)
{
	uint64_t nr = SWEEP_SIZE / 4096, h = 1, page, i;

	memset(dirty, 0, SWEEP_WORDS * sizeof(*dirty));
	for (i = 0; one_in && i < nr / one_in; i++) {
		page = i * one_in + one_in / 2;
		while (random) {
			h = h * 6364136223846793005ULL + 1442695040888963407ULL;
			page = (h >> 33) % nr;
			if (!(dirty[page / 64] >> page % 64 & 1))
				break;
		}
		dirty[page / 64] |= 1UL << page % 64;
	}
}

/* What reading the clock takes */
static double clock_ns(void)
{
	double v[101], t;
	int i;

	for (i = 0; i < 101; i++) {
		t = now_ns();
		v[i] = now_ns() - t;
	}
	return median(v, 101);
}

/* Returns whether patched is slower, by more than both vary: 2; or just slower: 1 */
static int sweep(const struct sweep *s, uint64_t one_in, bool random, bool cold,
		 int runs, FILE *tsv)
{
	static unsigned long dirty[GIB / 4096 / 64];	/* as large as any slot */
	static struct samples samples[2];
	double overhead = clock_ns(), med[2], t;
	char name[64], density[24];
	int i, j, k, ret;

	make_dirty(dirty, one_in, random);
	for (j = 0; j < 2 && s->level == 3; j++)
		if (loops[j]->bench_prepare(SWEEP_SIZE, 3, s->chunk, s->manual))
			goto fail;
	for (i = 0; i < runs; i++) {
		for (k = 0; k < 2; k++) {
			j = (i + k) & 1;	/* who goes first alternates */
			/* A 1G block needs a slot of that size: half of it is clean */
			if (s->level < 3 &&
			    loops[j]->bench_prepare(s->level == 1 ? GIB : SWEEP_SIZE,
						    s->level, s->chunk, s->manual))
				goto fail;
			loops[j]->bench_mark(dirty);
			if (cold)
				make_cold();
			else
				sink = loops[j]->bench_warm();
			t = now_ns();
			ret = s->manual ? loops[j]->bench_clear() :
					  loops[j]->bench_get();
			t = now_ns() - t - overhead;
			samples[j].ns[i] = t > 1 ? t : 1;
			if (ret)
				goto fail;
		}
	}
	for (j = 0; j < 2; j++)
		med[j] = median(samples[j].ns, runs);

	snprintf(density, sizeof(density), one_in == 0 ? "none" : one_in == ONE ?
		 "one" : "1in%" PRIu64, one_in);
	snprintf(name, sizeof(name), "%s%s-%s-%s", s->name, random ? "-random" : "",
		 density, cold ? "cold" : "warm");
	printf("%-38s %-8s %10.0f ±%3.0f%% %10.0f ±%3.0f%%  %6.3f\n", name, "ns/call",
	       med[0], spread(samples[0].ns, runs, med[0]), med[1],
	       spread(samples[1].ns, runs, med[1]), med[1] / med[0]);
	fflush(stdout);
	fprintf(tsv, "%s\ttime\tns/call\t%.0f\t%.0f\t%.4f\t%.1f\t%.1f\t-\t-\t-\n",
		name, med[0], med[1], med[1] / med[0],
		spread(samples[0].ns, runs, med[0]),
		spread(samples[1].ns, runs, med[1]));
	if (med[1] <= med[0])
		return 0;
	return med[1] > med[0] * (1 + (spread(samples[0].ns, runs, med[0]) +
				       spread(samples[1].ns, runs, med[1])) / 100) ? 2 : 1;
fail:
	fprintf(stderr, "bench-walk: %s: %s failed\n", loops[j]->name, s->name);
	exit(1);
}

static void run_sweeps(const char *only, int runs, FILE *tsv)
{
	unsigned int rows = 0, slower = 0, clearly = 0;
	size_t k, d;
	int i, ret;

	printf("\n%-38s %-8s %16s %16s  %6s\n", "dirty pages of 512 MiB", "unit",
	       "base", "patched", "ratio");
	for (k = 0; k < sizeof(sweeps) / sizeof(sweeps[0]); k++) {
		if (only && strncmp(only, sweeps[k].name, strlen(only)))
			continue;
		for (d = 0; d < sizeof(densities) / sizeof(densities[0]); d++) {
			uint64_t one_in = densities[d];

			for (i = 0; i < 4; i++) {
				/* Random: where that is not the same as strided */
				if (i & 1 && (one_in < 2 || one_in == ONE))
					continue;
				ret = sweep(&sweeps[k], one_in, i & 1, !(i & 2),
					    runs, tsv);
				slower += ret > 0;
				clearly += ret > 1;
				rows++;
			}
		}
	}
	printf("\n%u of %u rows of the sweep have a ratio above 1, %u by more than both sides vary.\n",
	       slower, rows, clearly);
}

static void usage(void)
{
	fprintf(stderr, "usage: bench-walk [--size GIB] [--runs N] [--only NAME|sweep...] [--sweep 0] [--tsv FILE]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const char *only = NULL, *tsv_name = "/dev/null";
	int runs = 7, sweep_too = 1, i;
	uint64_t gib = 64;
	size_t k;
	FILE *tsv;

	for (i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			usage();
		else if (!strcmp(argv[i], "--size"))
			gib = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--runs"))
			runs = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--sweep"))
			sweep_too = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--tsv"))
			tsv_name = argv[i + 1];
		else
			usage();
	}
	if (gib < 1 || gib > 1024 || runs < 1 || runs > MAX_RUNS / 3 - 1)
		usage();
	tsv = fopen(tsv_name, "w");
	if (!tsv) {
		perror(tsv_name);
		return 2;
	}
	open_perf();
	fprintf(tsv, "scenario\tmetric\tunit\tbase\tpatched\tratio\tbase_spread_pct\tpatched_spread_pct\tfloor\tbase_insns\tpatched_insns\n");
	printf("Native time in the harness; median of %d, ± half the interquartile range.\n"
	       "floor: one access to each cache line of the leaves; xfloor: patched against it.\n\n",
	       runs);
	if (!only || strncmp(only, "sweep", 5))
		printf("%-28s %-8s %17s %17s  %6s  %8s  %6s%s\n", "scenario",
		       "unit", "base", "patched", "ratio", "floor", "xfloor",
		       perf_fd >= 0 ? "  base-insn patd-insn" : "");
	for (k = 0; k < sizeof(scenarios) / sizeof(scenarios[0]); k++) {
		if (only && strcmp(only, scenarios[k].name))
			continue;
		/* All of it from memory; then a little from the caches */
		bench(&scenarios[k], gib, true, runs, tsv);
		if (scenarios[k].level)
			bench(&scenarios[k], 1, false, runs * 3 | 1, tsv);
	}
	/* Samples are small, and so are changes */
	if (sweep_too && (!only || !strncmp(only, "sweep", 5)))
		run_sweeps(only, runs * 3 | 1, tsv);
	if (perf_fd < 0)
		printf("\nNo instruction counts: perf_event_open: not available here\n");
	if (fclose(tsv)) {
		perror(tsv_name);
		return 2;
	}
	return 0;
}
