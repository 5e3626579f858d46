/* SPDX-License-Identifier: GPL-2.0-only */
/* What loops.c, built for one tree, offers to loops-main.c and bench-walk.c. */
#ifndef S2WALK_LOOPS_H
#define S2WALK_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#define L_SIGNALS	0x1	/* signals may interrupt a reset of dirty rings */
#define L_TRACE		0x2	/* print what happens */

/* What happened in all VMs so far */
struct l_stats {
	uint64_t vms, ioctls, moments, writes, stale_writes, faults, host_ops;
	uint64_t topups, failed_topups, signals, reported;
};

struct l_tree {
	const char *name;

	/* Run a VM; returns NULL or what went wrong */
	const char *(*run)(uint64_t seed, unsigned int flags);
	const struct l_stats *stats;

	/* Benchmark build only: one memslot, mapped by leaves of @level */
	int (*bench_prepare)(uint64_t size, int level, uint64_t chunk, int manual);
	void (*bench_mark)(const unsigned long *dirty);
	uint64_t (*bench_warm)(void);
	int (*bench_get)(void);
	int (*bench_clear)(void);
};

#endif
