// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer entry: the input decides each choice that ops.c would otherwise
 * leave to a random number generator.  What fails is printed as a script for
 * "s2walk replay", which shrinks no further but says what went wrong.
 */
#include <stdlib.h>

#include "ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct s2w_totals totals;
	static struct s2w_seq seq;
	struct s2w_rng rng = { .data = data, .left = size };
	char why[512];
	int at;

	seq_random(&seq, &rng, -1, 60);
	if (seq_compare(&seq, &totals, &at, why, sizeof(why)))
		return 0;
	fprintf(stderr, "# operation %d: %s\n# --- save from here, run: s2walk replay FILE\n",
		at + 1, why);
	seq_print(stderr, &seq);
	abort();
}
