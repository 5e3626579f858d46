/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the loops of mmu.c, kvm_main.c and dirty_ring.c want from the rest of the
 * kernel.  Wherever somebody else may run, they call l_moment() of loops.c: a lock is
 * offered, taken or released, user memory is accessed, bits are taken.
 */
#ifndef S2WALK_LOOPS_HOST_H
#define S2WALK_LOOPS_HOST_H

#include <stdlib.h>
#include <linux/hash.h>
#include <linux/log2.h>

typedef u64 gfn_t;

/* mmu_lock */
struct rwlock {
	int held;		/* 1: for write, -1: for read */
};

/* slots_lock */
struct mutex {
	bool held;		/* by the only thread that there is */
};

struct kvm_memory_slot {
	gfn_t base_gfn;
	unsigned long npages;
	unsigned long *dirty_bitmap;
	u32 flags;
	u16 id, as_id;
};

struct kvm_memslots;		/* really an array of L_SLOTS memslots */

struct kvm;

struct kvm_vcpu {
	struct kvm *kvm;
	struct kvm_dirty_ring dirty_ring;
};

#define L_SLOTS		2
#define L_VCPUS		3

struct kvm_dirty_ring_gather;

struct kvm {
	struct rwlock mmu_lock;
	struct mutex slots_lock;		/* taken by ioctls */
	struct kvm_memory_slot *slots;		/* L_SLOTS of them */
	struct kvm_vcpu *vcpus;			/* L_VCPUS of them */
	int users_count;
	u64 manual_dirty_log_protect;
	u32 dirty_ring_size;
	bool dirty_ring_with_bitmap;
	struct kvm_dirty_ring_gather *dirty_ring_gather;
	struct {
		struct {
			u64 remote_tlb_flush, remote_tlb_flush_requests;
		} generic;
	} stat;
	struct kvm_arch arch;
};

struct kvm_gfn_range {
	struct kvm_memory_slot *slot;
	gfn_t start, end;
	bool may_block;
};

struct kvm_dirty_log {
	u32 slot;
	void *dirty_bitmap;
};

struct kvm_clear_dirty_log {
	u32 slot, num_pages;
	u64 first_page;
	void *dirty_bitmap;
};

enum kvm_mr_change { KVM_MR_CREATE, KVM_MR_DELETE, KVM_MR_MOVE, KVM_MR_FLAGS_ONLY };

/* ---- chance, and who else runs ---- */

static void l_moment(void);
static bool l_chance(unsigned int in);	/* one in so many */
static void l_count_topup(bool failed);

static inline void l_write_lock(struct rwlock *lock)
{
	l_moment();
	if (lock->held)
		m_fail("mmu_lock taken twice");
	lock->held = 1;
}

static inline void l_write_unlock(struct rwlock *lock)
{
	if (lock->held != 1)
		m_fail("mmu_lock released that is not held");
	lock->held = 0;
	l_moment();
}

static inline bool l_resched_write(struct rwlock *lock)
{
	if (lock->held != 1)
		m_fail("mmu_lock offered that is not held");
	if (!l_chance(3))
		return false;
	l_write_unlock(lock);
	l_write_lock(lock);
	return true;
}

static inline void l_mutex(struct mutex *m, bool lock)
{
	if (m->held == lock)
		m_fail("slots_lock %s twice", lock ? "taken" : "released");
	m->held = lock;
}

static inline struct rwlock *l_guard(struct rwlock *lock)
{
	l_write_lock(lock);
	return lock;
}

static inline void l_unguard(struct rwlock **lock)
{
	l_write_unlock(*lock);
}

#define write_lock(lock)	l_write_lock(lock)
#define write_unlock(lock)	l_write_unlock(lock)
#define guard(what)		guard_##what
#define guard_write_lock(lock)						\
	struct rwlock *__guard __attribute__((cleanup(l_unguard), unused)) = \
		l_guard(lock)
#define KVM_MMU_LOCK(kvm)	l_write_lock(&(kvm)->mmu_lock)
#define KVM_MMU_UNLOCK(kvm)	l_write_unlock(&(kvm)->mmu_lock)
#define cond_resched_rwlock_write(lock)	l_resched_write(lock)
#define mutex_lock(m)		l_mutex(m, true)
#define mutex_unlock(m)		l_mutex(m, false)
#define cond_resched()		l_moment()
#define need_resched()		l_chance(6)
#define rwlock_needbreak(lock)	l_chance(6)
#define current			0
#define signal_pending(task)	((void)(task), l_signal())

static bool l_signal(void);

#undef lockdep_assert_held_write
#undef lockdep_assert_held
#define lockdep_assert_held_write(lock)					\
	((lock)->held == 1 ? (void)0 : m_fail("%s: lock not held", __func__))
#define lockdep_assert_held(lock)					\
	((lock)->held ? (void)0 : m_fail("%s: lock not held", __func__))

/* ---- atomics and user memory ---- */

#undef xchg
#define xchg(p, new)							\
	({								\
		l_moment();						\
		__atomic_exchange_n((p), (new), __ATOMIC_SEQ_CST);	\
	})

static inline long atomic_long_fetch_andnot(long mask, atomic_long_t *p)
{
	l_moment();
	return __atomic_fetch_and(&p->counter, ~mask, __ATOMIC_SEQ_CST);
}

#undef smp_load_acquire
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define refcount_read(p)	(*(p))
#define set_bit_le(nr, p)	\
	((void)__atomic_fetch_or(&(p)[(nr) / BITS_PER_LONG],	\
				 BIT((nr) % BITS_PER_LONG), __ATOMIC_SEQ_CST))

static inline unsigned long l_copy(void *to, const void *from, size_t n)
{
	l_moment();
	memcpy(to, from, n);
	l_moment();
	return 0;
}

#define copy_to_user(to, from, n)	l_copy(to, from, n)
#define copy_from_user(to, from, n)	l_copy(to, from, n)

/* tools/include's wants equal types, the kernel's is content with a constant */
#undef min
#define min(a, b)							\
	({								\
		typeof((a) + (b)) __a = (a), __b = (b);			\
									\
		__a < __b ? __a : __b;					\
	})

/* ---- memory ---- */

static inline void *l_zalloc(size_t size)
{
	return memset(m_realloc(NULL, size), 0, size);
}

#define vzalloc(size)			l_zalloc(size)
#define kvzalloc_obj(obj, gfp)		((typeof(obj) *)l_zalloc(sizeof(obj)))
#define vfree(p)			free(p)
#define kvfree(p)			free(p)

#define kvm_mmu_memory_cache_nr_free_objects(mc)	((mc)->nobjs)
#define kvm_mmu_free_memory_cache(mc)			m_drain(mc)

/* Fails at times, with some of the pages or none */
static inline int __kvm_mmu_topup_memory_cache(struct kvm_mmu_memory_cache *mc,
					       int capacity, int min)
{
	bool fail = l_chance(4);

	l_count_topup(fail);
	l_moment();
	m_topup(mc, fail && capacity ? capacity / 2 : capacity);
	return fail ? -ENOMEM : 0;
}

/* ---- the machine ---- */

#define is_protected_kvm_enabled()	false
#define kvm_call_hyp_nvhe(fn, ...)	((void)0)
#define kvm_vm_is_protected(kvm)	((void)(kvm), false)
#define KVM_PGT_FN(fn)			fn
#define kvm_s2_mmu_to_kvm(mmu)		container_of((mmu)->arch, struct kvm, arch)
#define kvm_make_all_cpus_request(kvm, req)	((void)(kvm), false)
#define KVM_REQ_TLB_FLUSH		0
#define KVM_REQ_DIRTY_RING_SOFT_FULL	1
#define kvm_make_request(req, vcpu)	((void)(vcpu))
#define trace_kvm_dirty_ring_reset(ring)		((void)(ring))
#define trace_kvm_dirty_ring_push(ring, slot, offset)	((void)(ring))

static void kvm_nested_s2_wp(struct kvm *kvm);
void kvm_flush_remote_tlbs_memslot(struct kvm *kvm,
				   const struct kvm_memory_slot *memslot);
static void kvm_nested_s2_unmap(struct kvm *kvm, bool may_block);

/* ---- memslots and vCPUs ---- */

#define KVM_USER_MEM_SLOTS		32767
#define CONFIG_HAVE_KVM_DIRTY_RING	1
#define kvm_arch_nr_memslot_as_ids(kvm)	1
#define kvm_memslots(kvm)		((struct kvm_memslots *)(kvm)->slots)
#define __uninitialized
#define __kvm_memslots(kvm, as_id)	kvm_memslots(kvm)
#define kvm_arch_sync_dirty_log(kvm, slot)	l_moment()
#define kvm_cpu_dirty_log_size(kvm)	0
#define kvm_arch_allow_write_without_running_vcpu(kvm)	true
#define kvm_get_running_vcpu()		l_running_vcpu
#define kvm_for_each_vcpu(i, vcpu, kvm)	\
	for ((i) = 0; (i) < L_VCPUS && ((vcpu) = &(kvm)->vcpus[i]); (i)++)

static struct kvm_vcpu *l_running_vcpu;

static inline struct kvm_memory_slot *
id_to_memslot(struct kvm_memslots *memslots, int id)
{
	struct kvm_memory_slot *slots = (struct kvm_memory_slot *)memslots;
	int i;

	for (i = 0; i < L_SLOTS; i++)
		if (slots[i].npages && slots[i].id == id)
			return &slots[i];
	return NULL;
}

#endif
