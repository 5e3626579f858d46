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

static void usage(void)
{
	fprintf(stderr, "usage: bench-walk [--size GIB] [--runs N] [--only NAME] [--tsv FILE]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const char *only = NULL, *tsv_name = "/dev/null";
	int runs = 7, i;
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
	printf("%-28s %-8s %17s %17s  %6s  %8s  %6s%s\n", "scenario", "unit", "base",
	       "patched", "ratio", "floor", "xfloor",
	       perf_fd >= 0 ? "  base-insn patd-insn" : "");
	for (k = 0; k < sizeof(scenarios) / sizeof(scenarios[0]); k++) {
		if (only && strcmp(only, scenarios[k].name))
			continue;
		/* All of it from memory; then a little from the caches */
		bench(&scenarios[k], gib, true, runs, tsv);
		if (scenarios[k].level)
			bench(&scenarios[k], 1, false, runs * 3 | 1, tsv);
	}
	if (perf_fd < 0)
		printf("\nNo instruction counts: perf_event_open: not available here\n");
	if (fclose(tsv)) {
		perror(tsv_name);
		return 2;
	}
	return 0;
}
