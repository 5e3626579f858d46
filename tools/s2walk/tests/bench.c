// SPDX-License-Identifier: GPL-2.0-only
/*
 * What bench-walk.c times, and what prepares for it.  Included by walker.c.
 * Only bench_run() and bench_floor() are timed.
 */

/* The table that translates @ipa at @level, created on the way if need be */
static u64 *bench_table(u64 ipa, s8 level)
{
	u64 *table = (u64 *)pgt.pgd +
		     (ipa >> kvm_granule_shift(pgt.start_level - 1)) * PTRS_PER_PTE;
	s8 l;

	for (l = pgt.start_level; l < level; l++) {
		u64 *entry = &table[(ipa >> kvm_granule_shift(l)) & (PTRS_PER_PTE - 1)];

		if (!*entry) {
			*entry = kvm_init_table_pte(m_alloc(1), &mm_ops);
			m_get_page(entry);
		}
		table = table_of(*entry);
	}
	return table;
}

/* Start with an empty tree, whatever was there before */
static int bench_reset(unsigned int ia_bits)
{
	struct s2w_config cfg = {
		.ia_bits = ia_bits, .lpa2 = ia_bits > 48,
		.fwb = true, .tlb_range = true,
	};

	m_forget();
	map_cache.nobjs = mmu.split_page_cache.nobjs = 0;
	return s2w_open(&cfg);
}

/* Map [addr, addr + size) with leaves of @level, writable and young */
static void bench_map(u64 addr, u64 size, int level)
{
	u64 granule = kvm_granule_size(level), end = addr + size, *table = NULL;
	kvm_pte_t attr = 0;

	stage2_set_prot_attr(&pgt, KVM_PGTABLE_PROT_RW, &attr);
	for (; addr < end; addr += granule) {
		u32 i = (addr / granule) & (PTRS_PER_PTE - 1);

		if (!i || !table)
			table = bench_table(addr, level);
		table[i] = kvm_init_valid_leaf_pte(addr, attr, level);
		m_get_page(&table[i]);
	}
}

/* Page-table pages for a split */
static void bench_stock(u64 pages)
{
	m_topup(&mmu.split_page_cache, pages);
}

static u64 bench_leaves(u64 *table, s8 level, u64 ipa, u64 addr, u64 end,
			enum s2w_touch touch)
{
	u64 granule = kvm_granule_size(level), i, sum = 0;

	for (i = 0; i < PTRS_PER_PTE; i++, ipa += granule) {
		if (ipa + granule <= addr || ipa >= end)
			continue;
		if (is_table(table[i], level)) {
			sum += bench_leaves(table_of(table[i]), level + 1, ipa,
					    addr, end, touch);
			continue;
		}
		if (touch == S2W_TOUCH_MKDIRTY) {
			if (table[i])
				table[i] |= KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W;
			continue;
		}
		if (level < KVM_PGTABLE_LAST_LEVEL) {
			sum += READ_ONCE(table[i]);
			continue;
		}
		/* Once per cache line */
		if (touch == S2W_TOUCH_WRITE)
			WRITE_ONCE(table[i], table[i] ^ KVM_PTE_LEAF_ATTR_HI_SW);
		else
			sum += READ_ONCE(table[i]);
		ipa += granule * 7;
		i += 7;
	}
	return sum;
}

/* One access to each cache line of the leaves: no walk can be faster */
static u64 bench_touch(u64 addr, u64 size, enum s2w_touch touch)
{
	u64 span = kvm_granule_size(pgt.start_level) * PTRS_PER_PTE, sum = 0, ipa;

	for (ipa = 0; ipa < BIT(pgt.ia_bits); ipa += span)
		if (ipa < addr + size && ipa + span > addr)
			sum += bench_leaves(bench_table(ipa, pgt.start_level),
					    pgt.start_level, ipa, addr,
					    addr + size, touch);
	return sum;
}

static int bench_run(enum s2w_kind kind, u64 addr, u64 size)
{
	u64 walks = 0;

	switch (kind) {
	case S2W_UNMAP:
		return glue_unmap(&pgt, addr, size, &walks);
	case S2W_WRPROTECT:
		return glue_wrprotect(&pgt, addr, size, &walks);
	case S2W_SPLIT:
		return glue_split(&pgt, addr, size, &mmu.split_page_cache,
				  GLUE_CHUNK, &walks);
	case S2W_AGE:
		return !kvm_pgtable_stage2_test_clear_young(&pgt, addr, size, false);
	case S2W_DESTROY:
		glue_destroy(&pgt, &walks);
		return 0;
	default:
		return -EINVAL;
	}
}
