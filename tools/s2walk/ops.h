/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences of operations: random, as text, compared, shrunk. */
#ifndef S2WALK_OPS_H
#define S2WALK_OPS_H

#include "s2walk.h"

/* One granule (and flavour), on both trees */
struct s2w_pair {
	const char *name;		/* "4k", "4k_hyp", ... */
	const struct s2w_walker *base, *patched;
};

extern const struct s2w_pair s2w_pairs[];
extern const int s2w_nr_pairs;

#define MAX_OPS		256

struct s2w_seq {
	int pair;
	struct s2w_config cfg;
	int nr;
	struct s2w_op op[MAX_OPS];
};

/* Sums over the operations that were compared */
struct s2w_totals {
	uint64_t ops, seqs;
	uint64_t base_loads, loads, base_tlbis, tlbis, base_walks, walks;
	uint64_t kind[S2W_NR_KINDS], failed_ops;
};

/* A source of random bits: a generator, or the fuzzer's input */
struct s2w_rng {
	uint64_t state;
	const uint8_t *data;
	size_t left;
};

uint64_t rng_below(struct s2w_rng *r, uint64_t n);
void seq_random(struct s2w_seq *seq, struct s2w_rng *rng, int pair, int nr);
void seq_print(FILE *f, const struct s2w_seq *seq);
int seq_parse(FILE *f, const char *name, struct s2w_seq *seq);

/*
 * Run on both trees.  Returns true if they agree; otherwise @why says what
 * differs and *@at is the operation (seq->nr: at the end).
 */
bool seq_compare(const struct s2w_seq *seq, struct s2w_totals *sum, int *at,
		 char *why, size_t len);

#endif
