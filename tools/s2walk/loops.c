// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loops around the walker, from one tree, and a model of those who get to run
 * while they do: a VM whose pages are written to and reported as dirty.
 *
 * loops.sh takes from mmu.c, kvm_main.c and dirty_ring.c, by name and unmodified,
 * what enables dirty logging, reports and clears dirty pages, resets dirty rings,
 * unmaps and ages.  At each point where others may run l_moment() lets them:
 *
 *  - with mmu_lock held: vCPUs access memory through whatever the TLB or the page
 *    table lets them, and finish faults by marking the page dirty;
 *  - without: vCPUs fault, too; the host unmaps and ages, with mmu_lock offered
 *    within that; another ioctl may run.
 *
 * Each page has a version, which each write increments, and a copy, which user
 * space takes when the page was reported.  No write may get lost: in the end,
 * after one last report, copies and pages must be the same.  And when an ioctl
 * returns, a page that isn't marked dirty must not be writable, neither by its
 * entry, nor by a TLB, nor in a shadow stage-2.
 */
#define S2W_LOOPS
#include "walker.c"

#ifndef _BITUL
#define _BITUL(nr)	(1UL << (nr))
#endif

/* The code under test; LOOPS_INC is made by loops.sh */
#include LOOPS_INC

#include FIND_BIT_C

#include "loops.h"

static struct kvm kvm;
static struct kvm_memory_slot slots[L_SLOTS];
static struct kvm_vcpu vcpus[L_VCPUS];
static struct l_stats stats;

static void l_count_topup(bool failed)
{
	stats.topups++;
	stats.failed_topups += failed;
}

static u64 l_gpa(const struct kvm_memory_slot *ms, u64 page)
{
	return (ms->base_gfn + page) << PAGE_SHIFT;
}

static int l_open(const struct s2w_config *cfg, u64 chunk)
{
	int ret = s2w_open(cfg);

	if (ret)
		return ret;
	/* The page table is the walker's, its MMU is this VM's */
	kvm = (struct kvm){
		.slots = slots, .vcpus = vcpus, .users_count = 1,
		.arch.mmu = { .arch = &kvm.arch, .pgt = &pgt, .vtcr = mmu.vtcr,
			      .split_page_chunk_size = chunk },
	};
	pgt.mmu = &kvm.arch.mmu;
	memset(slots, 0, sizeof(slots));
	return 0;
}

#ifdef S2W_MODEL

#define SHADOWS		2
#define MAX_SHADOW	64	/* pages that one shadow stage-2 maps */
#define MAX_HOT		18
#define LARGE		10000	/* pages: more runs of dirty words than KVM collects */
#define MAX_MOMENTS	1000	/* in an operation */
#define RING_BYTES	2048	/* 128 entries, of which 64 are reserved */
#define RING_ENTRIES	(RING_BYTES / 16)

struct place {
	int slot;
	u64 page;
};

/* A fault, or a write by KVM, that has yet to mark its page dirty */
struct pending {
	bool on;
	struct place at;
};

static struct {
	u64 rand;
	unsigned int flags, depth, rate, moments_left;
	bool active, ring, thp, hostile;
	bool dying, dead;	/* its process exits in the last operation */
	bool user_busy;
	u32 gen;

	/* Per page: version, user space's copy of it, and the frame behind it */
	u32 *mem[L_SLOTS], *copy[L_SLOTS];
	u16 *frame[L_SLOTS];
	unsigned long *todo[L_SLOTS];	/* reported, not yet cleared */
	struct place hot[MAX_HOT];
	int nr_hot;

	struct {
		struct pending pending;
		struct kvm_mmu_memory_cache mc;
		u32 fetch;		/* user space's index into the ring */
	} vcpu[L_VCPUS];
	struct pending kvm_write;

	/* What the MMU notifiers invalidate at the moment */
	struct {
		bool on;
		int slot;
		u64 start, end;
	} inv;

	/* Writable pages of the shadow stage-2s */
	struct {
		struct place at[MAX_SHADOW];
		int nr;
	} shadow[SHADOWS];
} vm;

static u64 rnd(void)
{
	vm.rand ^= vm.rand << 13;
	vm.rand ^= vm.rand >> 7;
	vm.rand ^= vm.rand << 17;
	return vm.rand * 0x2545f4914f6cdd1dULL >> 16;
}

#define trace(fmt, ...)							\
	do {								\
		if (vm.flags & L_TRACE)					\
			printf("# %*s" fmt "\n", vm.depth * 2, "",	\
			       ##__VA_ARGS__);				\
	} while (0)

static bool l_chance(unsigned int in)
{
	return vm.active && rnd() % in == 0;
}

static bool l_signal(void)
{
	bool signal = vm.flags & L_SIGNALS && l_chance(20);

	stats.signals += signal;
	return signal;
}

static bool test_page(const unsigned long *bitmap, u64 page)
{
	return bitmap[page / BITS_PER_LONG] >> page % BITS_PER_LONG & 1;
}

static struct place any_place(void)
{
	struct place at;

	if (rnd() % 8)
		return vm.hot[rnd() % vm.nr_hot];
	at.slot = rnd() % L_SLOTS;
	if (!slots[at.slot].npages)
		at.slot = 0;
	at.page = rnd() % slots[at.slot].npages;
	return at;
}

static bool same(struct place a, struct place b)
{
	return a.slot == b.slot && a.page == b.page;
}

static u64 host_pa(struct place at)
{
	return l_gpa(&slots[at.slot], at.page) |
	       (u64)vm.frame[at.slot][at.page] << 36;
}

static bool invalidating(struct place at, u64 nr)
{
	return vm.inv.on && vm.inv.slot == at.slot &&
	       vm.inv.start < at.page + nr && at.page < vm.inv.end;
}

/* ---- shadow stage-2s: what nested guests can write to ---- */

static bool shadow_maps(int k, struct place at)
{
	int i;

	for (i = 0; i < vm.shadow[k].nr; i++)
		if (same(vm.shadow[k].at[i], at))
			return true;
	return false;
}

static void kvm_nested_s2_wp(struct kvm *kvm)
{
	int k;

	lockdep_assert_held_write(&kvm->mmu_lock);
	for (k = 0; k < SHADOWS; k++) {
		vm.shadow[k].nr = 0;
		cond_resched_rwlock_write(&kvm->mmu_lock);
	}
}

static void kvm_nested_s2_unmap(struct kvm *kvm, bool may_block)
{
	int k;

	lockdep_assert_held_write(&kvm->mmu_lock);
	for (k = 0; k < SHADOWS; k++)
		vm.shadow[k].nr = 0;
}

/* ---- vCPUs ---- */

static void mark(struct kvm_vcpu *vcpu, struct pending *p)
{
	struct kvm_memory_slot *ms = &slots[p->at.slot];

	if (!p->on)
		return;
	trace("%s marks %d:%llu", vcpu ? "vCPU" : "KVM", p->at.slot,
	      (unsigned long long)p->at.page);
	p->on = false;
	l_running_vcpu = vcpu;
	mark_page_dirty_in_slot(&kvm, ms, ms->base_gfn + p->at.page);
	l_running_vcpu = NULL;
}

static void mark_all(void)
{
	int i;

	for (i = 0; i < L_VCPUS; i++)
		mark(&vcpus[i], &vm.vcpu[i].pending);
	mark(NULL, &vm.kvm_write);
}

static void wrote(struct place at, const char *by)
{
	trace("%s writes %d:%llu", by, at.slot, (unsigned long long)at.page);
	stats.writes++;
	vm.mem[at.slot][at.page]++;
}

/* As hardware does: by the TLB, maybe, else by the page table */
static bool hw_write(struct place at)
{
	u64 gpa = l_gpa(&slots[at.slot], at.page), pa;
	bool stale;

	if (!m_hw_write(gpa, rnd() % 4, &pa, &stale))
		return false;
	if (pa != host_pa(at) && !invalidating(at, 1))
		m_fail("write to %#llx reaches a frame that the host took back",
		       (unsigned long long)gpa);
	stats.stale_writes += stale;
	wrote(at, stale ? "vCPU, by a stale TLB entry," : "vCPU");
	return true;
}

/* The host has a huge page there, and the slot holds all of it */
static bool host_huge(struct place at, u64 *first)
{
	struct kvm_memory_slot *ms = &slots[at.slot];
	u64 nr = PMD_SIZE / PAGE_SIZE, gfn = ms->base_gfn + at.page, i;

	if (!vm.thp || ALIGN_DOWN(gfn, nr) < ms->base_gfn ||
	    ALIGN_DOWN(gfn, nr) + nr > ms->base_gfn + ms->npages)
		return false;
	*first = ALIGN_DOWN(gfn, nr) - ms->base_gfn;
	for (i = 1; i < nr; i++)
		if (vm.frame[at.slot][*first + i] != vm.frame[at.slot][*first])
			return false;
	return true;
}

/* What user_mem_abort() and kvm_s2_fault_map() come down to */
static void fault(int cpu, struct place at, bool write)
{
	struct kvm_memory_slot *ms = &slots[at.slot];
	struct kvm_mmu_memory_cache *mc = &vm.vcpu[cpu].mc;
	bool logging = memslot_is_logging(ms), writable;
	enum kvm_pgtable_prot prot = KVM_PGTABLE_PROT_R;
	u64 size = PAGE_SIZE, first = at.page;
	kvm_pte_t pte = 0;
	s8 level = 0;
	int ret;

	m_topup(mc, 5);
	if (!logging && host_huge(at, &first))
		size = PMD_SIZE;
	if (invalidating((struct place){ at.slot, first }, size / PAGE_SIZE))
		return;
	writable = write || !logging;
	if (writable)
		prot |= KVM_PGTABLE_PROT_W;

	stats.faults++;
	trace("vCPU %d faults at %d:%llu, %s, %s", cpu, at.slot,
	      (unsigned long long)at.page, write ? "write" : "read",
	      size == PAGE_SIZE ? "page" : "block");
	kvm.mmu_lock.held = -1;
	ret = kvm_pgtable_get_leaf(&pgt, l_gpa(ms, at.page), &pte, &level);
	if (!ret && kvm_pte_valid(pte) && kvm_granule_size(level) == size)
		ret = kvm_pgtable_stage2_relax_perms(&pgt, l_gpa(ms, at.page), prot,
						     KVM_PGTABLE_WALK_SHARED);
	else
		ret = kvm_pgtable_stage2_map(&pgt, l_gpa(ms, first), size,
					     host_pa((struct place){ at.slot, first }),
					     prot, mc, KVM_PGTABLE_WALK_SHARED);
	kvm.mmu_lock.held = 0;
	if (!ret && writable)
		vm.vcpu[cpu].pending = (struct pending){ true, at };
	else if (ret && ret != -EAGAIN)
		m_fail("fault at %#llx fails: %d",
		       (unsigned long long)l_gpa(ms, at.page), ret);
}

static void nested_write(int cpu, struct place at, bool may_fault)
{
	int k = rnd() % SHADOWS;

	if (shadow_maps(k, at)) {
		wrote(at, "nested vCPU");
	} else if (may_fault && !invalidating(at, 1) &&
		   vm.shadow[k].nr < MAX_SHADOW) {
		trace("nested vCPU %d faults at %d:%llu", cpu, at.slot,
		      (unsigned long long)at.page);
		vm.shadow[k].at[vm.shadow[k].nr++] = at;
		vm.vcpu[cpu].pending = (struct pending){ true, at };
	}
}

static void vcpu_runs(bool may_fault)
{
	int cpu = rnd() % L_VCPUS;
	struct pending *p = &vm.vcpu[cpu].pending;
	struct place at = any_place();

	if (p->on) {
		/* It isn't back in the guest */
		if (rnd() % 2)
			return;
		at = p->at;
		mark(&vcpus[cpu], p);
		if (rnd() % 4 == 0)
			return;
	}
	if (vm.ring && kvm_dirty_ring_soft_full(&vcpus[cpu].dirty_ring))
		return;
	if (rnd() % 8 == 0)
		nested_write(cpu, at, may_fault);
	else if (rnd() % 5 == 0 && may_fault)
		fault(cpu, at, false);
	else if (!hw_write(at) && may_fault)
		fault(cpu, at, true);
}

/* A vCPU writes to pages of a large slot that are runs of dirty words of their own */
static void vcpu_sweeps(void)
{
	struct pending *p = &vm.vcpu[0].pending;
	struct place at = { .page = rnd() % 600 };

	if (vm.ring || slots[0].npages < LARGE)
		return;
	for (; at.page < slots[0].npages && !vm.dead; at.page += 576) {
		mark(&vcpus[0], p);
		if (!hw_write(at))
			fault(0, at, true);
	}
	mark(&vcpus[0], p);
}

/* KVM itself writes, say for the interrupt controller: only a bitmap has that */
static void kvm_writes(void)
{
	if (vm.kvm_write.on) {
		mark(NULL, &vm.kvm_write);
		return;
	}
	vm.kvm_write = (struct pending){ true, any_place() };
	wrote(vm.kvm_write.at, "KVM");
}

/* ---- the host ---- */

static void host_runs(void)
{
	struct place at = any_place();
	struct kvm_memory_slot *ms = &slots[at.slot];
	static const u16 sizes[] = { 1, 3, 64, 512, 1500 };
	u64 nr = min(ms->npages - at.page, (u64)sizes[rnd() % 5]), i;
	struct kvm_gfn_range range = {
		.slot = ms,
		.start = ms->base_gfn + at.page,
		.end = ms->base_gfn + at.page + nr,
		.may_block = rnd() % 4,
	};

	if (vm.inv.on)
		return;
	/* All of the slot, so that tables above the last level go, too */
	if (rnd() % 4 == 0) {
		at.page = 0;
		nr = ms->npages;
		range.start = ms->base_gfn;
		range.end = range.start + nr;
	}
	stats.host_ops++;
	KVM_MMU_LOCK(&kvm);
	/* Another one may have come first */
	if (vm.inv.on) {
		KVM_MMU_UNLOCK(&kvm);
		return;
	}
	if (rnd() % 3 == 0) {
		trace("host ages %d:%llu+%llu", at.slot,
		      (unsigned long long)at.page, (unsigned long long)nr);
		kvm_age_gfn(&kvm, &range);
		KVM_MMU_UNLOCK(&kvm);
		return;
	}
	/* Unmaps: to reclaim, to move, to split a huge page, to make one */
	trace("host unmaps %d:%llu+%llu", at.slot, (unsigned long long)at.page,
	      (unsigned long long)nr);
	vm.inv.slot = at.slot;
	vm.inv.start = at.page;
	vm.inv.end = at.page + nr;
	vm.inv.on = true;
	kvm_unmap_gfn_range(&kvm, &range);
	KVM_MMU_UNLOCK(&kvm);
	vm.gen = (vm.gen + 1) % 1024;
	for (i = 0; i < nr; i++)
		vm.frame[at.slot][at.page + i] = vm.gen;
	vm.inv.on = false;
	trace("host has unmapped");
}

/* ---- user space ---- */

/* At the end of an ioctl: what isn't marked dirty isn't writable */
static void check_protected(const char *when)
{
	unsigned long *ring[L_SLOTS];
	bool all = rnd() % 4 == 0;
	u32 idx;
	u64 p;
	int i, k, s;

	if (!vm.active || vm.hostile || vm.dead)
		return;
	for (s = 0; s < L_SLOTS; s++)
		ring[s] = l_zalloc(slots[s].npages / 8 + sizeof(long));
	for (i = 0; vm.ring && i < L_VCPUS; i++) {
		struct kvm_dirty_ring *r = &vcpus[i].dirty_ring;

		for (idx = r->reset_index; idx != r->dirty_index; idx++) {
			struct kvm_dirty_gfn *e = &r->dirty_gfns[idx % r->size];

			for (s = 0; s < L_SLOTS; s++)
				if (slots[s].id == e->slot && slots[s].npages)
					set_bit_le(e->offset, ring[s]);
		}
	}
	for (i = 0; i < L_VCPUS; i++)
		if (vm.vcpu[i].pending.on)
			set_bit_le(vm.vcpu[i].pending.at.page,
				   ring[vm.vcpu[i].pending.at.slot]);

	for (s = 0; s < L_SLOTS; s++) {
		if (!slots[s].dirty_bitmap)
			continue;
		for (p = 0; p < slots[s].npages; p++) {
			struct place at = { s, p };
			const char *how = NULL;
			bool hot = false;

			for (i = 0; i < vm.nr_hot; i++)
				hot |= same(at, vm.hot[i]);
			if (!hot && !all)
				continue;
			if (test_page(slots[s].dirty_bitmap, p) ||
			    test_page(ring[s], p))
				continue;
			if (m_hw_writable(l_gpa(&slots[s], p), false))
				how = "is writable";
			else if (hot && m_hw_writable(l_gpa(&slots[s], p), true))
				how = "is writable by the TLB";
			for (k = 0; hot && k < SHADOWS; k++)
				if (shadow_maps(k, at))
					how = "is writable by a nested guest";
			if (how)
				m_fail("after %s: page %llu of slot %d %s and not marked dirty",
				       when, (unsigned long long)p, s, how);
		}
	}
	for (s = 0; s < L_SLOTS; s++)
		free(ring[s]);
}

static void copy_page(int s, u64 page)
{
	stats.reported++;
	vm.copy[s][page] = vm.mem[s][page];
}

static void get_log(int s, bool last)
{
	struct kvm_memory_slot *ms = &slots[s];
	size_t n = kvm_dirty_bitmap_bytes(ms);
	unsigned long *bitmap = l_zalloc(n);
	struct kvm_dirty_log log = { .slot = ms->id, .dirty_bitmap = bitmap };
	u64 p;
	int ret;

	trace("GET slot %d", s);
	mutex_lock(&kvm.slots_lock);
	ret = kvm_get_dirty_log_protect(&kvm, &log);
	mutex_unlock(&kvm.slots_lock);
	if (ret)
		m_fail("KVM_GET_DIRTY_LOG: %d", ret);
	check_protected("KVM_GET_DIRTY_LOG");
	for (p = 0; p < n * 8; p++) {
		if (!test_page(bitmap, p))
			continue;
		if (p >= ms->npages)
			m_fail("page %llu is reported of a slot of %lu",
			       (unsigned long long)p, ms->npages);
		else if (kvm.manual_dirty_log_protect && !last)
			vm.todo[s][p / BITS_PER_LONG] |= BIT(p % BITS_PER_LONG);
		else
			copy_page(s, p);
	}
	trace("GET slot %d returns", s);
	free(bitmap);
}

static void clear_log(int s)
{
	struct kvm_memory_slot *ms = &slots[s];
	u64 words = DIV_ROUND_UP(ms->npages, BITS_PER_LONG), first, nr, i, p;
	unsigned long *bitmap;
	struct kvm_clear_dirty_log log = { .slot = ms->id };
	int ret;

	first = rnd() % 3 ? 0 : rnd() % words;
	nr = rnd() % 3 ? words - first : 1 + rnd() % (words - first);
	log.first_page = first * BITS_PER_LONG;
	log.num_pages = min(nr * BITS_PER_LONG, ms->npages - log.first_page);
	bitmap = l_zalloc(nr * sizeof(long));
	for (i = 0; i < nr; i++) {
		bitmap[i] = vm.todo[s][first + i];
		if (rnd() % 4 == 0)
			bitmap[i] &= rnd() | rnd() << 24;
	}
	log.dirty_bitmap = bitmap;
	trace("CLEAR slot %d: %llu+%u", s, (unsigned long long)log.first_page,
	      log.num_pages);
	mutex_lock(&kvm.slots_lock);
	ret = kvm_clear_dirty_log_protect(&kvm, &log);
	mutex_unlock(&kvm.slots_lock);
	if (ret)
		m_fail("KVM_CLEAR_DIRTY_LOG: %d", ret);
	check_protected("KVM_CLEAR_DIRTY_LOG");
	for (p = 0; p < log.num_pages; p++)
		if (test_page(bitmap, p))
			copy_page(s, log.first_page + p);
	for (i = 0; i < nr; i++)
		vm.todo[s][first + i] &= ~bitmap[i];
	trace("CLEAR slot %d returns", s);
	free(bitmap);
}

static void reset_rings(void)
{
	struct place got[L_VCPUS * RING_ENTRIES];
	int nr = 0, done = 0, cpu, i, s, r, tries;

	for (cpu = 0; cpu < L_VCPUS; cpu++) {
		struct kvm_dirty_ring *ring = &vcpus[cpu].dirty_ring;
		int limit = rnd() % 2 ? RING_ENTRIES : rnd() % 8;

		while (limit--) {
			struct kvm_dirty_gfn *e =
				&ring->dirty_gfns[vm.vcpu[cpu].fetch % RING_ENTRIES];

			if ((e->flags & KVM_DIRTY_GFN_F_MASK) != KVM_DIRTY_GFN_F_DIRTY)
				break;
			for (s = 0; s < L_SLOTS - 1 && slots[s].id != e->slot; s++)
				;
			got[nr++] = (struct place){ s, e->offset };
			if (vm.hostile && rnd() % 4 == 0) {
				e->offset = rnd() << rnd() % 24;
				e->slot = rnd() % 2 ? slots[0].id : rnd();
			}
			e->flags = KVM_DIRTY_GFN_F_RESET;
			vm.vcpu[cpu].fetch++;
			l_moment();
		}
	}
	trace("RESET %d entries", nr);
	/* A signal may interrupt: the pages must not be looked at before the end */
	for (tries = 0; done < nr; tries++) {
		r = kvm_vm_ioctl_reset_dirty_pages(&kvm);
		if (r < 0 || tries > 10 * nr + 100) {
			m_fail("KVM_RESET_DIRTY_RINGS: %d", r);
			return;
		}
		done += r;
	}
	if (done != nr)
		m_fail("KVM_RESET_DIRTY_RINGS: %d entries of %d", done, nr);
	check_protected("KVM_RESET_DIRTY_RINGS");
	for (i = 0; i < nr; i++)
		copy_page(got[i].slot, got[i].page);
	trace("RESET returns");
}

static void user_runs(void)
{
	int s = rnd() % L_SLOTS;

	if (vm.user_busy)
		return;
	vm.user_busy = true;
	stats.ioctls++;
	if (vm.ring && rnd() % 4)
		reset_rings();
	else if (slots[s].dirty_bitmap && kvm.manual_dirty_log_protect && rnd() % 2)
		clear_log(s);
	else if (slots[s].dirty_bitmap)
		get_log(s, false);
	vm.user_busy = false;
}

/* Not while anything else goes on: SRCU and slots_lock see to that */
static void set_logging(int s, bool on)
{
	struct kvm_memory_slot *ms = &slots[s], old = *ms;
	size_t bytes = kvm_dirty_bitmap_bytes(ms);
	bool all = kvm_dirty_log_manual_protect_and_init_set(&kvm);
	u64 p;

	if (!ms->npages || on == !!ms->dirty_bitmap)
		return;
	trace("logging %s for slot %d", on ? "on" : "off", s);
	stats.ioctls++;
	vm.user_busy = true;
	mark_all();
	if (on) {
		ms->dirty_bitmap = l_zalloc(2 * bytes);
		ms->flags |= KVM_MEM_LOG_DIRTY_PAGES;
		if (all)
			for (p = 0; p < ms->npages; p++)
				set_bit_le(p, ms->dirty_bitmap);
	} else if (vm.ring) {
		/* User space has to have seen to all entries before */
		do {
			reset_rings();
		} while (kvm_dirty_ring_used(&vcpus[0].dirty_ring) ||
			 kvm_dirty_ring_used(&vcpus[1].dirty_ring) ||
			 kvm_dirty_ring_used(&vcpus[2].dirty_ring));
	}
	if (!on) {
		mark_all();
		free(ms->dirty_bitmap);
		ms->dirty_bitmap = NULL;
		ms->flags &= ~KVM_MEM_LOG_DIRTY_PAGES;
	}
	mutex_lock(&kvm.slots_lock);
	kvm_arch_commit_memory_region(&kvm, &old, ms, KVM_MR_FLAGS_ONLY);
	mutex_unlock(&kvm.slots_lock);
	memset(vm.todo[s], 0, bytes);
	if (on)
		check_protected("enabling dirty logging");
	/* From now on what isn't reported must be as it was copied here */
	for (p = 0; on && p < ms->npages; p++)
		vm.copy[s][p] = all ? ~0U : vm.mem[s][p];
	vm.user_busy = false;
	trace("logging is %s", on ? "on" : "off");
}

/* ---- who else runs ---- */

/* As kvm_free_stage2_pgd(): who has dropped the lock finds no page table again */
static void tear_down(void)
{
	u64 walks = 0;

	trace("teardown");
	kvm.arch.mmu.pgt = NULL;
	vm.dead = true;
	m_grace_period();
	destroy_pgt(&walks);
}

static void others_run(void)
{
	bool may_fault = !kvm.mmu_lock.held;
	unsigned int what = rnd() % 64;

	if (vm.dead)
		return;
	if (may_fault && vm.dying && what == 63) {
		tear_down();
		return;
	}
	if (may_fault && rnd() % 4 == 0)
		m_grace_period();
	if (may_fault && what < 2)
		host_runs();
	else if (may_fault && what < 3)
		user_runs();
	else if (what < 8)
		kvm_writes();
	else
		vcpu_runs(may_fault);
}

/* More rarely the deeper: what runs in a moment has moments, too */
static void moment(unsigned int rate)
{
	int n;

	if (!vm.active || vm.depth >= 4 || !vm.moments_left ||
	    rnd() % (rate << 3 * vm.depth))
		return;
	vm.moments_left--;
	stats.moments++;
	vm.depth++;
	for (n = 1 + rnd() % 4; n; n--)
		others_run();
	vm.depth--;
}

static void l_moment(void)
{
	moment(vm.rate);
}

/* Within a walk, just before it changes an entry */
static void walk_moment(void)
{
	moment(vm.rate * 16);
}

static void add_hot(int s, u64 page)
{
	if (slots[s].npages && page < slots[s].npages && vm.nr_hot < MAX_HOT)
		vm.hot[vm.nr_hot++] = (struct place){ s, page };
}

static void make_slot(int s, u64 gfn)
{
	struct kvm_memory_slot *ms = &slots[s];
	u64 size = rnd() % 8, nr, i;

	nr = size < 2 ? 1 + rnd() % 130 : size < 6 ? 1 + rnd() % 1600 :
						     1 + rnd() % 5000;
	if (!s && rnd() % 8 == 0)
		nr = LARGE + rnd() % 4000;
	ms->npages = nr;
	switch (rnd() % 4) {
	case 0:
		ms->base_gfn = gfn;
		break;
	case 1:
		ms->base_gfn = gfn + rnd() % 600;
		break;
	default:		/* across what a table at level 1 maps */
		ms->base_gfn = gfn - rnd() % nr;
	}
	/* Slots whose parts of the ring's bitmaps share a place, at times */
	ms->id = s ? 1 + rnd() % 2000 : 0;
	vm.mem[s] = l_zalloc(nr * sizeof(u32));
	vm.copy[s] = l_zalloc(nr * sizeof(u32));
	vm.frame[s] = l_zalloc(nr * sizeof(u16));
	vm.todo[s] = l_zalloc(nr / 8 + 2 * sizeof(long));
	add_hot(s, 0);
	add_hot(s, nr - 1);
	if (gfn > ms->base_gfn)
		add_hot(s, gfn - ms->base_gfn);
	for (i = 0; i < 3; i++) {
		u64 page = rnd() % nr;

		add_hot(s, page);
		add_hot(s, rnd() % 2 ? page + 1 :
			   ALIGN_DOWN(page, rnd() % 2 ? 64 : 512) - rnd() % 2);
	}
}

#ifdef KVM_DIRTY_RING_PART_SIZE
/* An ID for a slot so that both use the same places when a ring is reset */
static void make_ids_collide(void)
{
	u32 h0 = hash_32(slots[0].id, 10), id;

	for (id = 1; id < 32000; id++)
		if (hash_32(id, 10) == h0)
			slots[1].id = id;
}
#else
static void make_ids_collide(void)
{
}
#endif

static void start_vm(u64 seed, unsigned int flags)
{
	static const u64 manual[] = {
		0, KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE,
		KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE | KVM_DIRTY_LOG_INITIALLY_SET,
	};
	static const u8 rates[] = { 1, 2, 4, 16 };
	struct s2w_config cfg = { .ia_bits = 40 };
	u64 chunks[] = { 0, PAGE_SIZE, kvm_granule_size(2), kvm_granule_size(1) };
	u64 chunk;
	int i;

	memset(&vm, 0, sizeof(vm));
	vm.rand = seed * 0x9e3779b97f4a7c15ULL + 88172645463325252ULL;
	vm.flags = flags;
	for (i = 0; i < 8; i++)
		rnd();
	cfg.fwb = rnd() % 2;
	cfg.tlb_range = rnd() % 2;
	cfg.xnx = rnd() % 2;
	chunk = chunks[rnd() % 8 == 0 ? 3 : rnd() % 3];
	if (l_open(&cfg, chunk)) {
		m_fail("no page table");
		return;
	}
	vm.rate = rates[rnd() % 4];
	vm.ring = rnd() % 3 == 0;
	vm.thp = rnd() % 4;
	/* User space that writes nonsense to rings has itself to blame, but no more */
	vm.hostile = vm.ring && rnd() % 8 == 0;
	kvm.manual_dirty_log_protect = manual[rnd() % (vm.ring ? 2 : 3)];
	kvm.dirty_ring_with_bitmap = vm.ring;
	make_slot(0, 1UL << 18);
	if (rnd() % 2)
		make_slot(1, 1UL << 19);
	if (slots[1].npages && rnd() % 2)
		make_ids_collide();
	for (i = 0; i < L_VCPUS; i++) {
		vcpus[i] = (struct kvm_vcpu){ .kvm = &kvm };
		if (vm.ring)
			kvm_dirty_ring_alloc(&kvm, &vcpus[i].dirty_ring, i,
					     RING_BYTES);
	}
	if (vm.ring) {
#ifdef S2W_HAVE_RING_INIT
		kvm_dirty_ring_init_vm(&kvm);
#endif
		kvm.dirty_ring_size = RING_BYTES;
	}
	trace("VM %llu: %lu + %lu pages, chunk %llu, manual %llu%s%s",
	      (unsigned long long)seed, slots[0].npages, slots[1].npages,
	      (unsigned long long)chunk,
	      (unsigned long long)kvm.manual_dirty_log_protect,
	      vm.hostile ? ", hostile ring" : vm.ring ? ", ring" : "", vm.thp ? ", THP" : "");
	m_moment = walk_moment;
}

/* Report what is left, then compare */
static void last_round(void)
{
	int s, used, i;
	u64 p;

	mark_all();
	vm.active = false;
	do {
		for (i = used = 0; vm.ring && i < L_VCPUS; i++)
			used += kvm_dirty_ring_used(&vcpus[i].dirty_ring);
		if (used)
			reset_rings();
	} while (used && !m_violation());
	for (s = 0; s < L_SLOTS; s++) {
		if (!slots[s].dirty_bitmap)
			continue;
		get_log(s, true);
		for (p = 0; p < slots[s].npages; p++) {
			if (vm.copy[s][p] != vm.mem[s][p] && !vm.hostile) {
				m_fail("lost: page %llu of slot %d was written to and not reported",
				       (unsigned long long)p, s);
				break;
			}
		}
	}
}

static void stop_vm(void)
{
	struct tree_scan scan = { 0 };
	u64 walks = 0;
	int i;

	m_moment = NULL;
	vm.active = false;
	if (!vm.dead) {
		m_grace_period();
		scan_tree(&scan);
		destroy_pgt(&walks);
	}
	m_drain(&kvm.arch.mmu.split_page_cache);
	for (i = 0; i < L_VCPUS; i++) {
		m_drain(&vm.vcpu[i].mc);
		kvm_dirty_ring_free(&vcpus[i].dirty_ring);
	}
#ifdef S2W_HAVE_RING_INIT
	kvm_dirty_ring_destroy_vm(&kvm);
#endif
	for (i = 0; i < L_SLOTS; i++) {
		free(slots[i].dirty_bitmap);
		free(vm.mem[i]);
		free(vm.copy[i]);
		free(vm.frame[i]);
		free(vm.todo[i]);
	}
	m_grace_period();
	if (m_live_pages() && !m_violation())
		m_fail("%u page-table pages leaked", m_live_pages());
	m_forget();
}

static const char *l_run(uint64_t seed, unsigned int flags)
{
	static char text[300];
	u64 focus[MAX_HOT];
	int ops, i;

	stats.vms++;
	start_vm(seed, flags);
	for (i = 0; i < vm.nr_hot; i++)
		focus[i] = l_gpa(&slots[vm.hot[i].slot], vm.hot[i].page);
	for (ops = 8 + rnd() % 24; ops && !m_violation() && !vm.dead; ops--) {
		unsigned int what = rnd() % 16;

		m_op_begin(focus, vm.nr_hot);
		vm.active = true;
		vm.moments_left = MAX_MOMENTS;
		vm.dying = ops == 1 && rnd() % 4 == 0;
		for (i = rnd() % 24; i; i--)
			others_run();
		if (rnd() % 2)
			vcpu_sweeps();
		if (vm.dead)
			break;
		if (what < 2)
			set_logging(rnd() % L_SLOTS, false);
		else if (what < 7)
			set_logging(rnd() % L_SLOTS, true);
		else if (what < 9)
			host_runs();
		else
			user_runs();
		vm.active = false;
		m_grace_period();
		if (kvm.mmu_lock.held)
			m_fail("mmu_lock is still held");
		m_tlb_check("between two operations");
		m_op_end();
	}
	if (!m_violation() && !vm.dead) {
		m_op_begin(focus, vm.nr_hot);
		last_round();
		m_op_end();
	}
	stop_vm();
	if (!m_violation())
		return NULL;
	snprintf(text, sizeof(text), "%s", m_violation());
	return text;
}

#else /* !S2W_MODEL */

static void l_moment(void) {}
static bool l_chance(unsigned int in) { return false; }
static bool l_signal(void) { return false; }
static void kvm_nested_s2_wp(struct kvm *kvm) {}
static void kvm_nested_s2_unmap(struct kvm *kvm, bool may_block) {}

static unsigned long *user_bitmap;

static int bench_prepare(uint64_t size, int level, uint64_t chunk, int manual)
{
	struct s2w_config cfg = { .ia_bits = 48, .fwb = true, .tlb_range = true };
	size_t bytes = size / PAGE_SIZE / 8;
	int ret;

	m_drain(&kvm.arch.mmu.split_page_cache);
	m_forget();
	free(slots[0].dirty_bitmap);
	free(user_bitmap);
	ret = l_open(&cfg, chunk);
	if (ret)
		return ret;
	slots[0] = (struct kvm_memory_slot){
		.base_gfn = SZ_1G >> PAGE_SHIFT,
		.npages = size / PAGE_SIZE,
		.flags = KVM_MEM_LOG_DIRTY_PAGES,
		.dirty_bitmap = l_zalloc(2 * bytes),
	};
	user_bitmap = l_zalloc(bytes);
	kvm.manual_dirty_log_protect = manual;
	kvm.slots_lock.held = true;
	bench_map(SZ_1G, size, level);
	/* Filling the cache is not to be timed */
	if (chunk && level < KVM_PGTABLE_LAST_LEVEL)
		m_topup(&kvm.arch.mmu.split_page_cache,
			size / kvm_granule_size(2) + 2 + 2 * 513);
	return 0;
}

/* The guest has written to these pages, and user space has read that */
static void bench_mark(const unsigned long *dirty)
{
	size_t words = slots[0].npages / BITS_PER_LONG, i;

	memcpy(slots[0].dirty_bitmap, dirty, words * sizeof(long));
	memcpy(user_bitmap, dirty, words * sizeof(long));
	for (i = 0; i < words; i++) {
		unsigned long mask = dirty[i];

		for (; mask; mask &= mask - 1) {
			u64 ipa = l_gpa(&slots[0], i * BITS_PER_LONG + __ffs(mask));
			kvm_pte_t pte = 0, *table;
			s8 level = 0;

			/* Blocks are mapped anew for each run */
			kvm_pgtable_get_leaf(&pgt, ipa, &pte, &level);
			if (level != KVM_PGTABLE_LAST_LEVEL)
				return;
			table = bench_table(ipa, level);
			table[(ipa >> PAGE_SHIFT) & (PTRS_PER_PTE - 1)] |=
				KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W;
		}
	}
}

static uint64_t bench_warm(void)
{
	size_t words = slots[0].npages / BITS_PER_LONG, i;
	uint64_t sum;

	sum = bench_touch(SZ_1G, slots[0].npages << PAGE_SHIFT, S2W_TOUCH_READ);
	for (i = 0; i < words; i++)
		sum += slots[0].dirty_bitmap[i] + slots[0].dirty_bitmap[words + i] +
		       user_bitmap[i];
	return sum;
}

static int bench_get(void)
{
	struct kvm_dirty_log log = { .dirty_bitmap = user_bitmap };
	int ret = kvm_get_dirty_log_protect(&kvm, &log);

	return m_violation() ? -EINVAL : ret;
}

static int bench_clear(void)
{
	struct kvm_clear_dirty_log log = {
		.dirty_bitmap = user_bitmap, .num_pages = slots[0].npages,
	};
	int ret = kvm_clear_dirty_log_protect(&kvm, &log);

	return m_violation() ? -EINVAL : ret;
}

#endif

const struct l_tree L_TREE __attribute__((visibility("default"))) = {
	.name		= S2W_NAME,
	.stats		= &stats,
#ifdef S2W_MODEL
	.run		= l_run,
#else
	.bench_prepare	= bench_prepare,
	.bench_mark	= bench_mark,
	.bench_warm	= bench_warm,
	.bench_get	= bench_get,
	.bench_clear	= bench_clear,
#endif
};
