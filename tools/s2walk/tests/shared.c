// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations from several threads, under the locks that KVM holds for them;
 * see threads.c.  Included by walker.c.
 */

/* A vCPU's fault: mmu_lock held for read */
static int fault(const struct s2w_op *op)
{
	struct kvm_mmu_memory_cache mc = { 0 };
	enum kvm_pgtable_walk_flags flags = KVM_PGTABLE_WALK_SHARED;
	int ret = 0;

	switch (op->kind) {
	case S2W_MAP:
		m_topup(&mc, op->mc);
		ret = kvm_pgtable_stage2_map(&pgt, op->addr, op->size, op->phys,
					     prot_of(op->bits), &mc, flags);
		m_drain(&mc);
		break;
	case S2W_RELAX:
		ret = kvm_pgtable_stage2_relax_perms(&pgt, op->addr,
						     prot_of(op->bits), flags);
		break;
	case S2W_MKYOUNG:
		kvm_pgtable_stage2_mkyoung(&pgt, op->addr, flags);
		break;
	default:
		ret = -EINVAL;
	}
	m_grace_period();
	return ret;
}

/* All else: mmu_lock held for write */
static int exclusive(const struct s2w_op *op)
{
	u64 value = 0, walks = 0;
	int ret;

	m_topup(&mmu.split_page_cache, op->mc);
	ret = do_op(op, &value, &walks);
	if (op->kind == S2W_WRPROTECT || op->kind == S2W_LOG_DIRTY)
		kvm_tlb_flush_vmid_range(&mmu, op->addr, op->size);
	m_drain(&mmu.split_page_cache);
	return ret;
}

static bool hw_access(uint64_t ipa)
{
	return m_hw_access(ipa, true);
}
