/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a walker (one pgtable.c, built for one page size, in one shared object)
 * offers to the test programs.  There is one page table per walker at a time.
 */
#ifndef S2WALK_H
#define S2WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The CPU and the VM */
struct s2w_config {
	uint8_t ia_bits;	/* IPA size: 40, 48 or 52; not above the limit */
	bool fwb, tlb_range, lpa2, xnx;
	bool as_s1;		/* KVM_PGTABLE_S2_AS_S1 */
};

enum s2w_kind {
	S2W_MAP, S2W_UNMAP, S2W_WRPROTECT, S2W_SPLIT, S2W_RELAX, S2W_MKYOUNG,
	S2W_AGE, S2W_TEST_YOUNG, S2W_FLUSH, S2W_ANNOTATE, S2W_GET_LEAF,
	S2W_TOUCH, S2W_UNLINKED, S2W_DESTROY, S2W_LOG_DIRTY, S2W_NR_KINDS,
};

/* As scripts spell them */
static const char *const s2w_kind_name[S2W_NR_KINDS] __attribute__((unused)) = {
	[S2W_MAP] = "map", [S2W_UNMAP] = "unmap",
	[S2W_WRPROTECT] = "wrprotect", [S2W_SPLIT] = "split",
	[S2W_RELAX] = "relax", [S2W_MKYOUNG] = "mkyoung",
	[S2W_AGE] = "age", [S2W_TEST_YOUNG] = "test_young",
	[S2W_FLUSH] = "flush", [S2W_ANNOTATE] = "annotate",
	[S2W_GET_LEAF] = "get_leaf", [S2W_TOUCH] = "touch",
	[S2W_UNLINKED] = "unlinked", [S2W_DESTROY] = "destroy",
	[S2W_LOG_DIRTY] = "log_dirty",
};

/* Protection and flag bits of an operation, independent of the tree */
#define S2W_R		0x01
#define S2W_W		0x02
#define S2W_X		0x04
#define S2W_DEVICE	0x08
#define S2W_NC		0x10
#define S2W_SW0		0x20
#define S2W_SW3		0x40
#define S2W_PX_ONLY	0x80	/* with S2W_X: privileged execute only */
#define S2W_SHARED	0x100	/* a shared walk */
#define S2W_FORCE_PTE	0x200	/* pages only */
#define S2W_NO_SPLIT	0x400	/* log_dirty: don't split blocks */

struct s2w_op {
	enum s2w_kind kind;
	uint32_t bits;		/* S2W_R... */
	uint32_t mc;		/* pages in the memory cache */
	uint64_t addr, size, phys;
};

struct s2w_interval {
	uint64_t start, end;
};

/* All that base and patched are compared by */
struct s2w_result {
	int ret;
	uint64_t value;		/* young bit, leaf entry, ... */
	uint64_t tree;		/* hash of the tree, levels and entries */
	uint32_t live_pages;	/* page-table pages in use, root included */
	uint32_t mc_left;
	uint64_t cmo;		/* hash of all cache maintenance */
	uint64_t loads, tlbis, walks;
	const struct s2w_interval *tlbi;
	size_t nr_tlbi;		/* what TLBIs for leaves covered, merged */
	const char *violation;	/* what the model objected to */
};

/* Sinks for the unit tests' results */
struct s2w_report {
	unsigned int passed, failed, skipped;
	const char *prefix;

	void (*print)(struct s2w_report *r, int ok, const char *text);
};

#define S2W_SKIP	(-1)

enum s2w_touch { S2W_TOUCH_READ, S2W_TOUCH_WRITE, S2W_TOUCH_MKDIRTY };

struct s2w_walker {
	const char *name;	/* "base-4k", ... */
	int page_shift;
	int min_block_level;

	int (*open)(const struct s2w_config *cfg);
	void (*apply)(const struct s2w_op *op, struct s2w_result *res);
	const char *(*close)(void);	/* NULL or a violation */

	void (*unit)(struct s2w_report *r, const char *only);

	/* Benchmark build only */
	int (*bench_reset)(unsigned int ia_bits);
	void (*bench_map)(uint64_t addr, uint64_t size, int level);
	void (*bench_stock)(uint64_t pages);
	uint64_t (*bench_touch)(uint64_t addr, uint64_t size, enum s2w_touch touch);
	int (*bench_run)(enum s2w_kind kind, uint64_t addr, uint64_t size);

	/* Thread build only */
	int (*fault)(const struct s2w_op *op);	/* shared, like a vCPU's fault */
	int (*exclusive)(const struct s2w_op *op);
	bool (*hw_access)(uint64_t ipa);
};

static inline unsigned int s2w_level_shift(int page_shift, int level)
{
	return (page_shift - 3) * (4 - level) + 3;
}

#endif
