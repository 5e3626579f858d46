// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the walk and of each operation's edges.  Included by walker.c,
 * so that they see the tree's own types and flags.
 *
 * Walks are compared with ref_walk(), a plain restatement of the contract in
 * asm/kvm_pgtable.h, on random trees, ranges and flags.
 */

static struct s2w_report *report;

static void __attribute__((format(printf, 3, 4)))
s2w_report(struct s2w_report *r, int ok, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->print(r, ok, text);
}

#define CHECK(cond, fmt, ...)						\
	do {								\
		if (!(cond)) {						\
			s2w_report(report, 0, "%s: " fmt, __func__,	\
				   ##__VA_ARGS__);			\
			return;						\
		}							\
	} while (0)

typedef unsigned long long ull;

static u64 unit_seed;

static u64 rnd(u64 below)
{
	unit_seed ^= unit_seed << 13;
	unit_seed ^= unit_seed >> 7;
	unit_seed ^= unit_seed << 17;
	return below ? unit_seed % below : 0;
}

static const struct s2w_config *unit_cfg;

static const struct s2w_config unit_cfgs[] = {
	{ .ia_bits = 40, .xnx = true },
	{ .ia_bits = 48, .fwb = true, .tlb_range = true },
#if PAGE_SHIFT == 16
	{ .ia_bits = 52, .fwb = true, .tlb_range = true, .xnx = true },
#else
	{ .ia_bits = 52, .lpa2 = true, .fwb = true, .tlb_range = true },
#endif
	{ .ia_bits = 42, .tlb_range = true, .as_s1 = true },
};

static void op(struct s2w_result *res, enum s2w_kind kind, u64 addr, u64 size,
	       u64 phys, u32 bits, u32 mc)
{
	struct s2w_op o = {
		.kind = kind, .addr = addr, .size = size, .phys = phys,
		.bits = bits, .mc = mc,
	};

	s2w_apply(&o, res);
}

/* An operation that must succeed */
#define OK(kind, addr, size, phys, bits, mc)				\
	({								\
		struct s2w_result __res;				\
									\
		op(&__res, kind, addr, size, phys, bits, mc);		\
		CHECK(!__res.ret && !__res.violation,			\
		      "%s %#llx+%#llx: %d %s", s2w_kind_name[kind],	\
		      (ull)(addr), (ull)(size), __res.ret,		\
		      __res.violation ?: "");				\
		__res;							\
	})

static u64 leaf_at(u64 addr, s8 *level)
{
	kvm_pte_t pte = 0;

	*level = -2;
	kvm_pgtable_get_leaf(&pgt, addr, &pte, level);
	return pte;
}

#define PG		PAGE_SIZE
#define BLOCK		kvm_granule_size(2)
#define TOP		BIT(pgt.ia_bits)
/* What one of the tables at the root, which may be concatenated, translates */
#define ROOT		min(TOP, kvm_granule_size(pgt.start_level - 1))
#define SAME_ROOT(a, b)	(ALIGN_DOWN((u64)(a), ROOT) == ALIGN_DOWN((u64)(b), ROOT))
#define MIN_BLOCK	kvm_granule_size(KVM_PGTABLE_MIN_BLOCK_LEVEL)
#define PER_TABLE	((u32)PTRS_PER_PTE)

/* ---- the walk ---- */

struct visit {
	u8 type;
	s8 level;
	u64 addr, pte;
};

#define MAX_VISITS	(1U << 20)
struct trace {
	struct visit v[MAX_VISITS];
	u32 nr;
	u32 fail_at;		/* the visit that returns @error, from 1 */
	int error;
	u64 start, end;
	bool bad_ctx;
	bool partial;		/* no visits of entries that hold nothing */
};

static struct trace got, want;

#ifdef S2W_HAVE_BATCH
#define BATCHES		KVM_PGTABLE_WALK_BATCH
#else
#define BATCHES		0
#endif

static int trace_cb(const struct kvm_pgtable_visit_ctx *ctx,
		    enum kvm_pgtable_walk_flags visit)
{
	u64 granule = kvm_granule_size(ctx->level);
	struct trace *t = ctx->arg;
	int i, nr = 1;

#ifdef S2W_HAVE_BATCH
	/* A batch counts as that many visits; only a lone one has an old value */
	nr = ctx->nr;
	if (nr != 1 && (!nr || !(ctx->flags & KVM_PGTABLE_WALK_BATCH)))
		t->bad_ctx = true;
	/* Other than at the last level, it is one of valid leaf entries, in partial walks */
	for (i = 0; nr > 1 && ctx->level != KVM_PGTABLE_LAST_LEVEL && i < nr; i++)
		if (!t->partial || !(ctx->ptep[i] & 1) || is_table(ctx->ptep[i], ctx->level))
			t->bad_ctx = true;
	if (!(ctx->flags & KVM_PGTABLE_WALK_BATCH))
#endif
		if (*ctx->ptep != ctx->old)
			t->bad_ctx = true;
	if (ctx->start != t->start || ctx->end != t->end ||
	    ctx->mm_ops != pgt.mm_ops)
		t->bad_ctx = true;
	for (i = 0; i < nr; i++) {
		if (t->partial && !ctx->ptep[i]) {
			/* A batch is visited whole */
			if (nr == 1 && !(ctx->flags & BATCHES))
				t->bad_ctx = true;
			continue;
		}
		if (t->nr < MAX_VISITS)
			t->v[t->nr] = (struct visit){ visit, ctx->level,
						      i ? ALIGN_DOWN(ctx->addr, granule) +
							  i * granule : ctx->addr,
						      ctx->ptep[i] };
		if (++t->nr == t->fail_at)
			return t->error;
	}
	return 0;
}

struct ref {
	struct trace *t;
	u64 addr, end;
	u32 flags, tables;
	int skip;		/* the first level that is skipped */
	int ret;
};

/* Returns true if the walk goes on */
static bool ref_visit(struct ref *r, u32 type, u64 pte, s8 level)
{
	struct trace *t = r->t;

	if (!(r->flags & type) || (t->partial && !pte))
		return true;
	if (t->nr < MAX_VISITS)
		t->v[t->nr] = (struct visit){ type, level, r->addr, pte };
	t->nr++;
	if (t->nr != t->fail_at)
		return true;
	if (t->error == -EAGAIN && r->flags & KVM_PGTABLE_WALK_IGNORE_EAGAIN)
		return true;
	r->ret = t->error;
	return false;
}

static bool ref_table(struct ref *r, u64 *table, s8 level)
{
	u64 granule = kvm_granule_size(level);
	u64 span = granule * PTRS_PER_PTE;
	u64 limit = ALIGN_DOWN(r->addr, span) + span;

	r->tables++;
	if (level >= r->skip) {
		r->addr = limit;
		return true;
	}
	while (r->addr < limit && r->addr < r->end) {
		u64 pte = table[r->addr / granule % PTRS_PER_PTE];
		u64 here = r->addr;

		if (!is_table(pte, level)) {
			if (!ref_visit(r, KVM_PGTABLE_WALK_LEAF, pte, level))
				return false;
			r->addr = ALIGN_DOWN(here, granule) + granule;
			continue;
		}
		if (!ref_visit(r, KVM_PGTABLE_WALK_TABLE_PRE, pte, level))
			return false;
		if (!ref_table(r, table_of(pte), level + 1))
			return false;
		if (r->flags & KVM_PGTABLE_WALK_TABLE_POST) {
			u64 reached = r->addr;

			/* The context of the second visit is that of the first */
			r->addr = here;
			if (!ref_visit(r, KVM_PGTABLE_WALK_TABLE_POST, pte, level)) {
				r->addr = reached;
				return false;
			}
			r->addr = reached;
		}
	}
	return true;
}

/* Returns the number of tables that the walk goes through */
static u32 ref_walk(struct trace *t, u64 addr, u64 size, u32 flags, u64 *stop)
{
	struct ref r = {
		.t = t, .flags = flags,
		.addr = ALIGN_DOWN(addr, PG),
		.end = ALIGN(ALIGN_DOWN(addr, PG) + size, PG),
		.skip = KVM_PGTABLE_LAST_LEVEL + 1,
	};
	u64 span = kvm_granule_size(pgt.start_level) * PTRS_PER_PTE;

#ifdef S2W_HAVE_SKIP_LEVEL
	/* The level nearest the root wins */
	if (flags & KVM_PGTABLE_WALK_SKIP_LEVEL3)
		r.skip = 3;
	if (flags & KVM_PGTABLE_WALK_SKIP_LEVEL2)
		r.skip = 2;
	if (flags & KVM_PGTABLE_WALK_SKIP_LEVEL1)
		r.skip = 1;
	if (flags & KVM_PGTABLE_WALK_SKIP_LEVEL0)
		r.skip = 0;
#endif
	t->start = r.addr;
	t->end = r.end;
	while (r.addr < r.end)
		if (!ref_table(&r, (u64 *)pgt.pgd + r.addr / span * PTRS_PER_PTE,
			       pgt.start_level))
			break;
	t->error = r.ret;
	*stop = min(r.addr, addr + size);
	return r.tables;
}

/* Do the visits of the walk and of the reference agree? */
static const char *compare_visits(u64 addr, u64 size, u32 flags, int ret)
{
	static char msg[256];
	u32 i;

	for (i = 0; i < min(got.nr, want.nr) && i < MAX_VISITS; i++) {
		struct visit *g = &got.v[i], *w = &want.v[i];

		if (g->type == w->type && g->level == w->level &&
		    g->addr == w->addr && g->pte == w->pte)
			continue;
		snprintf(msg, sizeof(msg),
			 "flags %#x range %#llx+%#llx: visit %u is type %d level %d %#llx, expected type %d level %d %#llx",
			 flags, (ull)addr, (ull)size, i, g->type, g->level,
			 (ull)g->addr, w->type, w->level, (ull)w->addr);
		return msg;
	}
	if (got.nr != want.nr || ret != want.error) {
		snprintf(msg, sizeof(msg),
			 "flags %#x range %#llx+%#llx: %u visits, %d; expected %u, %d",
			 flags, (ull)addr, (ull)size, got.nr, ret, want.nr,
			 want.error);
		return msg;
	}
	return NULL;
}

/*
 * Walk for real and by the reference; NULL if all agrees.  If @fail_at isn't 0
 * that visit returns @error.
 */
static const char *compare_walk(u64 addr, u64 size, u32 flags, u32 fail_at,
				int error)
{
	struct kvm_pgtable_walker walker = {
		.cb = trace_cb, .arg = &got, .flags = flags,
	};
	const char *msg;
	u64 stop;
	u32 tables;

	want.nr = 0;
	want.fail_at = fail_at;
	want.error = error;
	tables = ref_walk(&want, addr, size, flags, &stop);

	got.nr = 0;
	got.partial = false;
	got.fail_at = fail_at;
	got.error = error;
	got.bad_ctx = false;
	got.start = want.start;
	got.end = want.end;
	msg = compare_visits(addr, size, flags,
			     kvm_pgtable_walk(&pgt, addr, size, &walker));
	if (msg || got.bad_ctx)
		return msg ?: "wrong visit context";

#ifdef S2W_HAVE_WALK_NEXT
	/* The same again, reporting where it stopped; too short to stop early */
	static char text[256];
	u64 next = ~0ULL;

	if (tables > min(16UL, MIN_BLOCK / BLOCK + KVM_PGTABLE_LAST_LEVEL) ||
	    !SAME_ROOT(addr, addr + size - 1))
		return NULL;
	want.partial = got.partial = true;
	want.nr = 0;
	want.error = error;
	ref_walk(&want, addr, size, flags, &stop);
	got.nr = 0;
	msg = compare_visits(addr, size, flags,
			     kvm_pgtable_walk_partial(&pgt, addr, size, BIT(52),
						      &walker, &next));
	want.partial = got.partial = false;
	if (msg || got.bad_ctx)
		return msg ?: "visits an entry that holds nothing";
	if (next != stop) {
		snprintf(text, sizeof(text),
			 "flags %#x range %#llx+%#llx, visit %u returns %d: stopped at %#llx, expected %#llx",
			 flags, (ull)addr, (ull)size, fail_at, error, (ull)next,
			 (ull)stop);
		return text;
	}
#endif
	(void)tables;
	return NULL;
}

/* A tree with leaves of all sizes, annotations and empty tables around @base */
static void grow_tree(u64 base)
{
	struct s2w_result res;
	int i;

	for (i = 0; i < 6; i++) {
		u64 size = i & 1 ? BLOCK : PG * (1 + rnd(8));
		u64 addr = base + rnd(6) * BLOCK + (i & 1 ? 0 : rnd(PER_TABLE) * PG);

		if (addr + size > TOP)
			continue;
		op(&res, S2W_MAP, addr, size, addr & (BIT(40) - 1), S2W_R | S2W_W, 8);
	}
	op(&res, S2W_UNMAP, base + BLOCK, PG, 0, 0, 0);
	op(&res, S2W_ANNOTATE, base + rnd(3) * BLOCK, PG, 0x1230, 0, 8);
	if (KVM_PGTABLE_MIN_BLOCK_LEVEL == 1 && base + 4 * MIN_BLOCK <= TOP)
		op(&res, S2W_MAP, ALIGN(base, MIN_BLOCK) + MIN_BLOCK, MIN_BLOCK,
		   MIN_BLOCK, S2W_R, 8);
}

static u64 interesting_base(void)
{
	switch (rnd(4)) {
	case 0:
		return 0;
	case 1:
		return TOP - 8 * BLOCK;
	case 2:	/* around the end of the first of the concatenated tables */
		return min(kvm_granule_size(pgt.start_level) * PTRS_PER_PTE,
			   TOP / 2) - 3 * BLOCK;
	default:
		return ALIGN_DOWN(rnd(TOP / 2), BLOCK);
	}
}

static void random_range(u64 base, u64 *addr, u64 *size)
{
	u64 unit = rnd(2) ? PG : BLOCK;

	*addr = base + rnd(7) * BLOCK + (rnd(2) ? rnd(PER_TABLE) * PG : 0);
	*size = unit * rnd(5) + (rnd(4) ? 0 : rnd(PG));
	if (!rnd(8))
		*size = 3 * MIN_BLOCK;
	if (*addr >= TOP)
		*addr = TOP - PG;
	/* Some ranges reach the very end */
	if (*size > TOP - *addr || !rnd(16))
		*size = TOP - *addr > 16 * MIN_BLOCK ? *size : TOP - *addr;
	if (!rnd(6) && *addr + PG < TOP)	/* the offset in a page is ignored */
		*addr += rnd(PG);
	*size = min(*size, TOP - ALIGN_DOWN(*addr, PG));
}

static u32 random_flags(void)
{
	static const u32 bits[] = {
		KVM_PGTABLE_WALK_LEAF, KVM_PGTABLE_WALK_TABLE_PRE,
		KVM_PGTABLE_WALK_TABLE_POST, KVM_PGTABLE_WALK_IGNORE_EAGAIN,
	};
	u32 i, flags = 0;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (rnd(3))
			flags |= bits[i];
	return flags;
}

static u32 random_skips(void)
{
	u32 skips = 0;

#ifdef S2W_HAVE_SKIP_LEVEL
	skips = KVM_PGTABLE_WALK_SKIP_LEVEL0 * rnd(16);
#endif
	return skips;
}

static void walk_visits_as_documented(bool skips)
{
	u64 base, addr, size;
	const char *err;
	int tree, i;

	for (tree = 0; tree < 6; tree++) {
		base = interesting_base();
		grow_tree(base);
		for (i = 0; i < 60; i++) {
			random_range(base, &addr, &size);
			err = compare_walk(addr, size, random_flags() |
					   (skips ? random_skips() : 0), 0, 0);
			CHECK(!err, "%s", err);
		}
	}
}

static void walk_flags(void)
{
	walk_visits_as_documented(false);
}

#ifdef S2W_HAVE_BATCH

static void walk_batches(void)
{
	u64 base, addr, size;
	const char *err;
	int tree, i;

	for (tree = 0; tree < 6; tree++) {
		base = interesting_base();
		grow_tree(base);
		for (i = 0; i < 60; i++) {
			random_range(base, &addr, &size);
			err = compare_walk(addr, size, random_flags() |
					   KVM_PGTABLE_WALK_LEAF |
					   KVM_PGTABLE_WALK_BATCH, 0, 0);
			CHECK(!err, "%s", err);
		}
	}
}

#endif

static void walk_stops_at_error(void)
{
	static const int errors[] = { -EINTR, -EAGAIN, 1 };
	u64 base = interesting_base(), addr, size;
	const char *err;
	u32 e, i, k;

	grow_tree(base);
	for (i = 0; i < 12; i++) {
		u32 flags = random_flags() | random_skips(), visits;

		random_range(base, &addr, &size);
		err = compare_walk(addr, size, flags, 0, 0);
		CHECK(!err, "%s", err);
		visits = min_t(u32, want.nr, 600);
		/* Each of the first visits, and some of the others */
		for (k = 1; k <= visits; k += k < 12 ? 1 : 37) {
			for (e = 0; e < 3; e++) {
				err = compare_walk(addr, size, flags, k,
						   errors[e]);
				CHECK(!err, "%s", err);
			}
		}
	}
}

/* EAGAIN ends a walk, unless the walker ignores it */
static void walk_eagain(void)
{
	const char *err;

	OK(S2W_MAP, 0, 8 * PG, 0, S2W_R, 8);
	err = compare_walk(0, 8 * PG, KVM_PGTABLE_WALK_LEAF, 3, -EAGAIN);
	CHECK(!err, "%s", err);
	CHECK(got.nr == 3, "%u visits", got.nr);
	err = compare_walk(0, 8 * PG, KVM_PGTABLE_WALK_LEAF |
			   KVM_PGTABLE_WALK_IGNORE_EAGAIN, 3, -EAGAIN);
	CHECK(!err, "%s", err);
	CHECK(got.nr == 8, "%u visits", got.nr);
}

static void walk_range_limits(void)
{
	struct kvm_pgtable_walker walker = {
		.cb = trace_cb, .arg = &got, .flags = KVM_PGTABLE_WALK_LEAF,
	};
	kvm_pteref_t pgd = pgt.pgd;
	int ret;

	got.nr = got.fail_at = 0;
	CHECK(kvm_pgtable_walk(&pgt, TOP, PG, &walker) == -ERANGE, "above the top");
	CHECK(kvm_pgtable_walk(&pgt, TOP - PG, 2 * PG, &walker) == -ERANGE,
	      "across the top");
	CHECK(kvm_pgtable_walk(&pgt, TOP + PG, 0, &walker) == -ERANGE,
	      "empty range above the top");
	CHECK(!got.nr, "%u visits", got.nr);
	CHECK(!kvm_pgtable_walk(&pgt, TOP, 0, &walker) && !got.nr,
	      "empty range at the top");
	CHECK(!kvm_pgtable_walk(&pgt, TOP - PG, PG, &walker) && got.nr == 1,
	      "the last page: %u visits", got.nr);
	pgt.pgd = NULL;
	ret = kvm_pgtable_walk(&pgt, 0, PG, &walker);
	pgt.pgd = pgd;
	CHECK(ret == -EINVAL, "no table: %d", ret);
}

static bool plant_replace_table;

/* Install a table at the leaf, or a leaf in place of the table */
static int plant_cb(const struct kvm_pgtable_visit_ctx *ctx,
		    enum kvm_pgtable_walk_flags visit)
{
	struct trace *t = ctx->arg;

	t->v[t->nr++] = (struct visit){ visit, ctx->level, ctx->addr, ctx->old };
	if (t->nr != 1)
		return 0;
	if (plant_replace_table)
		WRITE_ONCE(*ctx->ptep, 0);
	else
		WRITE_ONCE(*ctx->ptep, kvm_init_table_pte(map_cache.objects[0],
							  &mm_ops));
	return 0;
}

/* The walk descends into what the callback has left there */
static void walk_reloads(void)
{
	struct kvm_pgtable_walker walker = {
		.cb = plant_cb, .arg = &got,
		.flags = KVM_PGTABLE_WALK_LEAF | KVM_PGTABLE_WALK_TABLE_PRE |
			 KVM_PGTABLE_WALK_TABLE_POST,
	};
	u64 *root = (u64 *)pgt.pgd;

	m_topup(&map_cache, 1);
	got.nr = 0;
	plant_replace_table = false;
	CHECK(!kvm_pgtable_walk(&pgt, 0, PG, &walker), "walk failed");
	/* The leaf, a leaf in the new table, and POST with the new entry */
	CHECK(got.nr == 3 && got.v[1].level == pgt.start_level + 1 &&
	      got.v[2].type == KVM_PGTABLE_WALK_TABLE_POST &&
	      got.v[2].pte == root[0], "%u visits after planting", got.nr);

	got.nr = 0;
	plant_replace_table = true;
	CHECK(!kvm_pgtable_walk(&pgt, 0, PG, &walker), "walk failed");
	CHECK(got.nr == 1 && got.v[0].type == KVM_PGTABLE_WALK_TABLE_PRE,
	      "%u visits after uprooting", got.nr);

#ifdef S2W_HAVE_SKIP_LEVEL
	/* A table planted above the skipped levels isn't descended into */
	struct kvm_pgtable_walker skipper = {
		.cb = plant_cb, .arg = &got,
		.flags = KVM_PGTABLE_WALK_LEAF | KVM_PGTABLE_WALK_TABLE_POST |
			 KVM_PGTABLE_WALK_SKIP_LEVEL0 << (pgt.start_level + 1),
	};
	got.nr = 0;
	plant_replace_table = false;
	CHECK(!kvm_pgtable_walk(&pgt, 0, PG, &skipper), "walk failed");
	CHECK(got.nr == 2 && got.v[1].type == KVM_PGTABLE_WALK_TABLE_POST,
	      "%u visits with a skip", got.nr);
#endif
	root[0] = 0;
}

static void walk_shared_needs_rcu(void)
{
	struct kvm_pgtable_walker walker = {
		.cb = trace_cb, .arg = &got,
		.flags = KVM_PGTABLE_WALK_LEAF | KVM_PGTABLE_WALK_SHARED,
	};
	int ret;

	got.nr = got.fail_at = 0;
	got.start = 0;
	got.end = PG;
	ret = kvm_pgtable_walk(&pgt, 0, PG, &walker);
#ifdef S2W_HYP
	CHECK(ret == -EPERM && !got.nr, "hyp walks must not be shared: %d", ret);
#else
	CHECK(!ret && got.nr == 1, "%d, %u visits", ret, got.nr);
#endif
	CHECK(!m_rcu_read_lock_held() && !m_violation(), "RCU: %s",
	      m_violation() ?: "still held");
}

/* ---- levels that are skipped ---- */

#ifdef S2W_HAVE_SKIP_LEVEL

static void walk_skip_random(void)
{
	walk_visits_as_documented(true);
}

#define SKIP(n)		(KVM_PGTABLE_WALK_SKIP_LEVEL0 << (n))
#define ALL_VISITS	(KVM_PGTABLE_WALK_LEAF | KVM_PGTABLE_WALK_TABLE_PRE | \
			 KVM_PGTABLE_WALK_TABLE_POST)

static void walk_skip_root(void)
{
	const char *err;
	int n;

	OK(S2W_MAP, 0, PG, 0, S2W_R, 8);
	for (n = 0; n <= pgt.start_level; n++) {
		err = compare_walk(0, TOP, ALL_VISITS | SKIP(n), 0, 0);
		CHECK(!err, "%s", err);
		CHECK(!got.nr, "level %d skipped, root at %d: %u visits", n,
		      pgt.start_level, got.nr);
		err = compare_walk(TOP - PG, PG, ALL_VISITS | SKIP(n), 0, 0);
		CHECK(!err && !got.nr, "%s", err ?: "top page visited");
	}
}

/* A table whose children are skipped is visited before and after, once each */
static void walk_skip_children(void)
{
	const char *err;
	int n, i, pre, post;

	OK(S2W_MAP, 0, PG, 0, S2W_R, 8);
	for (n = pgt.start_level + 1; n <= KVM_PGTABLE_LAST_LEVEL; n++) {
		err = compare_walk(0, PG, ALL_VISITS | SKIP(n), 0, 0);
		CHECK(!err, "%s", err);
		for (i = pre = post = 0; i < got.nr; i++) {
			CHECK(got.v[i].level < n, "level %d visited", got.v[i].level);
			pre += got.v[i].type == KVM_PGTABLE_WALK_TABLE_PRE &&
			       got.v[i].level == n - 1;
			post += got.v[i].type == KVM_PGTABLE_WALK_TABLE_POST &&
				got.v[i].level == n - 1;
		}
		CHECK(pre == 1 && post == 1, "skip level %d: PRE %d, POST %d", n,
		      pre, post);
	}
}

static void walk_skip_several(void)
{
	const char *err;
	u32 nr;
	int n;

	OK(S2W_MAP, 0, PG, 0, S2W_R, 8);
	for (n = 0; n <= KVM_PGTABLE_LAST_LEVEL; n++) {
		err = compare_walk(0, BLOCK, ALL_VISITS | SKIP(n), 0, 0);
		CHECK(!err, "%s", err);
		nr = got.nr;
		err = compare_walk(0, BLOCK, ALL_VISITS | SKIP(n) |
				   SKIP(KVM_PGTABLE_LAST_LEVEL) |
				   SKIP((n + KVM_PGTABLE_LAST_LEVEL) / 2), 0, 0);
		CHECK(!err, "%s", err);
		CHECK(got.nr == nr, "level %d nearest the root: %u visits, not %u",
		      n, got.nr, nr);
	}
}

#endif /* S2W_HAVE_SKIP_LEVEL */

/* ---- walks that stop early and are resumed ---- */

#ifdef S2W_HAVE_WALK_NEXT

static u64 chunk_under_test;

#define TABLES_PER_CHUNK	(MIN_BLOCK / BLOCK)

#ifdef S2W_HAVE_BATCH
#define BATCH(on)	((on) ? KVM_PGTABLE_WALK_BATCH | KVM_PGTABLE_WALK_LEAF : 0)
#else
#define BATCH(on)	((void)(on), 0)
#endif

/* One walk of a resumed series, and what bounds it.  NULL if all is well. */
static const char *resume_once(u64 addr, u64 end, u32 flags, u64 *next)
{
	struct kvm_pgtable_walker walker = {
		.cb = trace_cb, .arg = &got, .flags = flags,
	};
	u32 first = got.nr, i, tables = 0;
	u64 boundary = ~0ULL;
	int ret;

	ret = kvm_pgtable_walk_partial(&pgt, addr, end - addr, chunk_under_test,
				       &walker, next);
	if (ret)
		return "failed";
	if (*next <= addr)
		return "no progress";
	if (*next > end)
		return "went beyond the end";
	if (!SAME_ROOT(addr, *next - 1))
		return "went through two tables at the root";
	for (i = first; i < min(got.nr, MAX_VISITS); i++) {
		struct visit *v = &got.v[i];

		tables += v->type == KVM_PGTABLE_WALK_TABLE_PRE;
		if (v->type != KVM_PGTABLE_WALK_LEAF)
			continue;
		if (v->addr >= boundary)
			return "didn't stop at the end of the chunk";
		if (v->pte & 1 && boundary == ~0ULL)
			boundary = ALIGN_DOWN(v->addr, chunk_under_test) +
				   chunk_under_test;
	}
	if (*next < end && *next < boundary && *next % ROOT) {
		if (boundary != ~0ULL && tables < TABLES_PER_CHUNK)
			return "stopped before the end of the chunk";
		if (boundary == ~0ULL && flags & KVM_PGTABLE_WALK_TABLE_PRE &&
		    tables < TABLES_PER_CHUNK)
			return "stopped with nothing to work on";
	}
	if (tables > TABLES_PER_CHUNK + 32)
		return "goes through too many tables";
	return NULL;
}

/* Resumed until the end, the walks make the leaf visits of a single one */
static void compare_resumed(u64 addr, u64 size, u32 flags, u32 *walks)
{
	u64 end = addr + size, next, stop;
	const char *err;
	u32 i, j;

	want.nr = want.fail_at = 0;
	want.error = 0;
	want.partial = got.partial = true;
	ref_walk(&want, addr, size, flags, &stop);
	want.partial = false;
	got.nr = got.fail_at = 0;
	for (*walks = 0; addr < end; addr = next) {
		err = resume_once(addr, end, flags, &next);
		CHECK(!err, "%s: flags %#x chunk %#llx, %#llx..%#llx: next %#llx",
		      err, flags, (ull)chunk_under_test, (ull)addr, (ull)end,
		      (ull)next);
		(*walks)++;
	}
	got.partial = false;
	if (max(got.nr, want.nr) > MAX_VISITS)
		return;
	for (i = j = 0; ; i++, j++) {
		while (i < got.nr && got.v[i].type != KVM_PGTABLE_WALK_LEAF)
			i++;
		while (j < want.nr && want.v[j].type != KVM_PGTABLE_WALK_LEAF)
			j++;
		if (i == got.nr || j == want.nr)
			break;
		CHECK(got.v[i].addr == want.v[j].addr &&
		      got.v[i].level == want.v[j].level,
		      "flags %#x chunk %#llx: leaf %#llx level %d, expected %#llx level %d",
		      flags, (ull)chunk_under_test, (ull)got.v[i].addr,
		      got.v[i].level, (ull)want.v[j].addr, want.v[j].level);
	}
	CHECK(i == got.nr && j == want.nr, "flags %#x: leaves %s", flags,
	      i == got.nr ? "missing" : "visited twice");
}

static void walk_resumes(void)
{
	unsigned int failed = report->failed;
	u64 base, addr, size;
	u32 walks;
	int tree, i;

	for (tree = 0; tree < 6; tree++) {
		base = interesting_base();
		grow_tree(base);
		for (i = 0; i < 40 && report->failed == failed; i++) {
			chunk_under_test = rnd(3) ? MIN_BLOCK : PG << rnd(PAGE_SHIFT);
			random_range(base, &addr, &size);
			addr = ALIGN_DOWN(addr, PG);
			size = ALIGN(size, PG);
			compare_resumed(addr, size, random_flags() | BATCH(rnd(2)),
					&walks);
		}
	}
}

static void walk_steps_over_nothing(void)
{
	u32 walks = 0;

	chunk_under_test = MIN_BLOCK;
	compare_resumed(0, TOP, KVM_PGTABLE_WALK_LEAF, &walks);
	CHECK(walks == TOP / ROOT, "%u walks of an empty table", walks);
	OK(S2W_MAP, TOP / 2 + PG, PG, 0, S2W_R, 8);
	compare_resumed(0, TOP, KVM_PGTABLE_WALK_LEAF, &walks);
	CHECK(walks == TOP / ROOT + 1, "%u walks to find one page", walks);
	compare_resumed(ALIGN_DOWN(TOP / 2, ROOT), TOP / 2 % ROOT + MIN_BLOCK,
			KVM_PGTABLE_WALK_LEAF, &walks);
	CHECK(walks == 1, "%u walks to the end of the only chunk", walks);
}

/* Tables with nothing but invalid entries take time, too: it is bounded */
static void bound_tables(u64 tables, u64 stride, u64 chunk)
{
	u32 walks = 0;
	u64 i;

	m_topup(&map_cache, 2 * tables + 16);
	for (i = 0; i < tables; i++)
		CHECK(!kvm_pgtable_stage2_annotate(&pgt, i * stride + PG, PG,
						   &map_cache,
						   KVM_HOST_INVALID_PTE_TYPE_DONATION,
						   2), "annotate");
	chunk_under_test = chunk;
	compare_resumed(0, tables * stride, KVM_PGTABLE_WALK_LEAF |
			KVM_PGTABLE_WALK_TABLE_PRE, &walks);
	CHECK(walks >= 2, "%u walks through %llu tables", walks, (ull)tables);
}

static void walk_bounds_tables(void)
{
	if (unit_cfg != unit_cfgs)	/* once is enough: it takes its time */
		return;
	bound_tables(2 * (MIN_BLOCK / BLOCK) + 64, BLOCK, MIN_BLOCK);
	/* The bound is met on the way down: at a table with many others in it */
	bound_tables(2 * (MIN_BLOCK / BLOCK) + 64, BLOCK, PG);
	if (MIN_BLOCK > BLOCK)
		bound_tables(MIN_BLOCK / BLOCK + 64, MIN_BLOCK, BLOCK);
}

#endif /* S2W_HAVE_WALK_NEXT */

/* ---- operations at the edges ---- */

static void range_inside_block(void)
{
	struct s2w_result res;
	u64 pte;
	s8 level;

	/* Unmapping any part of a block unmaps all of it */
	OK(S2W_MAP, BLOCK, 2 * BLOCK, BLOCK, S2W_R | S2W_W, 8);
	OK(S2W_UNMAP, BLOCK + PG, BLOCK, 0, 0, 0);
	CHECK(!leaf_at(BLOCK, &level) && !leaf_at(3 * BLOCK - PG, &level),
	      "part of a block is left");

	OK(S2W_MAP, BLOCK, 2 * BLOCK, BLOCK, S2W_R | S2W_W, 8);
	OK(S2W_WRPROTECT, 2 * BLOCK - PG, 2 * PG, 0, 0, 0);
	pte = leaf_at(BLOCK, &level);
	CHECK(level == 2 && !(pte & KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W),
	      "first block writable");
	pte = leaf_at(3 * BLOCK - PG, &level);
	CHECK(level == 2 && !(pte & KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W),
	      "second block writable");

	OK(S2W_SPLIT, 2 * BLOCK - PG, 2 * PG, 0, 0, 2);
	CHECK(leaf_at(BLOCK, &level) && level == 3, "first block not split");
	CHECK(leaf_at(3 * BLOCK - PG, &level) && level == 3,
	      "second block not split");
	OK(S2W_WRPROTECT, BLOCK + PG, PG, 0, 0, 0);

	/* One page into a block: the rest is left to be faulted in lazily */
	OK(S2W_UNMAP, 0, 4 * BLOCK, 0, 0, 0);
	OK(S2W_MAP, BLOCK, BLOCK, BLOCK, S2W_R, 8);
	OK(S2W_MAP, BLOCK + 3 * PG, PG, 0, S2W_R, 8);
	CHECK(leaf_at(BLOCK + 3 * PG, &level) && level == 3, "page not mapped");
	CHECK(!leaf_at(BLOCK, &level), "neighbour still mapped");
	/* A block over a table: the table goes */
	OK(S2W_MAP, BLOCK, BLOCK, BLOCK, S2W_R, 8);
	op(&res, S2W_GET_LEAF, BLOCK, 0, 0, 0, 0);
	CHECK(leaf_at(BLOCK, &level) && level == 2, "no block");
}

static void top_of_ipa_space(void)
{
	struct s2w_result res;
	s8 level;

	OK(S2W_MAP, TOP - PG, PG, PG, S2W_R | S2W_W, 8);
	OK(S2W_WRPROTECT, TOP - 2 * PG, 2 * PG, 0, 0, 0);
	CHECK(!(leaf_at(TOP - 1, &level) & KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W),
	      "last page writable");
	OK(S2W_UNMAP, TOP - 4 * PG, 4 * PG, 0, 0, 0);
	CHECK(!leaf_at(TOP - PG, &level), "last page mapped");
	OK(S2W_MAP, TOP - BLOCK, BLOCK, BLOCK, S2W_R, 8);
	OK(S2W_SPLIT, TOP - PG, PG, 0, 0, 1);
	CHECK(leaf_at(TOP - BLOCK, &level) && level == 3, "last block not split");
	OK(S2W_FLUSH, TOP - 4 * BLOCK, 4 * BLOCK, 0, 0, 0);
	res = OK(S2W_UNMAP, 0, TOP, 0, 0, 0);
	CHECK(!leaf_at(TOP - PG, &level), "full-range unmap left the last page");
	CHECK(res.live_pages == kvm_pgtable_stage2_pgd_size(mmu.vtcr) / PG,
	      "%u pages left", res.live_pages);
	op(&res, S2W_MAP, TOP - PG, 2 * PG, 0, S2W_R, 8);
	CHECK(res.ret == -ERANGE, "map across the top: %d", res.ret);
	op(&res, S2W_MAP, TOP, PG, 0, S2W_R, 8);
	CHECK(res.ret == -ERANGE, "map above the top: %d", res.ret);
}

static void split_and_memory_cache(void)
{
	struct s2w_result res;
	s8 level;

	OK(S2W_MAP, 0, 2 * BLOCK, 0, S2W_R | S2W_W | S2W_SW3, 8);
	op(&res, S2W_SPLIT, 0, 2 * BLOCK, 0, 0, 0);
	CHECK(res.ret == -ENOMEM, "empty cache: %d", res.ret);
	CHECK(leaf_at(0, &level) && level == 2, "split out of nothing");
	op(&res, S2W_SPLIT, 0, 2 * BLOCK, 0, 0, 1);
	CHECK(res.ret == -ENOMEM && !res.mc_left, "short cache: %d", res.ret);
	CHECK(leaf_at(0, &level) && level == 3, "first not split");
	CHECK(leaf_at(BLOCK, &level) && level == 2, "second split");
	res = OK(S2W_SPLIT, 0, 2 * BLOCK, 0, 0, 7);
	CHECK(res.mc_left == 6, "%u pages left", res.mc_left);
	CHECK(leaf_at(BLOCK, &level) & KVM_PTE_LEAF_ATTR_HI_SW, "software bit lost");
	res = OK(S2W_SPLIT, 0, 2 * BLOCK, 0, 0, 7);
	CHECK(res.mc_left == 7, "nothing to split, %u pages left", res.mc_left);

	if (KVM_PGTABLE_MIN_BLOCK_LEVEL > 1)
		return;
	/* 1 GiB: 513 tables at once, or as many as there are */
	OK(S2W_UNMAP, 0, MIN_BLOCK, 0, 0, 0);
	OK(S2W_MAP, 0, MIN_BLOCK, 0, S2W_R | S2W_W, 8);
	CHECK(leaf_at(0, &level) && level == 1, "no 1G block: level %d", level);
	op(&res, S2W_SPLIT, 0, MIN_BLOCK, 0, 0, 3);
	CHECK(res.ret == -ENOMEM && !res.mc_left, "1G, 3 pages: %d, %u left",
	      res.ret, res.mc_left);
	CHECK(leaf_at(BLOCK, &level) && level == 3, "not as far as possible");
	CHECK(leaf_at(2 * BLOCK, &level) && level == 2, "further than possible");
	OK(S2W_UNMAP, 0, MIN_BLOCK, 0, 0, 0);
	OK(S2W_MAP, 0, MIN_BLOCK, 0, S2W_R | S2W_W, 8);
	res = OK(S2W_SPLIT, PG, PG, 0, 0, PER_TABLE + 1);
	CHECK(!res.mc_left, "%u pages left", res.mc_left);
	CHECK(leaf_at(MIN_BLOCK - PG, &level) && level == 3, "1G not split");
	OK(S2W_UNMAP, 0, MIN_BLOCK, 0, 0, 0);
	OK(S2W_MAP, 0, MIN_BLOCK, 0, S2W_R | S2W_W, 8);
	/* One page short of the whole tree: split level by level, and stop */
	op(&res, S2W_SPLIT, PG, PG, 0, 0, PER_TABLE);
	CHECK(!res.ret && res.mc_left == PER_TABLE - 2, "1G, one short: %d, %u left",
	      res.ret, res.mc_left);
}

static void bad_arguments(void)
{
	struct s2w_result res;

	op(&res, S2W_MAP, 0, PG, 0, S2W_R | S2W_X | S2W_DEVICE, 8);
	CHECK(res.ret == -EINVAL, "executable device: %d", res.ret);
	op(&res, S2W_MAP, 0, PG, 0, S2W_R | S2W_X | S2W_NC, 8);
	CHECK(res.ret == -EINVAL, "executable NC: %d", res.ret);
	op(&res, S2W_MAP, 0, PG, 0, S2W_R | S2W_NC | S2W_DEVICE, 8);
	CHECK(res.ret == -EINVAL, "NC device: %d", res.ret);
	op(&res, S2W_MAP, 0, PG, 0, S2W_R | S2W_X | S2W_PX_ONLY, 8);
	CHECK(res.ret == (m_cpu.xnx ? 0 : -EINVAL), "PX without XNX: %d", res.ret);
	op(&res, S2W_MAP, BLOCK, PG, 0, S2W_R, 0);
	CHECK(res.ret == -ENOMEM, "empty cache: %d", res.ret);
	op(&res, S2W_RELAX, 0, 0, 0, S2W_R | S2W_SW0, 0);
	CHECK(res.ret == -EINVAL, "relaxing software bits: %d", res.ret);
	CHECK(kvm_pgtable_stage2_annotate(&pgt, 0, PG, NULL, 0, 2) == -EINVAL &&
	      kvm_pgtable_stage2_annotate(&pgt, 0, PG, NULL,
					  KVM_INVALID_PTE_TYPE_LOCKED, 2) == -EINVAL &&
	      kvm_pgtable_stage2_annotate(&pgt, 0, PG, NULL,
					  KVM_HOST_INVALID_PTE_TYPE_DONATION, 1) == -EINVAL,
	      "bad annotation accepted");
	op(&res, S2W_UNLINKED, 0, BLOCK, PG, S2W_R, 8);
	CHECK(res.ret == -EINVAL, "unaligned unlinked table: %d", res.ret);
	CHECK(!res.violation, "%s", res.violation);
}

static void permissions(void)
{
	struct s2w_result res;
	u64 pte;
	s8 level;

	OK(S2W_MAP, 0, PG, 0, S2W_R, 8);
	/* Mapping it again with other permissions is refused */
	op(&res, S2W_MAP, 0, PG, 0, S2W_R | S2W_W, 8);
	CHECK(res.ret == -EAGAIN, "same mapping again: %d", res.ret);
	res = OK(S2W_RELAX, 0, 0, 0, S2W_W | S2W_X, 0);
	CHECK(res.tlbis == 1, "%llu TLBIs", (ull)res.tlbis);
	pte = leaf_at(0, &level);
	CHECK(kvm_pgtable_stage2_pte_prot(pte) == KVM_PGTABLE_PROT_RWX, "%#llx",
	      (ull)kvm_pgtable_stage2_pte_prot(pte));
	op(&res, S2W_RELAX, PG, 0, 0, S2W_W, 0);
	CHECK(res.ret == -EAGAIN && res.tlbis == 1, "nothing there: %d", res.ret);

	res = OK(S2W_AGE, 0, 4 * PG, 0, 0, 0);
	CHECK(res.value == 1 && !res.tlbis, "wasn't young");
	res = OK(S2W_AGE, 0, 4 * PG, 0, 0, 0);
	CHECK(!res.value, "young again");
	OK(S2W_MKYOUNG, 0, 0, 0, 0, 0);
	res = OK(S2W_TEST_YOUNG, 0, 4 * PG, 0, 0, 0);
	CHECK(res.value == 1, "not young");
	res = OK(S2W_TEST_YOUNG, 0, 4 * PG, 0, 0, 0);
	CHECK(res.value == 1, "testing changed it");
	res = OK(S2W_WRPROTECT, 0, 4 * PG, 0, 0, 0);
	CHECK(!res.tlbis, "write-protecting invalidates");
}

static void cache_maintenance(void)
{
	struct s2w_result res;

	OK(S2W_MAP, 0, 2 * PG, 0, S2W_R | S2W_X, 8);
	res = OK(S2W_FLUSH, 0, 4 * PG, 0, 0, 0);
	CHECK(!!m_op.dcache.nr == !m_cpu.fwb, "flush cleaned %zu ranges",
	      m_op.dcache.nr);
	res = OK(S2W_MAP, 0, 2 * PG, 4 * PG, S2W_R | S2W_X, 8);
	CHECK(m_op.icache.nr == 1 && m_op.icache.r[0].end - m_op.icache.r[0].start ==
	      2 * PG, "instruction cache");
	OK(S2W_UNMAP, 0, 2 * PG, 0, 0, 0);
	CHECK(!!m_op.dcache.nr == !m_cpu.fwb, "unmap cleaned %zu ranges",
	      m_op.dcache.nr);
	(void)res;
}

/* Whether the last operation invalidated all that may be cached of a block */
static bool block_invalidated(u64 addr)
{
	u64 i;

	for (i = 0; i < m_op.tlbis; i++) {
		const struct m_tlbi *t = &m_op.tlbi[i];

		if (t->kind == M_TLBI_ALL ||
		    (t->kind == M_TLBI_IPA && t->level != TLBI_TTL_UNKNOWN &&
		     t->addr >= addr && t->addr < addr + BLOCK) ||
		    (t->kind == M_TLBI_RANGE && t->addr <= addr &&
		     t->addr + t->size >= addr + BLOCK))
			return true;
	}
	return false;
}

/*
 * Nothing cleared, nothing to invalidate; otherwise no more than was cleared,
 * and no less: all of a block of which a part is unmapped
 */
static void unmap_tlbis(void)
{
	struct s2w_result res;
	bool precise = IS_ENABLED(S2W_HAVE_PRECISE_TLBI);
	bool whole = IS_ENABLED(S2W_HAVE_WHOLE_TLBI);
	const u64 parts[] = { 0, PG, BLOCK - PG };
	unsigned int part;

	res = OK(S2W_UNMAP, 0, 4 * BLOCK, 0, 0, 0);
	if (precise)
		CHECK(!res.tlbis, "%llu TLBIs for nothing", (ull)res.tlbis);
	OK(S2W_ANNOTATE, 0, PG, 2, 0, 8);
	OK(S2W_MAP, 2 * PG, PG, 0, S2W_R, 8);
	res = OK(S2W_UNMAP, 0, PG, 0, 0, 0);
	if (precise)
		CHECK(!res.tlbis, "%llu TLBIs for an annotation", (ull)res.tlbis);
	res = OK(S2W_UNMAP, 0, BLOCK, 0, 0, 0);
	CHECK(res.tlbis, "no TLBI");
	if (precise && m_cpu.tlb_range && m_cpu.fwb) {
		u64 i, size = 0;

		for (i = 0; i < m_op.tlbis; i++)
			if (m_op.tlbi[i].kind == M_TLBI_RANGE)
				size += m_op.tlbi[i].size;
		CHECK(size == PG, "range TLBIs of %#llx for one page", (ull)size);
	}
	for (part = 0; part < ARRAY_SIZE(parts); part++) {
		OK(S2W_MAP, BLOCK, BLOCK, BLOCK, S2W_R, 8);
		OK(S2W_UNMAP, BLOCK + parts[part], PG, 0, 0, 0);
		if (whole)
			CHECK(block_invalidated(BLOCK),
			      "part of a block survives, unmapped at %#llx",
			      (ull)parts[part]);
	}
}

static void geometry(void)
{
	u64 vtcr;
	int bits;

	for (bits = 32; bits <= (m_cpu.lpa2 || PAGE_SHIFT == 16 ? 52 : 48); bits++) {
		int levels = stage2_pgtable_levels(bits);
		u64 size;

		vtcr = kvm_get_vtcr(ID_AA64MMFR0_EL1_PARANGE_52, 0x20, bits);
		levels = levels < 2 ? 2 : levels;
		CHECK(VTCR_EL2_IPA(vtcr) == bits, "%d bits", bits);
		CHECK(VTCR_EL2_LVLS(vtcr) == levels, "%d bits: %d levels", bits,
		      (int)VTCR_EL2_LVLS(vtcr));
		CHECK(vtcr & VTCR_EL2_VS, "16-bit VMIDs");
		size = kvm_pgtable_stage2_pgd_size(vtcr);
		CHECK(size >= PG && size <= 16 * PG &&
		      size / 8 * kvm_granule_size(4 - levels) >= BIT(bits),
		      "%d bits: root of %llu bytes", bits, (ull)size);
	}
}

/* ---- races, one step at a time ---- */

#ifndef S2W_HYP

/* Another vCPU gets in first: the fault is retried, and nothing is lost */
static void lost_race(const char *what, u64 addr, u64 size, u32 bits,
		      enum s2w_kind kind, u64 to)
{
	struct s2w_op o = {
		.kind = kind, .addr = addr, .size = size, .phys = addr,
		.bits = bits | S2W_SHARED, .mc = 8,
	};
	u32 pages = m_live_pages();
	u64 value, walks;
	int ret;

	m_op_begin(NULL, 0);
	m_topup(&map_cache, 8);
	m_race = (struct m_race){ .armed = true, .to = to };
	ret = do_op(&o, &value, &walks);
	m_race.armed = false;
	CHECK(m_race.done, "%s: no compare-and-exchange", what);
	CHECK(ret == -EAGAIN, "%s: %d", what, ret);
	CHECK(*m_race.ptep == to, "%s: the winner's entry is gone: %#llx", what,
	      (ull)*m_race.ptep);
	*m_race.ptep = m_race.was;
	m_drain(&map_cache);
	m_grace_period();
	CHECK(m_live_pages() == pages, "%s: %u pages, now %u", what, pages,
	      m_live_pages());
	CHECK(!m_violation(), "%s: %s", what, m_violation());
	m_op_end();
}

static void races(void)
{
	u64 locked = FIELD_PREP(KVM_INVALID_PTE_TYPE_MASK,
				KVM_INVALID_PTE_TYPE_LOCKED);
	struct s2w_result res;
	u64 *entry = (u64 *)pgt.pgd;
	s8 level;

	lost_race("map a block", BLOCK, BLOCK, S2W_R, S2W_MAP, locked);
	lost_race("map a page", BLOCK, PG, S2W_R, S2W_MAP, locked);
	OK(S2W_MAP, 0, PG, 0, S2W_R, 8);
	lost_race("map the next page", PG, PG, S2W_R, S2W_MAP, locked);
	lost_race("relax", 0, 0, S2W_R | S2W_W, S2W_RELAX, locked);
	lost_race("block over table", 0, BLOCK, S2W_R, S2W_MAP, locked);
	OK(S2W_MAP, BLOCK, BLOCK, BLOCK, S2W_R, 8);
	lost_race("page over block", BLOCK, PG, S2W_R, S2W_MAP, locked);

	/* An entry found locked is left alone */
	for (level = pgt.start_level; is_table(*entry, level); level++)
		entry = table_of(*entry);
	*entry = locked;
	op(&res, S2W_RELAX, 0, 0, 0, S2W_R | S2W_W | S2W_SHARED, 0);
	CHECK(res.ret == -EAGAIN, "relax of a locked entry: %d", res.ret);
	*entry = 0;
	m_put_page(entry);
	m_reset_violation();
}

#endif

/* ---- what no random sequence finds ---- */

static int map_prot(u64 addr, enum kvm_pgtable_prot prot, void *mc)
{
	return kvm_pgtable_stage2_map(&pgt, addr, PG, addr, prot, mc, 0);
}

static void odd_arguments(void)
{
	kvm_pte_t *table;
	u64 pte;
	s8 level;
	u32 pages, n;

	m_topup(&map_cache, 16);
	if (m_cpu.xnx) {
		CHECK(!map_prot(0, KVM_PGTABLE_PROT_R | KVM_PGTABLE_PROT_UX, &map_cache),
		      "UX");
		pte = leaf_at(0, &level);
		CHECK(kvm_pgtable_stage2_pte_prot(pte) ==
		      (KVM_PGTABLE_PROT_R | KVM_PGTABLE_PROT_UX), "UX: %#llx",
		      (ull)kvm_pgtable_stage2_pte_prot(pte));
	} else {
		CHECK(kvm_pgtable_stage2_relax_perms(&pgt, 0, KVM_PGTABLE_PROT_UX, 0) ==
		      -EINVAL, "relaxing to UX without XNX");
	}
	CHECK(map_prot(TOP / 2, KVM_PGTABLE_PROT_R, NULL) == -ENOMEM, "no cache");
	CHECK(!kvm_pgtable_stage2_pte_prot(0), "prot of nothing");

	pgt.flags |= KVM_PGTABLE_S2_IDMAP;
	CHECK(kvm_pgtable_stage2_map(&pgt, 0, PG, PG, KVM_PGTABLE_PROT_R, &map_cache,
				     0) == -EINVAL && m_warnings, "not idmapped");
	pgt.flags &= ~KVM_PGTABLE_S2_IDMAP;
	m_reset_violation();

	/* Unlinked trees that can't be completed leave nothing behind */
	m_drain(&map_cache);
	for (n = 0; KVM_PGTABLE_MIN_BLOCK_LEVEL == 1 && n < PER_TABLE + 1;
	     n += n < 4 || n > PER_TABLE - 3 ? 1 : 100) {
		pages = m_live_pages();
		m_topup(&map_cache, n);
		table = kvm_pgtable_stage2_create_unlinked(&pgt, 0, 1,
							   KVM_PGTABLE_PROT_R,
							   &map_cache, true);
		CHECK(PTR_ERR(table) == -ENOMEM && !map_cache.nobjs,
		      "unlinked 1G out of %u pages: %ld", n, PTR_ERR(table));
		CHECK(m_live_pages() == pages && !m_violation(),
		      "unlinked 1G out of %u pages: %u pages left, %s", n,
		      m_live_pages() - pages, m_violation() ?: "");
	}

	/* The whole of it at once, as nVHE's own users do */
	pages = m_live_pages();
	m_root.pgd = NULL;
	m_tlb_flush();
	kvm_pgtable_stage2_destroy(&pgt);
	CHECK(!m_live_pages(), "%u of %u pages left", m_live_pages(), pages);
	CHECK(!init_pgt(), "init");
}

/* ---- the hypervisor's own stage 1, where level -1 exists ---- */

static struct kvm_pgtable hyp_pgt;

static struct kvm_pgtable_mm_ops hyp_mm_ops;

static void *no_page(void *arg)
{
	return NULL;
}

/* The walk tests look at pgt: lend them a stage 1 table */
static void with_hyp_pgt(u32 va_bits, void (*fn)(void))
{
	struct kvm_pgtable saved = pgt;
	int ret;

	ret = kvm_pgtable_hyp_init(&hyp_pgt, va_bits, &mm_ops);
	CHECK(!ret, "init: %d", ret);
	pgt = hyp_pgt;
	m_root = (struct m_root){ (u64 *)pgt.pgd, pgt.ia_bits, pgt.start_level, true };
	fn();
	if (pgt.pgd)
		kvm_pgtable_hyp_destroy(&pgt);
	pgt = saved;
	m_root = (struct m_root){ (u64 *)pgt.pgd, pgt.ia_bits, pgt.start_level, false };
	m_tlb_flush();
}

static void hyp_walks(void)
{
	u64 addr, size, base = TOP - 4 * MIN_BLOCK;
	const char *err;
	int i;

	CHECK(!kvm_pgtable_hyp_map(&pgt, base, 4 * PG, PG, PAGE_HYP), "map");
	CHECK(!kvm_pgtable_hyp_map(&pgt, base + BLOCK, BLOCK, BLOCK, PAGE_HYP), "map");
	CHECK(!kvm_pgtable_hyp_map(&pgt, TOP - PG, PG, BLOCK, PAGE_HYP_RO), "map");
	for (i = 0; i < 60; i++) {
		random_range(base, &addr, &size);
		err = compare_walk(addr, size, random_flags() | random_skips(),
				   rnd(3) ? 0 : 1 + rnd(5), -EINTR);
		CHECK(!err, "%s", err);
	}
	err = compare_walk(0, TOP, KVM_PGTABLE_WALK_LEAF |
			   KVM_PGTABLE_WALK_TABLE_PRE, 0, 0);
	CHECK(!err, "%s", err);
#ifdef S2W_HAVE_SKIP_LEVEL
	if (pgt.start_level == -1) {
		/* There is no flag for level -1: only its entries are visited */
		err = compare_walk(0, TOP, ALL_VISITS | SKIP(0), 0, 0);
		CHECK(!err, "%s", err);
		CHECK(got.nr && got.v[0].level == -1 && got.v[got.nr - 1].level == -1,
		      "level -1");
	}
#endif
}

static void hyp_map_unmap(void)
{
	const struct m_tlbi *t = &m_op.tlbi[0];
	u64 base = TOP / 2, freed;
	kvm_pte_t pte;
	s8 level;
	u64 addrs[2] = { base, base + 3 * PG };

	CHECK(kvm_pgtable_hyp_map(&pgt, base, PG, 0, KVM_PGTABLE_PROT_W) == -EINVAL,
	      "unreadable");
	CHECK(kvm_pgtable_hyp_map(&pgt, base, PG, 0, PAGE_HYP | KVM_PGTABLE_PROT_X) ==
	      -EINVAL, "writable and executable");
	CHECK(kvm_pgtable_hyp_map(&pgt, base, PG, 0, PAGE_HYP_EXEC |
				  KVM_PGTABLE_PROT_DEVICE) == -EINVAL,
	      "executable device");
	CHECK(!kvm_pgtable_hyp_map(&pgt, base, 4 * PG, BLOCK, PAGE_HYP_EXEC), "map");
	CHECK(!kvm_pgtable_get_leaf(&pgt, base, &pte, &level) && level == 3, "leaf");
	CHECK(kvm_pgtable_hyp_pte_prot(pte) == (m_cpu.hvhe ? PAGE_HYP_EXEC :
	      (KVM_PGTABLE_PROT_R | KVM_PGTABLE_PROT_PX)), "prot %#llx",
	      (ull)kvm_pgtable_hyp_pte_prot(pte));
	CHECK(!kvm_pgtable_hyp_map(&pgt, base, 4 * PG, BLOCK, PAGE_HYP_EXEC),
	      "mapping it again");
	m_op_begin(addrs, 2);
	freed = kvm_pgtable_hyp_unmap(&pgt, base, 4 * PG);
	CHECK(freed == 4 * PG, "unmapped %#llx", (ull)freed);
	/* A TLBI for each page, then one for each table that became empty */
	CHECK(m_op.tlbis == 4 + (u64)(KVM_PGTABLE_LAST_LEVEL - pgt.start_level),
	      "%llu TLBIs", (ull)m_op.tlbis);
	CHECK(t->kind == M_TLBI_S1 && t->addr == base, "wrong TLBI");
	m_tlb_check("hyp unmap");
	m_op_end();
	CHECK(!kvm_pgtable_hyp_unmap(&pgt, base, PG), "unmapped nothing");
	CHECK(!kvm_pgtable_hyp_map(&pgt, base, BLOCK, BLOCK, PAGE_HYP_DEVICE), "map");
	CHECK(!kvm_pgtable_hyp_unmap(&pgt, base, PG), "part of a block");
	CHECK(!kvm_pgtable_hyp_map(&pgt, 0, PG, 0, PAGE_HYP_RO), "map");
	CHECK(!kvm_pgtable_hyp_pte_prot(0), "prot of nothing");

	/* Part of a table: the rest of it, and the table, stay */
	CHECK(!kvm_pgtable_hyp_map(&pgt, base + BLOCK, 2 * PG, BLOCK, PAGE_HYP), "map");
	CHECK(kvm_pgtable_hyp_unmap(&pgt, base + BLOCK, PG) == PG, "one of two");
	CHECK(!kvm_pgtable_get_leaf(&pgt, base + BLOCK + PG, &pte, &level) &&
	      kvm_pgtable_hyp_pte_prot(pte) == PAGE_HYP, "the other is gone");
	CHECK(!m_violation(), "%s", m_violation());

	/* What is mapped can't be mapped to something else */
	CHECK(kvm_pgtable_hyp_map(&pgt, base + BLOCK + PG, PG, 0, PAGE_HYP) == -EINVAL &&
	      m_warnings, "mapped twice");
	m_reset_violation();
	hyp_mm_ops = mm_ops;
	hyp_mm_ops.page_count = NULL;
	hyp_mm_ops.zalloc_page = no_page;
	pgt.mm_ops = &hyp_mm_ops;
	CHECK(!kvm_pgtable_hyp_unmap(&pgt, base + BLOCK + PG, PG), "unmap, no count");
	CHECK(kvm_pgtable_hyp_map(&pgt, 5 * BLOCK, PG, 0, PAGE_HYP) == -ENOMEM,
	      "map without memory");
	pgt.mm_ops = &mm_ops;
}

static void hyp_stage1(void)
{
	int va_bits = m_cpu.lpa2 || PAGE_SHIFT == 16 ? 52 : 48;

	with_hyp_pgt(va_bits, hyp_walks);
	with_hyp_pgt(va_bits, hyp_map_unmap);
	m_cpu.hvhe = m_cpu.bti = true;
	with_hyp_pgt(39, hyp_map_unmap);
	m_cpu.hvhe = m_cpu.bti = false;
	CHECK(m_live_pages() == kvm_pgtable_stage2_pgd_size(mmu.vtcr) / PG,
	      "stage 1 leaked pages");
}

static const struct {
	const char *name;
	void (*fn)(void);
} unit_tests[] = {
#define T(fn) { #fn, fn }
	T(walk_flags), T(walk_stops_at_error), T(walk_eagain),
	T(walk_range_limits), T(walk_reloads), T(walk_shared_needs_rcu),
#ifdef S2W_HAVE_BATCH
	T(walk_batches),
#endif
#ifdef S2W_HAVE_SKIP_LEVEL
	T(walk_skip_random), T(walk_skip_root), T(walk_skip_children),
	T(walk_skip_several),
#endif
#ifdef S2W_HAVE_WALK_NEXT
	T(walk_resumes), T(walk_steps_over_nothing), T(walk_bounds_tables),
#endif
	T(range_inside_block), T(top_of_ipa_space), T(split_and_memory_cache),
	T(bad_arguments), T(permissions), T(cache_maintenance), T(unmap_tlbis),
	T(geometry), T(hyp_stage1), T(odd_arguments),
#ifndef S2W_HYP
	T(races),
#endif
#undef T
};

static void s2w_unit(struct s2w_report *r, const char *only)
{
	const char *violation;
	unsigned int i, c, failed;

	report = r;
	for (i = 0; i < sizeof(unit_tests) / sizeof(unit_tests[0]); i++) {
		if (only && strcmp(only, unit_tests[i].name))
			continue;
		failed = r->failed;
		for (c = 0; c < sizeof(unit_cfgs) / sizeof(unit_cfgs[0]); c++) {
			unit_cfg = &unit_cfgs[c];
			unit_seed = 0x9e3779b97f4a7c15ULL * (c + 1);
			if (s2w_open(unit_cfg)) {
				s2w_report(r, 0, "%s: open failed",
					   unit_tests[i].name);
				break;
			}
			unit_tests[i].fn();
			violation = s2w_close();
			if (violation && r->failed == failed)
				s2w_report(r, 0, "%s (%d-bit IPA): %s",
					   unit_tests[i].name, unit_cfg->ia_bits,
					   violation);
			if (r->failed != failed)
				break;
		}
		if (r->failed == failed)
			s2w_report(r, 1, "%s", unit_tests[i].name);
	}
#ifndef S2W_HAVE_SKIP_LEVEL
	if (!only)
		s2w_report(r, S2W_SKIP, "walk_skip: no SKIP_LEVEL flags in this tree");
#endif
#ifndef S2W_HAVE_WALK_NEXT
	if (!only)
		s2w_report(r, S2W_SKIP, "walk_stop: walks of this tree don't report where they stop");
#endif
}
