// SPDX-License-Identifier: GPL-2.0-only
/* Sequences of operations: random, as text, compared. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

/* S2W_PAIRS is a list like P(4k) P(64k), from the Makefile */
#define P(g)	extern const struct s2w_walker base_##g, patched_##g;
S2W_PAIRS
#undef P

#define P(g)	{ #g, &base_##g, &patched_##g },
const struct s2w_pair s2w_pairs[] = { S2W_PAIRS };
const int s2w_nr_pairs = sizeof(s2w_pairs) / sizeof(s2w_pairs[0]);

static const struct {
	const char *name;
	uint32_t bit;
} bit_names[] = {
	{ "r", S2W_R }, { "w", S2W_W }, { "x", S2W_X }, { "device", S2W_DEVICE },
	{ "nc", S2W_NC }, { "sw0", S2W_SW0 }, { "sw3", S2W_SW3 },
	{ "px_only", S2W_PX_ONLY }, { "shared", S2W_SHARED },
	{ "force_pte", S2W_FORCE_PTE }, { "no_split", S2W_NO_SPLIT },
};

#define NR_BITS	(sizeof(bit_names) / sizeof(bit_names[0]))

/* ---- random sequences ---- */

uint64_t rng_below(struct s2w_rng *r, uint64_t n)
{
	if (r->data) {
		/* The fuzzer's bytes: as few as the choice needs */
		uint64_t v = 0, m = n - 1;

		for (; m && r->left; m >>= 8, r->left--)
			v = v << 8 | *r->data++;
		return n ? v % n : 0;
	}
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return n ? (r->state >> 11) % n : 0;
}

static bool one_in(struct s2w_rng *r, uint64_t n)
{
	return rng_below(r, n) == n - 1;
}

static uint64_t pick(struct s2w_rng *r, const uint64_t *from, int n)
{
	return from[rng_below(r, n)];
}

static uint64_t align_down(uint64_t x, uint64_t a)
{
	return x & ~(a - 1);
}

struct gen {
	struct s2w_rng *r;
	const struct s2w_walker *w;
	const struct s2w_config *cfg;
	uint64_t page, block, big;	/* big: the largest block */
	uint64_t top;
	uint64_t region[3];
};

static void random_config(struct gen *g, struct s2w_config *cfg)
{
	static const uint64_t bits[] = { 48, 40, 52, 42, 36, 47 };
	struct s2w_rng *r = g->r;

	*cfg = (struct s2w_config){
		.ia_bits = pick(r, bits, 6),
		.fwb = rng_below(r, 2),
		.tlb_range = rng_below(r, 2),
		.lpa2 = g->w->page_shift != 16 && rng_below(r, 2),
		.xnx = rng_below(r, 2),
		.as_s1 = one_in(r, 4),
	};
	if (cfg->ia_bits == 52 && g->w->page_shift != 16)
		cfg->lpa2 = true;
	g->cfg = cfg;
	g->top = 1ULL << cfg->ia_bits;
}

/* Where tables meet: at the bottom, the top, a root table's end, anywhere */
static uint64_t random_region(struct gen *g)
{
	struct s2w_rng *r = g->r;

	switch (rng_below(r, 5)) {
	case 0:
		return 0;
	case 1:
		return g->top - 4 * g->block;
	case 2:
		return g->top / 2 - 2 * g->block;
	case 3:
		return align_down(rng_below(r, g->top / 2), g->big);
	default:
		return align_down(rng_below(r, g->top - 8 * g->block), g->big) +
		       g->big - 2 * g->block;
	}
}

static uint64_t random_addr(struct gen *g)
{
	struct s2w_rng *r = g->r;
	uint64_t addr = g->region[rng_below(r, 3)] + rng_below(r, 4) * g->block;

	switch (rng_below(r, 4)) {
	case 0:
		break;
	case 1:
		addr += g->block - g->page * (1 + rng_below(r, 2));
		break;
	default:
		addr += rng_below(r, 2) ? g->page * rng_below(r, 4) :
					  align_down(rng_below(r, g->block), g->page);
	}
	return addr < g->top ? addr : g->top - g->page;
}

static uint64_t random_size(struct gen *g)
{
	struct s2w_rng *r = g->r;

	switch (rng_below(r, 8)) {
	case 0:
	case 1:
		return g->page;
	case 2:
	case 3:
		return g->page * (1 + rng_below(r, 20));
	case 4:
		return g->block;
	case 5:
		return g->block * (1 + rng_below(r, 4));
	case 6:
		return g->block + g->page * rng_below(r, 3) - g->page;
	default:
		return g->big * (1 + rng_below(r, 2));
	}
}

static void random_op(struct gen *g, struct s2w_op *op)
{
	static const enum s2w_kind kinds[] = {
		S2W_MAP, S2W_MAP, S2W_MAP, S2W_MAP, S2W_MAP, S2W_MAP, S2W_MAP,
		S2W_UNMAP, S2W_UNMAP, S2W_UNMAP, S2W_UNMAP,
		S2W_WRPROTECT, S2W_WRPROTECT, S2W_WRPROTECT,
		S2W_SPLIT, S2W_SPLIT, S2W_SPLIT, S2W_LOG_DIRTY, S2W_LOG_DIRTY,
		S2W_RELAX, S2W_RELAX, S2W_MKYOUNG, S2W_AGE, S2W_AGE,
		S2W_TEST_YOUNG, S2W_FLUSH, S2W_ANNOTATE, S2W_ANNOTATE,
		S2W_GET_LEAF, S2W_TOUCH, S2W_TOUCH, S2W_UNLINKED, S2W_DESTROY,
	};
	static const uint64_t prots[] = {
		S2W_R, S2W_R | S2W_W, S2W_R | S2W_W, S2W_R | S2W_W | S2W_X,
		S2W_R | S2W_X, S2W_R | S2W_W | S2W_DEVICE, S2W_R | S2W_W | S2W_NC,
		S2W_R | S2W_W | S2W_SW0, S2W_R | S2W_SW3, S2W_SW0,
		S2W_R | S2W_X | S2W_PX_ONLY, S2W_R | S2W_X | S2W_DEVICE,
	};
	static const uint64_t split_mc[] = { 0, 1, 2, 3, 5, 64, 64, 64 };
	struct s2w_rng *r = g->r;
	bool pa52 = g->cfg->lpa2 || g->w->page_shift == 16;
	uint64_t pa_bits = pa52 ? 52 : 48, pages;

	memset(op, 0, sizeof(*op));
	op->kind = kinds[rng_below(r, sizeof(kinds) / sizeof(kinds[0]))];
	op->addr = random_addr(g);
	op->size = random_size(g);
	op->bits = pick(r, prots, sizeof(prots) / sizeof(prots[0]));
	op->mc = one_in(r, 8) ? rng_below(r, 4) : 8;

	/* Congruent with the address, so that blocks are possible; high bits set */
	op->phys = op->addr & ((1ULL << (pa_bits - 2)) - 1);
	if (rng_below(r, 2))
		op->phys |= 1ULL << (pa_bits - 1);
	if (one_in(r, 4))
		op->phys += g->block * rng_below(r, 4);
	if (one_in(r, 6))
		op->phys += g->page * rng_below(r, 3);

	switch (op->kind) {
	case S2W_MAP:
		if (one_in(r, 6))
			op->bits |= S2W_SHARED;
		if (one_in(r, 6))
			op->bits |= S2W_FORCE_PTE;
		if (rng_below(r, 2) && op->size >= g->block) {
			op->addr = align_down(op->addr, g->block);
			op->phys = align_down(op->phys, g->block);
		}
		/* What no block can map is mapped page by page: keep it short */
		pages = op->size / g->page;
		if ((op->bits & S2W_FORCE_PTE || op->phys % g->block ||
		     op->addr % g->block) && pages > 600)
			op->size = g->page * (1 + pages % 40);
		if (one_in(r, 64))
			op->addr = g->top;
		break;
	case S2W_ANNOTATE:
		op->phys = (op->phys & 0xfffffffe) | 2;
		if (op->size > g->page * 40)
			op->size = g->page * (op->size == g->block &&
					      g->page == 4096 ? 512 : 40);
		break;
	case S2W_SPLIT:
		op->mc = pick(r, split_mc, 8);
		if (g->page == 4096 && one_in(r, 16))
			op->mc = 511 + rng_below(r, 5);
		break;
	case S2W_LOG_DIRTY:
		op->phys = g->page * rng_below(r, 4) + rng_below(r, 256);
		op->mc = pick(r, split_mc, 8);
		if (op->size > 2 * g->block)
			op->size = g->block + g->page * rng_below(r, 70);
		if (rng_below(r, 2))
			op->bits |= S2W_NO_SPLIT;
		break;
	case S2W_UNMAP:
	case S2W_FLUSH:
		if (one_in(r, 16)) {
			op->addr = 0;
			op->size = g->top;
		}
		break;
	case S2W_UNLINKED:
		op->size = one_in(r, 4) ? g->big : g->block;
		op->phys = align_down(op->phys, one_in(r, 8) ? g->page : op->size);
		/* All the tables of a 1G block, or not quite */
		if (one_in(r, 8) && g->page == 4096) {
			op->bits |= S2W_FORCE_PTE;
			op->mc = one_in(r, 2) ? 520 : rng_below(r, 513);
		}
		break;
	case S2W_RELAX:
		/* Nothing may be taken away */
		op->bits &= ~S2W_PX_ONLY;
		/* fallthrough */
	case S2W_MKYOUNG:
		if (rng_below(r, 2))
			op->bits |= S2W_SHARED;
		op->size = 0;
		break;
	case S2W_GET_LEAF:
	case S2W_TOUCH:
	case S2W_DESTROY:
		op->size = 0;
		break;
	default:
		break;
	}
	if (op->kind != S2W_MAP && op->kind != S2W_SPLIT &&
	    op->kind != S2W_LOG_DIRTY && op->kind != S2W_ANNOTATE && op->kind != S2W_UNLINKED)
		op->mc = 0;
	if (op->kind != S2W_UNLINKED && op->addr < g->top &&
	    op->size > g->top - op->addr)
		op->size = g->top - op->addr;
}

void seq_random(struct s2w_seq *seq, struct s2w_rng *rng, int pair, int nr)
{
	struct gen g = { .r = rng };
	int i;

	if (pair < 0)
		pair = rng_below(rng, s2w_nr_pairs);
	g.w = s2w_pairs[pair].base;
	g.page = 1ULL << g.w->page_shift;
	g.block = 1ULL << s2w_level_shift(g.w->page_shift, 2);
	g.big = 1ULL << s2w_level_shift(g.w->page_shift, g.w->min_block_level);

	seq->pair = pair;
	random_config(&g, &seq->cfg);
	for (i = 0; i < 3; i++)
		g.region[i] = random_region(&g);
	for (i = 0; i < nr && i < MAX_OPS; i++) {
		if (rng->data && !rng->left)
			break;
		random_op(&g, &seq->op[i]);
	}
	seq->nr = i;
}

/* ---- text ---- */

void seq_print(FILE *f, const struct s2w_seq *seq)
{
	int i;
	size_t b;

	fprintf(f, "config pair=%s ia_bits=%u fwb=%d tlb_range=%d lpa2=%d xnx=%d as_s1=%d\n",
		s2w_pairs[seq->pair].name, seq->cfg.ia_bits, seq->cfg.fwb,
		seq->cfg.tlb_range, seq->cfg.lpa2, seq->cfg.xnx, seq->cfg.as_s1);
	for (i = 0; i < seq->nr; i++) {
		const struct s2w_op *op = &seq->op[i];
		const char *sep = "";

		fprintf(f, "%s addr=%#" PRIx64 " size=%#" PRIx64 " phys=%#" PRIx64
			" mc=%u bits=", s2w_kind_name[op->kind], op->addr,
			op->size, op->phys, op->mc);
		for (b = 0; b < NR_BITS; b++) {
			if (op->bits & bit_names[b].bit) {
				fprintf(f, "%s%s", sep, bit_names[b].name);
				sep = ",";
			}
		}
		fprintf(f, "\n");
	}
}

static bool parse_bits(char *s, uint32_t *bits)
{
	char *save = NULL, *word;
	size_t b;

	for (word = strtok_r(s, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		for (b = 0; b < NR_BITS && strcmp(word, bit_names[b].name); b++)
			;
		if (b == NR_BITS)
			return false;
		*bits |= bit_names[b].bit;
	}
	return true;
}

static bool parse_pair(const char *s, int *pair)
{
	for (*pair = 0; *pair < s2w_nr_pairs; (*pair)++)
		if (!strcmp(s, s2w_pairs[*pair].name))
			return true;
	return false;
}

static bool parse_field(struct s2w_seq *seq, struct s2w_op *op, char *word)
{
	char *value = strchr(word, '='), *end;
	uint64_t n;

	if (!value)
		return false;
	*value++ = '\0';
	if (op && !strcmp(word, "bits"))
		return parse_bits(value, &op->bits);
	if (!op && !strcmp(word, "pair"))
		return parse_pair(value, &seq->pair);
	n = strtoull(value, &end, 0);
	if (end == value || *end)
		return false;
	if (op) {
		if (!strcmp(word, "addr"))
			op->addr = n;
		else if (!strcmp(word, "size"))
			op->size = n;
		else if (!strcmp(word, "phys"))
			op->phys = n;
		else if (!strcmp(word, "mc"))
			op->mc = n;
		else
			return false;
		return true;
	}
	if (!strcmp(word, "ia_bits"))
		seq->cfg.ia_bits = n;
	else if (!strcmp(word, "fwb"))
		seq->cfg.fwb = n;
	else if (!strcmp(word, "tlb_range"))
		seq->cfg.tlb_range = n;
	else if (!strcmp(word, "lpa2"))
		seq->cfg.lpa2 = n;
	else if (!strcmp(word, "xnx"))
		seq->cfg.xnx = n;
	else if (!strcmp(word, "as_s1"))
		seq->cfg.as_s1 = n;
	else
		return false;
	return true;
}

int seq_parse(FILE *f, const char *name, struct s2w_seq *seq)
{
	char line[512], *word, *save;
	int lineno = 0, k;
	bool configured = false;

	memset(seq, 0, sizeof(*seq));
	while (fgets(line, sizeof(line), f)) {
		struct s2w_op *op = NULL;

		lineno++;
		line[strcspn(line, "#\n")] = '\0';
		word = strtok_r(line, " \t", &save);
		if (!word)
			continue;
		if (!strcmp(word, "config")) {
			configured = true;
		} else {
			for (k = 0; k < S2W_NR_KINDS && strcmp(word, s2w_kind_name[k]); k++)
				;
			if (k == S2W_NR_KINDS || seq->nr == MAX_OPS || !configured) {
				fprintf(stderr, "%s:%d: %s\n", name, lineno,
					k == S2W_NR_KINDS ? "unknown operation" :
					configured ? "too many operations" :
					"the config line must come first");
				return -1;
			}
			op = &seq->op[seq->nr++];
			op->kind = k;
		}
		while ((word = strtok_r(NULL, " \t", &save))) {
			if (!parse_field(seq, op, word)) {
				fprintf(stderr, "%s:%d: bad field '%s'\n", name,
					lineno, word);
				return -1;
			}
		}
	}
	if (!configured) {
		fprintf(stderr, "%s: no config line\n", name);
		return -1;
	}
	if (seq->cfg.ia_bits < 32 || seq->cfg.ia_bits > 52) {
		fprintf(stderr, "%s: ia_bits must be from 32 to 52\n", name);
		return -1;
	}
	return 0;
}

/* ---- base against patched ---- */

/* Do base's invalidations, grown to whole blocks, cover patched's? */
static bool tlbi_covered(const struct s2w_result *b, const struct s2w_result *p,
			 uint64_t block)
{
	size_t i, j;

	for (i = 0; i < p->nr_tlbi; i++) {
		for (j = 0; j < b->nr_tlbi; j++)
			if (p->tlbi[i].start >= align_down(b->tlbi[j].start, block) &&
			    p->tlbi[i].end <= align_down(b->tlbi[j].end + block - 1,
							 block))
				break;
		if (j == b->nr_tlbi)
			return false;
	}
	return true;
}

static bool same(const struct s2w_pair *pair, const struct s2w_op *op,
		 const struct s2w_result *b, const struct s2w_result *p,
		 char *why, size_t len)
{
	uint64_t big = 1ULL << s2w_level_shift(pair->base->page_shift,
					       pair->base->min_block_level);
	uint64_t loads, tlbis;

#define DIFFER(what, field)						\
	do {								\
		if (b->field != p->field) {				\
			snprintf(why, len, "%s: %s differs: base %#llx, patched %#llx", \
				 s2w_kind_name[op->kind], what,		\
				 (unsigned long long)b->field,		\
				 (unsigned long long)p->field);		\
			return false;					\
		}							\
	} while (0)

	if (b->violation || p->violation) {
		snprintf(why, len, "%s: %s: %s", s2w_kind_name[op->kind],
			 p->violation ? "patched" : "base",
			 p->violation ?: b->violation);
		return false;
	}
	DIFFER("return value", ret);
	DIFFER("result", value);
	DIFFER("tree", tree);
	DIFFER("number of page-table pages", live_pages);
	DIFFER("memory cache", mc_left);
	DIFFER("cache maintenance", cmo);
	/*
	 * The contract where the patches differ on purpose: no more loads of
	 * entries, no more invalidations, and none outside of what base
	 * invalidates, save for the rest of a block that is unmapped in part.
	 */
	loads = b->loads;
	tlbis = b->tlbis;
	/* A callback that takes batches reads every entry itself */
	if (op->kind == S2W_WRPROTECT || op->kind == S2W_UNMAP ||
	    op->kind == S2W_FLUSH || op->kind == S2W_DESTROY)
		loads += loads / 2;
	/* Too large a range for base's chunks: it had no walk to resume */
	if (b->walks == 1) {
		loads += p->walks * 8;
		tlbis += p->walks;
	}
	if (p->loads > loads) {
		snprintf(why, len, "%s: more entries read: base %llu, patched %llu",
			 s2w_kind_name[op->kind], (unsigned long long)b->loads,
			 (unsigned long long)p->loads);
		return false;
	}
	if (p->tlbis > tlbis || !tlbi_covered(b, p, big)) {
		snprintf(why, len, "%s: %s invalidations: base %llu, patched %llu",
			 s2w_kind_name[op->kind],
			 p->tlbis > tlbis ? "more" : "other",
			 (unsigned long long)b->tlbis,
			 (unsigned long long)p->tlbis);
		return false;
	}
	return true;
}

bool seq_compare(const struct s2w_seq *seq, struct s2w_totals *sum, int *at,
		 char *why, size_t len)
{
	const struct s2w_pair *pair = &s2w_pairs[seq->pair];
	const struct s2w_walker *base = pair->base, *patched = pair->patched;
	const char *vb, *vp;
	bool ok = true;
	int i, ret;

	*at = 0;
	ret = base->open(&seq->cfg);
	if (ret != patched->open(&seq->cfg) || ret) {
		snprintf(why, len, "can't create the page table: %d", ret);
		return false;
	}
	for (i = 0; i < seq->nr; i++) {
		const struct s2w_op *op = &seq->op[i];
		struct s2w_result b, p;

		*at = i;
		base->apply(op, &b);
		patched->apply(op, &p);
		ok = same(pair, op, &b, &p, why, len);
		if (!ok)
			break;
		sum->ops++;
		sum->kind[op->kind]++;
		sum->failed_ops += b.ret != 0;
		sum->base_loads += b.loads;
		sum->loads += p.loads;
		sum->base_tlbis += b.tlbis;
		sum->tlbis += p.tlbis;
		sum->base_walks += b.walks;
		sum->walks += p.walks;
	}
	vb = base->close();
	vp = patched->close();
	if (ok && (vb || vp)) {
		*at = seq->nr;
		snprintf(why, len, "at the end: %s: %s", vp ? "patched" : "base",
			 vp ?: vb);
		ok = false;
	}
	sum->seqs++;
	return ok;
}
