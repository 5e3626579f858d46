// SPDX-License-Identifier: GPL-2.0-only
/*
 * s2walk: unit tests, random sequences on base and patched, replay.
 *
 * Every sequence runs in a child process, so that a crash, a sanitizer report
 * or a hang is one more way to fail, and shrinks like any other.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ops.h"

#define TIME_LIMIT	20	/* seconds of CPU time, for one sequence */

/* Shared with the children */
static struct shared {
	struct s2w_totals sum;
	struct s2w_report report;
	int at;
	bool done, agreed;
	char why[512];
} *sh;

static bool shrink_failures = true;
static unsigned int tests, failed, skipped;

static void ktap(int ok, const char *text)
{
	tests++;
	failed += !ok;
	skipped += ok == S2W_SKIP;
	printf("%s %u %s%s\n", ok ? "ok" : "not ok", tests,
	       text, ok == S2W_SKIP ? " # SKIP" : "");
	fflush(stdout);
}

/* Each sequence is a process: looking for leaks at its end takes longer */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* A hang burns CPU time; a busy machine doesn't make one */
static void limit_time(int seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_PROF, &t, NULL);
}

static bool timed_out(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
}

/* ---- unit tests ---- */

static void print_unit(struct s2w_report *r, int ok, const char *text)
{
	char line[640];
	const char *reason = ok == S2W_SKIP ? strchr(text, ':') : NULL;

	if (ok == S2W_SKIP) {
		snprintf(line, sizeof(line), "%s %.*s", r->prefix,
			 (int)(reason - text), text);
		r->skipped++;
	} else {
		snprintf(line, sizeof(line), "%s %s", r->prefix, text);
		if (ok)
			r->passed++;
		else
			r->failed++;
	}
	ktap(ok, line);
	if (reason)
		printf("#%s\n", reason + 1);
}

static void run_unit(const struct s2w_walker *w, const char *only)
{
	char text[128];
	int status;
	pid_t pid;

	fflush(stdout);
	sh->done = false;
	pid = fork();
	if (!pid) {
		struct s2w_report r = { .prefix = w->name, .print = print_unit };

		limit_time(TIME_LIMIT * 3);
		w->unit(&r, only);
		sh->report = r;
		sh->done = true;
		fflush(stdout);
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (sh->done) {
		tests += sh->report.passed + sh->report.failed + sh->report.skipped;
		failed += sh->report.failed;
		skipped += sh->report.skipped;
		return;
	}
	snprintf(text, sizeof(text), "%s unit tests: %s", w->name,
		 timed_out(status) ? "hang" : "crash or sanitizer report");
	ktap(0, text);
}

/* ---- sequences ---- */

/* In a child; false if base and patched don't agree, or worse */
static bool run_seq(const struct s2w_seq *seq, bool quiet)
{
	int status;
	pid_t pid;

	fflush(stdout);
	sh->done = false;
	sh->at = 0;
	sh->why[0] = '\0';
	pid = fork();
	if (!pid) {
		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(2);
		limit_time(TIME_LIMIT);
		sh->agreed = seq_compare(seq, &sh->sum, &sh->at, sh->why,
					 sizeof(sh->why));
		sh->done = true;
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (sh->done)
		return sh->agreed;
	if (timed_out(status))
		snprintf(sh->why, sizeof(sh->why), "%s: hangs",
			 s2w_kind_name[seq->op[sh->at].kind]);
	else
		snprintf(sh->why, sizeof(sh->why), "%s: crash or sanitizer report",
			 s2w_kind_name[seq->op[sh->at].kind]);
	return false;
}

static bool try_shrunk(struct s2w_seq *seq, const struct s2w_seq *with)
{
	if (run_seq(with, true))
		return false;
	*seq = *with;
	return true;
}

/* Drop operations, then simplify what is left, for as long as it still fails */
static void shrink(struct s2w_seq *seq)
{
	struct s2w_walker const *w = s2w_pairs[seq->pair].base;
	struct s2w_seq t;
	int chunk, i, budget = 400;
	bool again = true;

	/* Nothing after the failure matters */
	if (sh->at + 1 < seq->nr) {
		t = *seq;
		t.nr = sh->at + 1;
		try_shrunk(seq, &t);
	}
	while (again && budget > 0) {
		again = false;
		for (chunk = seq->nr / 2 ?: 1; chunk; chunk /= 2) {
			for (i = 0; i + chunk <= seq->nr && budget-- > 0; ) {
				t = *seq;
				memmove(&t.op[i], &t.op[i + chunk],
					(t.nr - i - chunk) * sizeof(t.op[0]));
				t.nr -= chunk;
				if (try_shrunk(seq, &t))
					again = true;
				else
					i += chunk;
			}
		}
	}
	for (i = 0; i < seq->nr && budget > 0; i++) {
		t = *seq;
		t.op[i].bits &= S2W_R | S2W_W;
		budget -= t.op[i].bits != seq->op[i].bits;
		if (t.op[i].bits != seq->op[i].bits)
			try_shrunk(seq, &t);
		t = *seq;
		t.op[i].size = 1ULL << w->page_shift;
		budget--;
		if (seq->op[i].size > t.op[i].size)
			try_shrunk(seq, &t);
	}
	run_seq(seq, true);
}

static void report_failure(struct s2w_seq *seq, const char *from)
{
	char first[512];

	snprintf(first, sizeof(first), "%s", sh->why);
	printf("# %s: %s\n", from, first);
	if (!shrink_failures)
		return;
	printf("# shrinking %d operations...\n", seq->nr);
	fflush(stdout);
	shrink(seq);
	printf("# after shrinking: operation %d: %s\n# --- save from here, run: s2walk replay FILE\n",
	       sh->at + 1, sh->why);
	seq_print(stdout, seq);
	printf("# ---\n");
	/* Once more with the sanitizers' own words */
	run_seq(seq, false);
}

static void print_totals(const struct s2w_totals *t)
{
	int k;

	printf("# %" PRIu64 " operations in %" PRIu64 " sequences, %" PRIu64
	       " of them failing as they should;", t->ops, t->seqs, t->failed_ops);
	for (k = 0; k < S2W_NR_KINDS; k++)
		printf(" %s %" PRIu64, s2w_kind_name[k], t->kind[k]);
	printf("\n# entries read: base %" PRIu64 ", patched %" PRIu64
	       "; TLB invalidations: %" PRIu64 ", %" PRIu64 "; range walks: %"
	       PRIu64 ", %" PRIu64 "\n", t->base_loads, t->loads, t->base_tlbis,
	       t->tlbis, t->base_walks, t->walks);
}

static void run_random(int pair, uint64_t seed, int count, int nr_ops)
{
	struct s2w_seq seq;
	char text[160];
	int i, len;

	memset(&sh->sum, 0, sizeof(sh->sum));
	for (i = 0; i < count; i++) {
		/* Seeds may be small: spread them */
		struct s2w_rng rng = {
			.state = (seed + i) * 0x9e3779b97f4a7c15ULL + 1,
		};
		int skip = 4;

		while (skip--)
			rng_below(&rng, 2);
		/* Short sequences, and some long ones */
		len = nr_ops ?: (i % 8 ? 12 + i % 40 : 160);
		seq_random(&seq, &rng, pair, len);
		if (run_seq(&seq, true))
			continue;
		snprintf(text, sizeof(text),
			 "%s random sequence, --seed %" PRIu64 " --ops %d",
			 s2w_pairs[pair].name, seed + i, len);
		report_failure(&seq, text);
		ktap(0, text);
		return;
	}
	snprintf(text, sizeof(text), "%s random sequences: base and patched agree (%d, from seed %" PRIu64 ")",
		 s2w_pairs[pair].name, count, seed);
	ktap(1, text);
	print_totals(&sh->sum);
}

static int replay(const char *name)
{
	struct s2w_seq seq;
	char text[640];
	FILE *f = fopen(name, "r");
	bool ok;

	if (!f) {
		perror(name);
		return 2;
	}
	if (seq_parse(f, name, &seq)) {
		fclose(f);
		return 2;
	}
	fclose(f);
	ok = run_seq(&seq, false);
	snprintf(text, sizeof(text), "replay %s%s%s", name, ok ? "" : ": ",
		 ok ? "" : sh->why);
	ktap(ok, text);
	if (!ok)
		printf("# operation %d\n", sh->at + 1);
	return 0;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: s2walk unit [PAIR [TEST]]\n"
		"       s2walk diff [--pair PAIR] [--seed N] [--count N] [--ops N] [--no-shrink]\n"
		"       s2walk replay FILE...\n"
		"PAIR is one of:");
	for (int i = 0; i < s2w_nr_pairs; i++)
		fprintf(stderr, " %s", s2w_pairs[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

static int pair_by_name(const char *name)
{
	int i;

	for (i = 0; i < s2w_nr_pairs; i++)
		if (!strcmp(name, s2w_pairs[i].name))
			return i;
	usage();
	return -1;
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 0);

	if (!*s || *end)
		usage();
	return n;
}

int main(int argc, char **argv)
{
	int i, pair = -1, count = 100, ops = 0, ret = 0;
	uint64_t seed = 1;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || argc < 2)
		usage();

	printf("KTAP version 1\n");
	if (!strcmp(argv[1], "unit")) {
		if (argc > 4)
			usage();
		if (argc > 2)
			pair = pair_by_name(argv[2]);
		for (i = 0; i < s2w_nr_pairs; i++) {
			if (pair >= 0 && i != pair)
				continue;
			run_unit(s2w_pairs[i].base, argc > 3 ? argv[3] : NULL);
			run_unit(s2w_pairs[i].patched, argc > 3 ? argv[3] : NULL);
		}
		if (!tests) {
			fprintf(stderr, "s2walk: no unit test is called '%s'\n", argv[3]);
			return 2;
		}
	} else if (!strcmp(argv[1], "diff")) {
		if (argc > 2 && !strcmp(argv[argc - 1], "--no-shrink")) {
			shrink_failures = false;
			argc--;
		}
		for (i = 2; i + 1 < argc; i += 2) {
			if (!strcmp(argv[i], "--pair"))
				pair = pair_by_name(argv[i + 1]);
			else if (!strcmp(argv[i], "--seed"))
				seed = number(argv[i + 1]);
			else if (!strcmp(argv[i], "--count"))
				count = number(argv[i + 1]);
			else if (!strcmp(argv[i], "--ops"))
				ops = number(argv[i + 1]);
			else
				usage();
		}
		if (i != argc || ops > MAX_OPS)
			usage();
		for (i = 0; i < s2w_nr_pairs; i++)
			if (pair < 0 || i == pair)
				run_random(i, seed, count, ops);
	} else if (!strcmp(argv[1], "replay")) {
		if (argc == 2) {
			fprintf(stderr, "s2walk: replay needs the file of a sequence\n");
			return 2;
		}
		for (i = 2; i < argc && !ret; i++)
			ret = replay(argv[i]);
	} else {
		usage();
	}
	printf("1..%u\n# %u passed, %u failed, %u skipped\n", tests,
	       tests - failed - skipped, failed, skipped);
	return ret ?: failed != 0;
}
