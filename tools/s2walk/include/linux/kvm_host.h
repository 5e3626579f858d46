/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that arch/arm64/kvm/hyp/pgtable.c and asm/kvm_pgtable.h expect
 * from the rest of the kernel, reduced to what they use.  Generic macros come
 * from the tree's own tools/include; page-table geometry and the walker come
 * from the tree unmodified.  What hardware or memory management would do is
 * handed to the model in machine.c.
 */
#ifndef S2WALK_KVM_HOST_H
#define S2WALK_KVM_HOST_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <linux/kernel.h>	/* first: bitfield.h wants its byte order */
#include <linux/align.h>
#include <linux/bits.h>
#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <asm/pgtable-hwdef.h>

#include "machine.h"

/* ---- types and small helpers ---- */

typedef u64 kvm_pfn_t;
typedef u64 gpa_t;

#ifndef SZ_1G
#define SZ_1G			0x40000000UL
#endif
#ifndef S8_MAX
#define S8_MAX			((s8)0x7f)
#endif
#ifndef fallthrough
#define fallthrough		__attribute__((__fallthrough__))
#endif
#ifndef BITS_PER_LONG_LONG
#define BITS_PER_LONG_LONG	64
#endif
/* libc's <assert.h>, which tools/include draws in, wants a message */
#undef static_assert
#define static_assert(expr, ...)	_Static_assert(expr, #expr)
#define __phys_to_pfn(pa)	((kvm_pfn_t)((pa) >> PAGE_SHIFT))
#define EXPORT_SYMBOL_GPL(sym)

#undef WARN_ON
#undef WARN_ON_ONCE
#define WARN_ON(cond)							\
	({								\
		bool __warned = !!(cond);				\
									\
		if (unlikely(__warned))					\
			m_warn(__FILE__, __LINE__, #cond);		\
		unlikely(__warned);					\
	})
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define VM_WARN_ON_ONCE(cond)	WARN_ON(cond)
#define KVM_BUG_ON(cond, kvm)	WARN_ON(cond)
#define lockdep_assert_held_write(lock)	((void)(lock))

/* ---- page-table entries: every access passes through the model ---- */

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_store_release
#undef cmpxchg

#ifdef S2W_THREADS
/*
 * The kernel orders a load of a table entry before loads through the table by
 * address dependency.  ThreadSanitizer doesn't know dependencies: say acquire.
 */
#define S2W_LOAD_ORDER		__ATOMIC_ACQUIRE
#else
#define S2W_LOAD_ORDER		__ATOMIC_RELAXED
#endif

#define READ_ONCE(x)							\
	({								\
		m_pte_load(&(x));					\
		__atomic_load_n(&(x), S2W_LOAD_ORDER);			\
	})

#define __s2w_store(p, val, order)					\
	do {								\
		typeof(*(p)) __new = (val);				\
									\
		m_pte_store((p), (u64)__new);				\
		__atomic_store_n((p), __new, order);			\
	} while (0)

#define WRITE_ONCE(x, val)	__s2w_store(&(x), (val), __ATOMIC_RELAXED)
#define smp_store_release(p, val) __s2w_store((p), (val), __ATOMIC_RELEASE)

#define cmpxchg(p, old, new)						\
	({								\
		typeof(*(p)) __old = (old), __val = (new);		\
									\
		m_pte_race(p);						\
		m_pte_store((p), (u64)__val);				\
		__atomic_compare_exchange_n((p), &__old, __val, false,	\
					    __ATOMIC_SEQ_CST,		\
					    __ATOMIC_SEQ_CST);		\
		__old;							\
	})
#define dsb(opt)		m_barrier()
#define isb()			m_barrier()
#undef smp_wmb
#undef smp_rmb
#define smp_wmb()		m_barrier()
#define smp_rmb()		m_barrier()

/* ---- RCU ---- */

#define rcu_read_lock()		m_rcu_read_lock()
#define rcu_read_unlock()	m_rcu_read_unlock()
#define rcu_read_lock_held()	m_rcu_read_lock_held()
#define rcu_dereference_check(p, cond)					\
	({								\
		if (!(cond) && !rcu_read_lock_held())			\
			m_warn(__FILE__, __LINE__, "RCU: " #p);		\
		(p);							\
	})
#define rcu_dereference_raw(p)	(p)

/* ---- CPU features ---- */

#define ARM64_KVM_HVHE				m_cpu.hvhe
#define ARM64_HAS_STAGE2_FWB			m_cpu.fwb
#define ARM64_HAS_XNX				m_cpu.xnx
#define ARM64_WORKAROUND_AMPERE_AC03_CPU_38	false
#define cpus_have_final_cap(cap)	(cap)
#define cpus_have_cap(cap)		(cap)
#define system_supports_lpa2()		(m_cpu.lpa2)
#define system_supports_tlb_range()	(m_cpu.tlb_range)
#define system_supports_bti_kernel()	(m_cpu.bti)

#define ID_AA64MMFR0_EL1_PARANGE_SHIFT	0
#define ID_AA64MMFR0_EL1_PARANGE_48	5
#define ID_AA64MMFR0_EL1_PARANGE_52	6
#define cpuid_feature_extract_unsigned_field(reg, shift)	\
	(((reg) >> (shift)) & 0xf)
#define get_vmid_bits(mmfr1)	((((mmfr1) >> 4) & 0xf) == 2 ? 16 : 8)

/* VTCR_EL2, as the architecture defines it */
#define VTCR_EL2_T0SZ		GENMASK(5, 0)
#define VTCR_EL2_SL0		GENMASK(7, 6)
#define VTCR_EL2_SL0_MASK	VTCR_EL2_SL0
#define VTCR_EL2_PS		GENMASK(18, 16)
#define VTCR_EL2_VS		BIT(19)
#define VTCR_EL2_HA		BIT(21)
#define VTCR_EL2_DS		BIT(32)
#define VTCR_EL2_FLAGS		BIT(31)
#define VTCR_EL2_TGRAN_SL0_BASE	(PAGE_SHIFT == 12 ? 2UL : 3UL)
#define VTCR_EL2_LVLS_TO_SL0(levels)	\
	FIELD_PREP(VTCR_EL2_SL0, (VTCR_EL2_TGRAN_SL0_BASE - (4 - (levels))))
#define VTCR_EL2_SL0_TO_LVLS(sl0)	((sl0) + 4 - VTCR_EL2_TGRAN_SL0_BASE)
#define VTCR_EL2_LVLS(vtcr)	\
	VTCR_EL2_SL0_TO_LVLS(FIELD_GET(VTCR_EL2_SL0, (vtcr)))
#define VTCR_EL2_IPA(vtcr)	(64 - FIELD_GET(VTCR_EL2_T0SZ, (vtcr)))

/* Memory types: the values of asm/memory.h and asm/pgtable-prot.h */
#define MT_NORMAL			0
#define MT_DEVICE_nGnRE			4
#define MT_S2_NORMAL			0xf
#define MT_S2_NORMAL_NC			0x5
#define MT_S2_DEVICE_nGnRE		0x1
#define MT_S2_AS_S1			MT_S2_NORMAL
#define MT_S2_FWB_NORMAL		6
#define MT_S2_FWB_NORMAL_NC		5
#define MT_S2_FWB_DEVICE_nGnRE		1
#define MT_S2_FWB_AS_S1			7
#define PAGE_S2_MEMATTR(attr)		\
	((u64)(m_cpu.fwb ? MT_S2_FWB_ ## attr : MT_S2_ ## attr) << 2)

/* ---- TLB invalidation ---- */

#define TLBI_TTL_UNKNOWN	INT_MAX
#define __TLBI_RANGE_PAGES(num, scale)	\
	((unsigned long)((num) + 1) << (5 * (scale) + 1))
#define MAX_TLBI_RANGE_PAGES	__TLBI_RANGE_PAGES(31, 3)

#define kvm_call_hyp(fn, ...)	m_##fn(__VA_ARGS__)
#define m___kvm_tlb_flush_vmid(mmu)	((void)(mmu), m_tlbi_all())
#define m___kvm_tlb_flush_vmid_ipa(mmu, ipa, level)			\
	((void)(mmu), m_tlbi_ipa(ipa, level))
#define m___kvm_tlb_flush_vmid_ipa_nsh(mmu, ipa, level)			\
	((void)(mmu), m_tlbi_nsh(ipa, level))
#define m___kvm_tlb_flush_vmid_range(mmu, ipa, pages)			\
	((void)(mmu), m_tlbi_range(ipa, (u64)(pages) << PAGE_SHIFT))

#define __tlbi_level(op, addr, level)	m_tlbi_stage1(#op, addr, level)
#define __tlbi_sync_s1ish_hyp()		m_barrier()

/* ---- the fields of KVM's structures that the walker touches ---- */

struct kvm_mmu_memory_cache {
	gfp_t gfp_zero;
	gfp_t gfp_custom;
	u64 init_value;
	int capacity;
	int nobjs;
	void **objects;
};

struct kvm_pgtable;

struct kvm_arch;

struct kvm_s2_mmu {
	phys_addr_t pgd_phys;
	struct kvm_pgtable *pgt;
	u64 vtcr;
	struct kvm_mmu_memory_cache split_page_cache;
	uint64_t split_page_chunk_size;
	struct kvm_arch *arch;
};

struct kvm_arch {
	struct kvm_s2_mmu mmu;
};

#endif
