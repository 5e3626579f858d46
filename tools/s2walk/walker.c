// SPDX-License-Identifier: GPL-2.0-only
/*
 * One tree's page-table walker, unmodified, and the operations that the test
 * programs apply to it.  Built once for each tree and page size, as a shared
 * object whose only visible symbol is S2W_WALKER.
 */
#include <linux/kvm_host.h>

/* The code under test; PGTABLE_C is a path in the kernel tree */
#include PGTABLE_C

#include <stdlib.h>

#include "config.h"
#include "glue.h"
#include "s2walk.h"
#include "walker.h"

static struct kvm_arch arch;
static struct kvm_s2_mmu mmu = { .arch = &arch };
static struct kvm_pgtable pgt;
static struct kvm_mmu_memory_cache map_cache;
static bool force_pte;
static u64 recent[8];
static unsigned int nr_recent;

/* ---- memory operations, as in arch/arm64/kvm/mmu.c ---- */

static void *zalloc_page(void *arg)
{
	struct kvm_mmu_memory_cache *mc = arg;

	if (!mc)
		return m_alloc(1);
	return mc->nobjs ? mc->objects[--mc->nobjs] : NULL;
}

static void *zalloc_pages_exact(size_t size)
{
	return m_alloc(size >> PAGE_SHIFT);
}

static void free_pages_exact(void *addr, size_t size)
{
	m_free(addr, size >> PAGE_SHIFT);
}

static struct kvm_pgtable_mm_ops mm_ops;

static void free_unlinked_now(void *table, s8 level)
{
	kvm_pgtable_stage2_free_unlinked(&mm_ops, table, level);
}

static void free_unlinked_table(void *table, s8 level)
{
	m_call_rcu(free_unlinked_now, table, level);
}

static void *phys_to_virt(phys_addr_t pa)
{
	return m_phys_to_virt(pa);
}

static phys_addr_t virt_to_phys(void *addr)
{
	return m_virt_to_phys(addr);
}

static struct kvm_pgtable_mm_ops mm_ops = {
	.zalloc_page		= zalloc_page,
	.zalloc_pages_exact	= zalloc_pages_exact,
	.free_pages_exact	= free_pages_exact,
	.free_unlinked_table	= free_unlinked_table,
	.get_page		= m_get_page,
#ifdef S2W_HAVE_GET_PAGES
	.get_pages		= m_get_pages,
#endif
	.put_page		= m_put_page,
#if defined(S2W_HAVE_PUT_PAGES) && !defined(S2W_HYP)	/* it is optional */
	.put_pages		= m_put_pages,
#endif
	.page_count		= m_page_count,
	.phys_to_virt		= phys_to_virt,
	.virt_to_phys		= virt_to_phys,
	.dcache_clean_inval_poc	= m_dcache,
	.icache_inval_pou	= m_icache,
};

static bool force_pte_cb(u64 addr, u64 end, enum kvm_pgtable_prot prot)
{
	return force_pte;
}

/* ---- the tree as the harness sees it ---- */

static bool is_table(u64 pte, s8 level)
{
	return level < KVM_PGTABLE_LAST_LEVEL && (pte & 3) == 3;
}

static u64 *table_of(u64 pte)
{
	return m_phys_to_virt(m_pte_to_phys(pte));
}

static u64 mix(u64 h, u64 v)
{
	h ^= v;
	h *= 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

struct tree_scan {
	u64 hash;
	u32 tables;
};

/* Hash the entries of a table and below; check the reference counts */
static void scan_table(struct tree_scan *s, u64 *table, s8 level, u64 ipa)
{
	int i, counted = 0;

	if (!m_is_table(table)) {
		m_fail("tree leads to a free page, ipa %#llx level %d",
		       (unsigned long long)ipa, level);
		return;
	}
	s->tables++;
	for (i = 0; i < PTRS_PER_PTE; i++) {
		u64 pte = table[i], addr = ipa + i * kvm_granule_size(level);

		if (!pte)
			continue;
		counted++;
		s->hash = mix(mix(s->hash, addr), level);
		if (is_table(pte, level)) {
			scan_table(s, table_of(pte), level + 1, addr);
			continue;
		}
		s->hash = mix(s->hash, pte);
		if (stage2_pte_is_locked(pte))
			m_fail("entry left locked, ipa %#llx",
			       (unsigned long long)addr);
	}
	if (m_page_count(table) != 1 + counted)
		m_fail("table for ipa %#llx level %d: %d references, %d entries",
		       (unsigned long long)ipa, level, m_page_count(table),
		       counted);
}

static void scan_tree(struct tree_scan *s)
{
	u32 i, n = kvm_pgd_pages(pgt.ia_bits, pgt.start_level);

	for (i = 0; pgt.pgd && i < n; i++)
		scan_table(s, (u64 *)pgt.pgd + i * PTRS_PER_PTE, pgt.start_level,
			   i * kvm_granule_size(pgt.start_level) * PTRS_PER_PTE);
}

/* ---- operations ---- */

static enum kvm_pgtable_prot prot_of(u32 bits)
{
	enum kvm_pgtable_prot prot = 0;

	if (bits & S2W_R)
		prot |= KVM_PGTABLE_PROT_R;
	if (bits & S2W_W)
		prot |= KVM_PGTABLE_PROT_W;
	if (bits & S2W_X)
		prot |= bits & S2W_PX_ONLY ? KVM_PGTABLE_PROT_PX :
					     KVM_PGTABLE_PROT_X;
	if (bits & S2W_DEVICE)
		prot |= KVM_PGTABLE_PROT_DEVICE;
	if (bits & S2W_NC)
		prot |= KVM_PGTABLE_PROT_NORMAL_NC;
	if (bits & S2W_SW0)
		prot |= KVM_PGTABLE_PROT_SW0;
	if (bits & S2W_SW3)
		prot |= KVM_PGTABLE_PROT_SW3;
	return prot;
}

static int init_pgt(void)
{
	int ret = __kvm_pgtable_stage2_init(&pgt, &mmu, &mm_ops, pgt.flags,
					    force_pte_cb);

	if (!ret) {
		mmu.pgt = &pgt;
		m_root = (struct m_root){
			.pgd = (u64 *)pgt.pgd,
			.ia_bits = pgt.ia_bits,
			.start_level = pgt.start_level,
		};
	}
	return ret;
}

static void destroy_pgt(u64 *walks)
{
	/* By contract no CPU can reach the tables any more */
	m_root.pgd = NULL;
	m_tlb_flush();
	glue_destroy(&pgt, walks);
}

static int s2w_open(const struct s2w_config *cfg)
{
	u64 mmfr0;

	m_cpu = (struct m_cpu){
		.fwb = cfg->fwb,
		.tlb_range = cfg->tlb_range,
		.lpa2 = cfg->lpa2 && PAGE_SHIFT != 16,
		.xnx = cfg->xnx,
	};
	m_reset();
	mmfr0 = ID_AA64MMFR0_EL1_PARANGE_52;
	mmu.vtcr = kvm_get_vtcr(mmfr0, 0, cfg->ia_bits);
	memset(&pgt, 0, sizeof(pgt));
	pgt.flags = cfg->as_s1 ? KVM_PGTABLE_S2_AS_S1 : 0;
	nr_recent = 0;
	return init_pgt();
}

static const char *s2w_close(void)
{
	struct tree_scan s = { 0 };
	u64 walks = 0;

	if (pgt.pgd) {
		scan_tree(&s);
		destroy_pgt(&walks);
	}
	m_drain(&map_cache);
	m_drain(&mmu.split_page_cache);
	m_grace_period();
	if (m_live_pages())
		m_fail("%u page-table pages leaked", m_live_pages());
	return m_violation();
}

/* The addresses at which an adversarial CPU looks during @op */
static void choose_focus(const struct s2w_op *op)
{
	u64 limit = BIT(pgt.ia_bits), block = kvm_granule_size(2);
	u64 last = op->addr + (op->size ? op->size - 1 : 0);
	u64 addrs[32], raw[32];
	unsigned int i, j, n = 0;
	int nr = 0;

	raw[n++] = op->addr;
	raw[n++] = op->addr + PAGE_SIZE;
	raw[n++] = op->addr - PAGE_SIZE;
	raw[n++] = ALIGN_DOWN(op->addr, block);
	raw[n++] = ALIGN_DOWN(op->addr, block) + block - 1;
	raw[n++] = op->addr + op->size / 2;
	raw[n++] = op->addr + op->size / 3 * 2;
	raw[n++] = last;
	raw[n++] = last + 1;
	raw[n++] = last - PAGE_SIZE;
	raw[n++] = ALIGN_DOWN(last, block);
	raw[n++] = ALIGN_DOWN(last, block) + block - 1;
	raw[n++] = ALIGN_DOWN(last, block) - 1;
	for (i = 0; i < 8 && i < nr_recent; i++)
		raw[n++] = recent[i];

	for (i = 0; i < n; i++) {
		u64 a = ALIGN_DOWN(raw[i], PAGE_SIZE);

		for (j = 0; (int)j < nr && addrs[j] != a; j++)
			;
		if (a < limit && (int)j == nr)
			addrs[nr++] = a;
	}
	m_op_begin(addrs, nr);
	recent[nr_recent % 8] = nr_recent & 1 ? op->addr : last;
	nr_recent++;
}

static int unlinked(const struct s2w_op *op, u64 *hash)
{
	s8 level = op->size >= kvm_granule_size(1) && PAGE_SHIFT == 12 ? 1 : 2;
	struct tree_scan s = { 0 };
	kvm_pte_t *table;

	table = kvm_pgtable_stage2_create_unlinked(&pgt, op->phys, level,
						   prot_of(op->bits), &map_cache,
						   op->bits & S2W_FORCE_PTE);
	if (IS_ERR(table))
		return PTR_ERR(table);
	scan_table(&s, table, level + 1, 0);
	*hash = s.hash;
	kvm_pgtable_stage2_free_unlinked(&mm_ops, table, level);
	return 0;
}

/* KVM_CAP_ARM_EAGER_SPLIT_CHUNK_SIZE: any block size, and a page's */
static u64 split_chunk(const struct s2w_op *op)
{
	static const s8 levels[] = { KVM_PGTABLE_MIN_BLOCK_LEVEL, 2, 3 };

	return kvm_granule_size(levels[op->mc % 3]);
}

static int log_dirty(const struct s2w_op *op, u64 *walks)
{
	/* Bit 0 may stand for a page before the range */
	u64 before = min(op->addr >> PAGE_SHIFT, op->phys % 150);
	u64 nr = before + (op->size >> PAGE_SHIFT), i, h = op->phys;
	size_t bytes = (nr / BITS_PER_LONG + 1) * sizeof(unsigned long);
	unsigned long *bitmap = memset(m_realloc(NULL, bytes), 0, bytes);
	int ret;

	/* One page in 1, 2, 8 or 4096; some runs of 128 are full */
	for (i = 0; i < nr; i++) {
		static const u16 in[] = { 1, 2, 8, 4096 };

		if (i % 128 == 0)
			h = mix(h, i);
		if ((h >> 40) % 4 == 0 || mix(h, i) % in[op->phys / PAGE_SIZE % 4] == 0)
			bitmap[i / BITS_PER_LONG] |= BIT(i % BITS_PER_LONG);
	}
	ret = glue_log_dirty(&pgt, op->addr, op->size, bitmap,
			     op->addr - (before << PAGE_SHIFT),
			     op->bits & S2W_NO_SPLIT ? NULL : &mmu.split_page_cache,
			     split_chunk(op), walks);
	free(bitmap);
	return ret;
}

static int do_op(const struct s2w_op *op, u64 *value, u64 *walks)
{
	enum kvm_pgtable_walk_flags flags =
		op->bits & S2W_SHARED ? KVM_PGTABLE_WALK_SHARED : 0;
	enum kvm_pgtable_prot prot = prot_of(op->bits);
	kvm_pte_t pte = 0;
	s8 level = 0;
	int ret;

	switch (op->kind) {
	case S2W_MAP:
		force_pte = op->bits & S2W_FORCE_PTE;
		return kvm_pgtable_stage2_map(&pgt, op->addr, op->size, op->phys,
					      prot, &map_cache, flags);
	case S2W_UNMAP:
		return glue_unmap(&pgt, op->addr, op->size, walks);
	case S2W_WRPROTECT:
		return glue_wrprotect(&pgt, op->addr, op->size, walks);
	case S2W_SPLIT:
		return glue_split(&pgt, op->addr, op->size,
				  &mmu.split_page_cache, split_chunk(op), walks);
	case S2W_LOG_DIRTY:
		return log_dirty(op, walks);
	case S2W_FLUSH:
		return glue_flush(&pgt, op->addr, op->size, walks);
	case S2W_RELAX:
		return kvm_pgtable_stage2_relax_perms(&pgt, op->addr, prot, flags);
	case S2W_MKYOUNG:
		kvm_pgtable_stage2_mkyoung(&pgt, op->addr, flags);
		return 0;
	case S2W_AGE:
	case S2W_TEST_YOUNG:
		*value = kvm_pgtable_stage2_test_clear_young(&pgt, op->addr,
							     op->size,
							     op->kind == S2W_AGE);
		return 0;
	case S2W_ANNOTATE:
		return kvm_pgtable_stage2_annotate(&pgt, op->addr, op->size,
						   &map_cache,
						   KVM_HOST_INVALID_PTE_TYPE_DONATION,
						   op->phys & GENMASK(40, 1));
	case S2W_GET_LEAF:
		ret = kvm_pgtable_get_leaf(&pgt, op->addr, &pte, &level);
		*value = mix(pte, level);
		return ret;
	case S2W_TOUCH:
		*value = m_hw_access(op->addr, true);
		return 0;
	case S2W_UNLINKED:
		return unlinked(op, value);
	case S2W_DESTROY:
		destroy_pgt(walks);
		if (m_live_pages() != (u32)map_cache.nobjs +
				      mmu.split_page_cache.nobjs)
			m_fail("destroy left %u pages", m_live_pages() -
			       map_cache.nobjs - mmu.split_page_cache.nobjs);
		return init_pgt();
	default:
		return -EINVAL;
	}
}

static u64 hash_ranges(u64 h, struct m_ranges *rs)
{
	size_t i;

	m_ranges_merge(rs);
	for (i = 0; i < rs->nr; i++)
		h = mix(mix(h, rs->r[i].start), rs->r[i].end);
	return mix(h, rs->nr);
}

static void s2w_apply(const struct s2w_op *op, struct s2w_result *res)
{
	struct kvm_mmu_memory_cache *mc =
		op->kind == S2W_SPLIT || op->kind == S2W_LOG_DIRTY ?
		&mmu.split_page_cache : &map_cache;
	struct tree_scan s = { 0 };

	memset(res, 0, sizeof(*res));
	m_topup(mc, op->mc);
	choose_focus(op);

	res->ret = do_op(op, &res->value, &res->walks);

	/* Cost and effect of the call itself, before the caller's duties */
	res->loads = m_op.loads;
	res->tlbis = m_op.tlbis;
	m_ranges_merge(&m_op.leaf_tlbi);
	res->tlbi = (const struct s2w_interval *)m_op.leaf_tlbi.r;
	res->nr_tlbi = m_op.leaf_tlbi.nr;
	res->cmo = hash_ranges(hash_ranges(0, &m_op.dcache), &m_op.icache);

	/* mmu.c flushes the TLB after write-protecting a range */
	if (op->kind == S2W_WRPROTECT || op->kind == S2W_LOG_DIRTY) {
		u64 start = ALIGN_DOWN(op->addr, PAGE_SIZE);

		kvm_tlb_flush_vmid_range(&mmu, start,
					 PAGE_ALIGN(op->addr + op->size) - start);
	}
	m_grace_period();
	res->mc_left = mc->nobjs;
	m_drain(mc);
	m_tlb_check(s2w_kind_name[op->kind]);
	m_op_end();

	scan_tree(&s);
	res->tree = s.hash;
	res->live_pages = m_live_pages();
	if (res->live_pages != s.tables)
		m_fail("%u pages in use, %u in the tree: leak",
		       res->live_pages, s.tables);
	res->violation = m_violation();
}

#ifndef S2W_LOOPS		/* loops.c has its own */
#if defined(S2W_MODEL)
#include "tests/unit.c"
#elif defined(S2W_THREADS)
#include "tests/shared.c"
#else
#include "tests/bench.c"
#endif

const struct s2w_walker S2W_WALKER __attribute__((visibility("default"))) = {
	.name		= S2W_NAME,
	.page_shift	= PAGE_SHIFT,
	.min_block_level = KVM_PGTABLE_MIN_BLOCK_LEVEL,
	.open		= s2w_open,
	.apply		= s2w_apply,
	.close		= s2w_close,
#ifdef S2W_MODEL
	.unit		= s2w_unit,
#elif defined(S2W_THREADS)
	.fault		= fault,
	.exclusive	= exclusive,
	.hw_access	= hw_access,
#else
	.bench_reset	= bench_reset,
	.bench_map	= bench_map,
	.bench_stock	= bench_stock,
	.bench_touch	= bench_touch,
	.bench_run	= bench_run,
#endif
};
#elif !defined(S2W_MODEL)
#include "tests/bench.c"
#endif
