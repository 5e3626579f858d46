/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine that the walker runs on: page-table pages with reference counts,
 * a log of TLB invalidations and cache maintenance, and a software TLB.
 *
 * Three builds:
 *   S2W_MODEL	 every access to a page-table entry passes through the model
 *   S2W_THREADS real locks and RCU, for ThreadSanitizer; no TLB model
 *   neither	 the benchmark: the hooks compile to nothing
 */
#ifndef S2WALK_MACHINE_H
#define S2WALK_MACHINE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/types.h>
#include <asm/memory.h>

struct kvm_mmu_memory_cache;

extern struct m_cpu {
	bool fwb;		/* FEAT_S2FWB: no cache maintenance needed */
	bool tlb_range;		/* FEAT_TLBIRANGE */
	bool lpa2;		/* FEAT_LPA2: 52-bit addresses with 4K/16K */
	bool xnx;		/* FEAT_XNX */
	bool hvhe, bti;
} m_cpu;

/* What the hardware walker walks */
extern struct m_root {
	u64 *pgd;
	u32 ia_bits;
	s8 start_level;
	bool stage1;
} m_root;

/* Counters and logs of one operation; m_op_begin() clears them. */
enum m_tlbi_kind { M_TLBI_ALL, M_TLBI_IPA, M_TLBI_RANGE, M_TLBI_NSH, M_TLBI_S1 };

struct m_tlbi {
	enum m_tlbi_kind kind;
	u64 addr, size;		/* what it covers; an IPA op covers one page */
	int level;
};

struct m_range {
	u64 start, end;
};

struct m_ranges {
	struct m_range *r;
	size_t nr, max;
};

#define M_TLBI_LOG	1024

extern struct m_op {
	u64 loads, tlbis;
	struct m_tlbi tlbi[M_TLBI_LOG];	/* the first M_TLBI_LOG of them */
	struct m_ranges dcache, icache;
	struct m_ranges leaf_tlbi;	/* without those for tables */
} m_op;

void m_op_begin(const u64 *focus, int nr);
void m_op_end(void);

void m_ranges_add(struct m_ranges *rs, u64 start, u64 end);
void m_ranges_merge(struct m_ranges *rs);

/* The first thing that went wrong since m_reset(), or NULL. */
const char *m_violation(void);
void m_reset_violation(void);	/* it was expected */
void m_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void m_warn(const char *file, int line, const char *what);
extern unsigned int m_warnings;

/*
 * A race, made to happen: just before the next compare-and-exchange of an entry
 * another CPU changes it to @to.  Then m_race.done is set and m_race.was holds
 * what was there.
 */
extern struct m_race {
	bool armed, done;
	u64 to, was;
	u64 *ptep;
} m_race;

void m_reset(void);
void m_forget(void);		/* all pages are free again */

/* ---- page-table pages ---- */

void *m_realloc(void *p, size_t size);	/* never NULL */
void *m_alloc(size_t pages);
void m_free(void *addr, size_t pages);
u32 m_live_pages(void);
int m_page_count(void *addr);
void m_get_page(void *addr);
void m_get_pages(void *addr, int nr);
void m_put_page(void *addr);
void m_put_pages(void *addr, int nr);	/* must not be the last ones */
bool m_is_table(const void *addr);	/* a live page-table page? */
void *m_phys_to_virt(u64 pa);
u64 m_virt_to_phys(const void *addr);
u64 m_pte_to_phys(u64 pte);
void m_topup(struct kvm_mmu_memory_cache *mc, int nr);
void m_drain(struct kvm_mmu_memory_cache *mc);

/* ---- RCU: callbacks run at m_grace_period() ---- */

void m_rcu_read_lock(void);
void m_rcu_read_unlock(void);
bool m_rcu_read_lock_held(void);
void m_call_rcu(void (*fn)(void *table, s8 level), void *table, s8 level);
void m_grace_period(void);

/* ---- hardware ---- */

void m_tlbi_all(void);
void m_tlbi_ipa(u64 ipa, int level);
void m_tlbi_range(u64 ipa, u64 size);
void m_tlbi_nsh(u64 ipa, int level);
void m_tlbi_stage1(const char *op, u64 addr, int level);
void m_dcache(void *addr, size_t size);
void m_icache(void *addr, size_t size);
void m_tlb_touch(u64 ipa);		/* a CPU caches what translates @ipa */
void m_tlb_check(const char *when);	/* nothing stale may be cached */
void m_tlb_flush(void);			/* forget everything (VMID freed) */
/* A CPU writes: by what the TLB has, if @tlb, else as the page table says */
bool m_hw_write(u64 ipa, bool tlb, u64 *pa, bool *stale);
/* Would the page table, or the TLB, let it? */
bool m_hw_writable(u64 ipa, bool tlb);
bool m_hw_access(u64 ipa, bool set_af);	/* walk as hardware does */

/* Ordering between threads comes from the atomics; the model is sequential */
static inline void m_barrier(void)
{
	__asm__ __volatile__("" : : : "memory");
}

#ifdef S2W_MODEL
extern void (*m_moment)(void);		/* called before each store of an entry */
void __m_pte_store(const u64 *ptep, u64 new);
#define m_pte_load(p)		__m_pte_load((const u64 *)(p))
void __m_pte_load(const u64 *ptep);
#define m_pte_store(p, new)	__m_pte_store((const u64 *)(p), (new))
void m_pte_race(u64 *ptep);
#else
#define m_pte_race(p)		((void)(p))
#define m_pte_load(p)		((void)(p))
#define m_pte_store(p, new)	((void)(p), (void)(new))
#endif

#endif
