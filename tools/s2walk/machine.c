// SPDX-License-Identifier: GPL-2.0-only
/*
 * The machine that the walker runs on; see machine.h.
 *
 * The software TLB holds what a CPU *may* hold: before each operation, and before
 * each change of a valid entry that translates one, an adversarial CPU walks to
 * every "focus" address and caches both the leaf and each table entry on the
 * way there.  An entry leaves the TLB only by an invalidation that the
 * architecture promises to remove it:
 *
 *  - by IPA with a level hint: the leaf of that level.  Table entries ("walk
 *    cache") stay: be as mean as the architecture allows;
 *  - by IPA without a hint, or by range: every entry that translates it;
 *  - local (nsh) invalidations: nothing, since the entry is on another CPU.
 */
#define _GNU_SOURCE
#include <linux/kvm_host.h>
#include <asm/kvm_pgtable.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define S2W_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define S2W_ASAN 1
#endif
#endif
#ifdef S2W_ASAN
#include <sanitizer/asan_interface.h>
#define poison(p, len)		ASAN_POISON_MEMORY_REGION(p, len)
#define unpoison(p, len)	ASAN_UNPOISON_MEMORY_REGION(p, len)
#else
#define poison(p, len)		((void)0)
#define unpoison(p, len)	((void)0)
#endif

#ifndef S2W_ARENA_BYTES
#define S2W_ARENA_BYTES		(48UL << 20)
#endif
#define NR_PAGES		(S2W_ARENA_BYTES >> PAGE_SHIFT)

/* As in the kernel, a cache line of metadata for each page */
struct page {
	int refcount;
} __attribute__((aligned(64)));

struct m_cpu m_cpu;
struct m_root m_root;
struct m_op m_op;
struct m_race m_race;
unsigned int m_warnings;

static char *arena;
static struct page *pages;
static size_t cursor;			/* next fit */
static u32 live_pages;
static char violation[256];

static pthread_mutex_t alloc_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- reporting ---- */

void m_fail(const char *fmt, ...)
{
	va_list ap;

	if (violation[0])
		return;
	va_start(ap, fmt);
	vsnprintf(violation, sizeof(violation), fmt, ap);
	va_end(ap);
}

void m_warn(const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');

	m_warnings++;
	m_fail("WARN at %s:%d: %s", base ? base + 1 : file, line, what);
}

void m_reset_violation(void)
{
	violation[0] = '\0';
	m_warnings = 0;
}

const char *m_violation(void)
{
	return violation[0] ? violation : NULL;
}

/* ---- pages ---- */

static size_t page_index(const void *addr)
{
	return ((const char *)addr - arena) >> PAGE_SHIFT;
}

static bool in_arena(const void *addr)
{
	return (const char *)addr >= arena &&
	       (const char *)addr < arena + S2W_ARENA_BYTES;
}

static int page_count(size_t idx)
{
	return __atomic_load_n(&pages[idx].refcount, __ATOMIC_RELAXED);
}

bool m_is_table(const void *addr)
{
	return in_arena(addr) && page_count(page_index(addr)) > 0;
}

/* Tables live at the very top of physical memory: all address bits are used. */
static u64 arena_pa(void)
{
	bool pa52 = m_cpu.lpa2 || PAGE_SHIFT == 16;

	return BIT(pa52 ? 52 : 48) - S2W_ARENA_BYTES;
}

void *m_phys_to_virt(u64 pa)
{
	/* Guest memory has addresses, too, though nobody may follow them */
	return (void *)((uintptr_t)arena + (pa - arena_pa()));
}

u64 m_virt_to_phys(const void *addr)
{
	return arena_pa() + ((uintptr_t)addr - (uintptr_t)arena);
}

u64 m_pte_to_phys(u64 pte)
{
	return kvm_pte_to_phys(pte);
}

void *m_alloc(size_t nr)
{
	size_t start, i, tries = 0;
	void *addr;

	pthread_mutex_lock(&alloc_lock);
	/* Don't reuse at once what was freed, nor walk through all memory */
	if (cursor > 2 * live_pages + 64)
		cursor = 0;
	start = cursor;
	for (i = 0; i < nr; ) {
		if (start + nr > NR_PAGES) {
			start = i = 0;
			if (tries++ == 2) {
				pthread_mutex_unlock(&alloc_lock);
				return NULL;
			}
		}
		if (page_count(start + i)) {
			start += i + 1;
			i = 0;
		} else {
			i++;
		}
	}
	for (i = 0; i < nr; i++)
		__atomic_store_n(&pages[start + i].refcount, 1, __ATOMIC_RELAXED);
	live_pages += nr;
	cursor = start + nr;
	pthread_mutex_unlock(&alloc_lock);

	addr = arena + (start << PAGE_SHIFT);
	unpoison(addr, nr << PAGE_SHIFT);
	memset(addr, 0, nr << PAGE_SHIFT);
	return addr;
}

#ifdef S2W_MODEL
static void tlb_check_free(const void *addr);
#else
static void tlb_check_free(const void *addr) {}
#endif

void m_free(void *addr, size_t nr)
{
	size_t i, idx = page_index(addr);

	for (i = 0; i < nr; i++) {
		if (page_count(idx + i) != 1)
			m_fail("page freed with %d references",
			       page_count(idx + i));
		tlb_check_free((char *)addr + (i << PAGE_SHIFT));
	}
	pthread_mutex_lock(&alloc_lock);
	for (i = 0; i < nr; i++)
		__atomic_store_n(&pages[idx + i].refcount, 0, __ATOMIC_RELAXED);
	live_pages -= nr;
	pthread_mutex_unlock(&alloc_lock);
	poison(addr, nr << PAGE_SHIFT);
}

u32 m_live_pages(void)
{
	return live_pages;
}

int m_page_count(void *addr)
{
	return page_count(page_index(addr));
}

void m_get_pages(void *addr, int nr)
{
	int old;

#ifdef S2W_MODEL
	if (!m_is_table(addr)) {
		m_fail("get_page() on a free page");
		return;
	}
#endif
	old = __atomic_fetch_add(&pages[page_index(addr)].refcount, nr,
				 __ATOMIC_ACQ_REL);
	if (unlikely(old <= 0))
		m_fail("get_page() on a free page");
}

void m_get_page(void *addr)
{
	m_get_pages(addr, 1);
}

void m_put_page(void *addr)
{
	struct page *page = &pages[page_index(addr)];

#ifdef S2W_MODEL
	if (!m_is_table(addr)) {
		m_fail("put_page() on a free page");
		return;
	}
#endif
	if (__atomic_sub_fetch(&page->refcount, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&page->refcount, 1, __ATOMIC_RELAXED);
	m_free((void *)((uintptr_t)addr & PAGE_MASK), 1);
}

void m_put_pages(void *addr, int nr)
{
#ifdef S2W_MODEL
	if (!m_is_table(addr)) {
		m_fail("put_pages() on a free page");
		return;
	}
#endif
	if (__atomic_sub_fetch(&pages[page_index(addr)].refcount, nr,
			       __ATOMIC_ACQ_REL) < 1)
		m_fail("put_pages() of the last reference");
}

void *m_realloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		perror("s2walk");
		exit(2);
	}
	return p;
}

void m_topup(struct kvm_mmu_memory_cache *mc, int nr)
{
	if (mc->capacity < nr) {
		mc->objects = m_realloc(mc->objects, nr * sizeof(void *));
		mc->capacity = nr;
	}
	while (mc->nobjs < nr) {
		void *page = m_alloc(1);

		if (!page)
			break;
		mc->objects[mc->nobjs++] = page;
	}
}

void m_drain(struct kvm_mmu_memory_cache *mc)
{
	while (mc->nobjs)
		m_free(mc->objects[--mc->nobjs], 1);
	free(mc->objects);
	mc->objects = NULL;
	mc->capacity = 0;
}

void m_forget(void)
{
	size_t i;

	for (i = 0; pages && i < NR_PAGES && live_pages; i++) {
		if (page_count(i)) {
			pages[i].refcount = 0;
			live_pages--;
		}
	}
	cursor = 0;
}

void m_reset(void)
{
	if (!arena) {
		arena = mmap(NULL, S2W_ARENA_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pages = mmap(NULL, NR_PAGES * sizeof(*pages), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED || pages == MAP_FAILED) {
			perror("s2walk: mmap");
			exit(2);
		}
		poison(arena, S2W_ARENA_BYTES);
	}
	m_reset_violation();
	m_race = (struct m_race){ 0 };
	cursor = 0;
	m_op_begin(NULL, 0);
	m_tlb_flush();
}

/* ---- interval lists ---- */

void m_ranges_add(struct m_ranges *rs, u64 start, u64 end)
{
	struct m_range *last = rs->nr ? &rs->r[rs->nr - 1] : NULL;

	if (start >= end)
		return;
	if (last && last->end == start) {
		last->end = end;
		return;
	}
	if (rs->nr == rs->max) {
		rs->max = rs->max ? rs->max * 2 : 64;
		rs->r = m_realloc(rs->r, rs->max * sizeof(*rs->r));
	}
	rs->r[rs->nr++] = (struct m_range){ start, end };
}

static int range_cmp(const void *a, const void *b)
{
	const struct m_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void m_ranges_merge(struct m_ranges *rs)
{
	size_t i, n = 0;

	if (!rs->nr)
		return;
	qsort(rs->r, rs->nr, sizeof(*rs->r), range_cmp);
	for (i = 1; i < rs->nr; i++) {
		if (rs->r[i].start <= rs->r[n].end)
			rs->r[n].end = max(rs->r[n].end, rs->r[i].end);
		else
			rs->r[++n] = rs->r[i];
	}
	rs->nr = n + 1;
}

/* ---- RCU ---- */

static __thread int rcu_depth;

#define MAX_RCU		4096
static struct rcu_cb {
	void (*fn)(void *table, s8 level);
	void *table;
	s8 level;
} rcu_cbs[MAX_RCU];
static unsigned int nr_rcu_cbs;
static pthread_mutex_t rcu_cb_lock = PTHREAD_MUTEX_INITIALIZER;
#ifdef S2W_THREADS
static pthread_rwlock_t rcu_lock = PTHREAD_RWLOCK_INITIALIZER;
#endif

void m_rcu_read_lock(void)
{
#ifdef S2W_THREADS
	if (!rcu_depth)
		pthread_rwlock_rdlock(&rcu_lock);
#endif
	rcu_depth++;
}

void m_rcu_read_unlock(void)
{
	rcu_depth--;
#ifdef S2W_THREADS
	if (!rcu_depth)
		pthread_rwlock_unlock(&rcu_lock);
#endif
}

bool m_rcu_read_lock_held(void)
{
	return rcu_depth;
}

void m_call_rcu(void (*fn)(void *table, s8 level), void *table, s8 level)
{
	pthread_mutex_lock(&rcu_cb_lock);
	if (nr_rcu_cbs == MAX_RCU) {
		fprintf(stderr, "s2walk: too many RCU callbacks\n");
		abort();
	}
	rcu_cbs[nr_rcu_cbs].fn = fn;
	rcu_cbs[nr_rcu_cbs].table = table;
	rcu_cbs[nr_rcu_cbs++].level = level;
	pthread_mutex_unlock(&rcu_cb_lock);
}

void m_grace_period(void)
{
	struct rcu_cb cb;

	if (rcu_depth)
		m_fail("grace period awaited inside an RCU read section");

	for (;;) {
		pthread_mutex_lock(&rcu_cb_lock);
		if (!nr_rcu_cbs) {
			pthread_mutex_unlock(&rcu_cb_lock);
			return;
		}
		cb = rcu_cbs[--nr_rcu_cbs];
		pthread_mutex_unlock(&rcu_cb_lock);
#ifdef S2W_THREADS
		pthread_rwlock_wrlock(&rcu_lock);
		pthread_rwlock_unlock(&rcu_lock);
#endif
		cb.fn(cb.table, cb.level);
	}
}

/* ---- the hardware walker ---- */

/* Entries must be decoded without help of the code under test */
static bool pte_is_table(u64 pte, s8 level)
{
	return level < 3 && (pte & 3) == 3;
}

static unsigned int level_shift(s8 level)
{
	return (PAGE_SHIFT - 3) * (4 - level) + 3;
}

static u64 *root_entry(u64 ipa)
{
	return &m_root.pgd[(ipa & (BIT(m_root.ia_bits) - 1)) >>
			   level_shift(m_root.start_level)];
}

static u64 *child_entry(u64 pte, u64 ipa, s8 level)
{
	u64 *table = m_phys_to_virt(m_pte_to_phys(pte));

	return &table[(ipa >> level_shift(level)) & (PTRS_PER_PTE - 1)];
}

#ifdef S2W_THREADS

/*
 * A CPU that walks in hardware holds no kernel lock.  A TLBI with its DSB waits
 * for walks that began before it; that alone makes freeing a table safe.
 */
static pthread_rwlock_t hw_lock =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void wait_for_hardware(void)
{
	pthread_rwlock_wrlock(&hw_lock);
	pthread_rwlock_unlock(&hw_lock);
}

bool m_hw_access(u64 ipa, bool set_af)
{
	s8 level = m_root.start_level;
	bool valid = false;
	u64 *ptep, pte;

	pthread_rwlock_rdlock(&hw_lock);
	for (ptep = root_entry(ipa); ; ptep = child_entry(pte, ipa, ++level)) {
		pte = __atomic_load_n(ptep, __ATOMIC_ACQUIRE);
		if (!(pte & 1))
			break;
		if (pte_is_table(pte, level))
			continue;
		valid = true;
		if (set_af && !(pte & KVM_PTE_LEAF_ATTR_LO_S2_AF))
			__atomic_compare_exchange_n(ptep, &pte,
						    pte | KVM_PTE_LEAF_ATTR_LO_S2_AF,
						    false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
		break;
	}
	pthread_rwlock_unlock(&hw_lock);
	return valid;
}

#else

bool m_hw_access(u64 ipa, bool set_af)
{
	s8 level = m_root.start_level;
	u64 *ptep;

	for (ptep = root_entry(ipa); *ptep & 1;
	     ptep = child_entry(*ptep, ipa, ++level)) {
		if (pte_is_table(*ptep, level))
			continue;
		if (set_af)
			*ptep |= KVM_PTE_LEAF_ATTR_LO_S2_AF;
		return true;
	}
	return false;
}

#endif

/* ---- the software TLB ---- */

#ifdef S2W_MODEL

#define MAX_FOCUS	32
#define MAX_TLB		1024

struct tlb_entry {
	u64 ipa, size;		/* what it translates */
	u64 pte;
	const u64 *path[5];	/* entries walked; the last one is its own */
	s8 level;
	u8 depth;
	bool table;
};

static struct tlb_entry tlb[MAX_TLB];
static unsigned int nr_tlb;
static u64 focus[MAX_FOCUS];
static int nr_focus;

/* The entries that translate focus addresses; stale once a table is added */
static const u64 *focus_path[MAX_FOCUS * 5];
static unsigned int nr_focus_path;
static bool focus_path_stale;

static const u64 *tlb_own(const struct tlb_entry *e)
{
	return e->path[e->depth - 1];
}

static void tlb_insert(const struct tlb_entry *new)
{
	unsigned int i;

	for (i = 0; i < nr_tlb; i++)
		if (tlb[i].pte == new->pte && tlb_own(&tlb[i]) == tlb_own(new) &&
		    tlb[i].ipa == new->ipa)
			return;
	if (nr_tlb < MAX_TLB)
		tlb[nr_tlb++] = *new;
	else
		tlb[new->ipa / PAGE_SIZE % MAX_TLB] = *new;
}

void m_tlb_touch(u64 ipa)
{
	struct tlb_entry e = { 0 };
	const u64 *ptep = root_entry(ipa);
	s8 level = m_root.start_level;

	for (;; level++) {
		if (!m_is_table(ptep)) {
			m_fail("hardware walk of %#llx reached a freed table",
			       (unsigned long long)ipa);
			return;
		}
		if (nr_focus_path < MAX_FOCUS * 5)
			focus_path[nr_focus_path++] = ptep;
		e.pte = *ptep;
		if (!(e.pte & 1))
			return;
		e.level = level;
		e.size = BIT(level_shift(level));
		e.ipa = ALIGN_DOWN(ipa, e.size);
		e.path[e.depth++] = ptep;
		e.table = pte_is_table(e.pte, level);
		/* A leaf without Access flag is not cached */
		if (e.table || e.pte & KVM_PTE_LEAF_ATTR_LO_S2_AF)
			tlb_insert(&e);
		if (!e.table)
			return;
		ptep = child_entry(e.pte, ipa, level + 1);
	}
}

static void tlb_touch_focus(void)
{
	int i;

	nr_focus_path = 0;
	focus_path_stale = false;
	for (i = 0; m_root.pgd && i < nr_focus; i++)
		m_tlb_touch(focus[i]);
}

static bool on_focus_path(const u64 *ptep)
{
	unsigned int i;

	for (i = 0; i < nr_focus_path; i++)
		if (focus_path[i] == ptep)
			return true;
	return false;
}

void m_tlb_flush(void)
{
	nr_tlb = 0;
}

/* What may differ between the cached and the present entry */
#define PERMS	(m_root.stage1 ? 0 : KVM_PTE_LEAF_ATTR_S2_PERMS)
#define IGNORED	(KVM_PTE_LEAF_ATTR_LO_S2_AF | KVM_PTE_LEAF_ATTR_HI_SW)

/* Does the cached entry permit what the present one does not? */
static bool more_permissive(u64 cached, u64 now)
{
	if (cached & ~now & (KVM_PTE_LEAF_ATTR_LO_S2_S2AP_R |
			     KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W))
		return true;
	switch (FIELD_GET(KVM_PTE_LEAF_ATTR_HI_S2_XN, now)) {
	case 0:		/* all may execute */
		return false;
	case 2:		/* nobody */
		return FIELD_GET(KVM_PTE_LEAF_ATTR_HI_S2_XN, cached) != 2;
	default:
		return FIELD_GET(KVM_PTE_LEAF_ATTR_HI_S2_XN, cached) != 2 &&
		       (cached ^ now) & KVM_PTE_LEAF_ATTR_HI_S2_XN;
	}
}

void m_tlb_check(const char *when)
{
	unsigned int i;

	for (i = 0; i < nr_tlb; i++) {
		const struct tlb_entry *e = &tlb[i];
		const u64 *ptep = root_entry(e->ipa);
		s8 level = m_root.start_level;
		u64 pte = 0;

		for (; m_is_table(ptep); level++) {
			pte = *ptep;
			if (level == e->level || !pte_is_table(pte, level))
				break;
			ptep = child_entry(pte, e->ipa, level + 1);
		}

		if (level != e->level || ptep != tlb_own(e) ||
		    (pte ^ e->pte) & ~(e->table ? 0 : PERMS | IGNORED)) {
			m_fail("%s: stale %s cached for %#llx level %d: %#llx, now %#llx at level %d",
			       when, e->table ? "table" : "leaf",
			       (unsigned long long)e->ipa, e->level,
			       (unsigned long long)e->pte,
			       (unsigned long long)pte, level);
			return;
		}
		if (!e->table && !m_root.stage1 && more_permissive(e->pte, pte)) {
			m_fail("%s: cached entry for %#llx level %d permits too much: %#llx, now %#llx",
			       when, (unsigned long long)e->ipa, e->level,
			       (unsigned long long)e->pte,
			       (unsigned long long)pte);
			return;
		}
	}
}

static const struct tlb_entry *tlb_writable(u64 ipa)
{
	unsigned int i;

	for (i = 0; i < nr_tlb; i++)
		if (!tlb[i].table && ipa - tlb[i].ipa < tlb[i].size &&
		    tlb[i].pte & KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W)
			return &tlb[i];
	return NULL;
}

/* The leaf that translates @ipa, if it is valid and writable */
static u64 *hw_writable_leaf(u64 ipa, u64 *size)
{
	s8 level = m_root.start_level;
	u64 *ptep = root_entry(ipa);

	for (; *ptep & 1; ptep = child_entry(*ptep, ipa, ++level)) {
		if (pte_is_table(*ptep, level))
			continue;
		*size = BIT(level_shift(level));
		return *ptep & KVM_PTE_LEAF_ATTR_LO_S2_S2AP_W ? ptep : NULL;
	}
	return NULL;
}

bool m_hw_writable(u64 ipa, bool from_tlb)
{
	u64 size;

	return from_tlb ? !!tlb_writable(ipa) : !!hw_writable_leaf(ipa, &size);
}

bool m_hw_write(u64 ipa, bool from_tlb, u64 *pa, bool *stale)
{
	const struct tlb_entry *e = from_tlb ? tlb_writable(ipa) : NULL;
	u64 size, *ptep = hw_writable_leaf(ipa, &size);

	*stale = !ptep;
	if (e) {
		*pa = m_pte_to_phys(e->pte) + (ipa & (e->size - 1));
		return true;
	}
	if (!ptep)
		return false;
	/* FEAT_HAFDBS; then the translation may be cached */
	*ptep |= KVM_PTE_LEAF_ATTR_LO_S2_AF;
	*pa = m_pte_to_phys(*ptep) + (ipa & (size - 1));
	m_tlb_touch(ipa);
	return true;
}

/* A page is freed: no walk cache may lead into it */
static void tlb_check_free(const void *addr)
{
	unsigned int i;

	for (i = 0; i < nr_tlb; i++) {
		if (tlb[i].table &&
		    m_phys_to_virt(m_pte_to_phys(tlb[i].pte)) == addr) {
			m_fail("table page freed while cached: %#llx level %d",
			       (unsigned long long)tlb[i].ipa, tlb[i].level);
			return;
		}
	}
}

void m_pte_race(u64 *ptep)
{
	if (!m_race.armed)
		return;
	m_race.armed = false;
	m_race.done = true;
	m_race.ptep = ptep;
	m_race.was = *ptep;
	*ptep = m_race.to;
}

void (*m_moment)(void);

void __m_pte_load(const u64 *ptep)
{
	m_op.loads++;
	if (in_arena(ptep) && !m_is_table(ptep))
		m_fail("load from a freed table");
}

void __m_pte_store(const u64 *ptep, u64 new)
{
	u64 old, keep = PERMS | IGNORED;
	unsigned int i;

	if (!in_arena(ptep))
		return;
	if (m_moment)
		m_moment();
	if (!m_is_table(ptep)) {
		m_fail("store to a freed table");
		return;
	}
	old = *ptep;

	if (focus_path_stale)
		tlb_touch_focus();
	if ((new & 3) == 3 && on_focus_path(ptep))
		focus_path_stale = true;

	if (old & 1) {
		/* The last chance to cache what is about to change */
		if (on_focus_path(ptep))
			tlb_touch_focus();
		if ((new & 1) && ((old ^ new) & ~keep))
			m_fail("valid entry %#llx replaced by %#llx without break",
			       (unsigned long long)old, (unsigned long long)new);
		return;
	}
	if (!(new & 1))
		return;

	/* Make: nothing else may still be cached for these addresses */
	for (i = 0; i < nr_tlb; i++) {
		const struct tlb_entry *e = &tlb[i];
		int d;

		for (d = 0; d < e->depth; d++) {
			if (e->path[d] != ptep)
				continue;
			if (d == e->depth - 1 &&
			    !((e->pte ^ new) & ~(e->table ? 0 : keep)))
				continue;
			m_fail("make %#llx while %#llx level %d is still cached for %#llx",
			       (unsigned long long)new,
			       (unsigned long long)e->pte, e->level,
			       (unsigned long long)e->ipa);
			return;
		}
	}
}

static void tlbi(enum m_tlbi_kind kind, u64 addr, u64 size, int level)
{
	unsigned int i, n = 0;

	if (m_op.tlbis < M_TLBI_LOG)
		m_op.tlbi[m_op.tlbis] = (struct m_tlbi){ kind, addr, size, level };
	m_op.tlbis++;
	if (level != TLBI_TTL_UNKNOWN || kind == M_TLBI_ALL || kind == M_TLBI_RANGE)
		m_ranges_add(&m_op.leaf_tlbi, addr, addr + size);

	if (kind == M_TLBI_NSH)
		return;
	for (i = 0; i < nr_tlb; i++) {
		const struct tlb_entry *e = &tlb[i];
		bool hit = e->ipa < addr + size && addr < e->ipa + e->size;

		if (hit && level != TLBI_TTL_UNKNOWN)
			hit = !e->table && e->level == level;
		if (!hit)
			tlb[n++] = *e;
	}
	nr_tlb = n;
}

void m_op_begin(const u64 *addrs, int nr)
{
	int i;

	m_op.loads = m_op.tlbis = 0;
	m_op.dcache.nr = m_op.icache.nr = m_op.leaf_tlbi.nr = 0;
	nr_focus = min(nr, MAX_FOCUS);
	for (i = 0; i < nr_focus; i++)
		focus[i] = addrs[i];
	tlb_touch_focus();
}

void m_op_end(void)
{
	nr_focus = 0;
}

#else /* !S2W_MODEL */

static void tlbi(enum m_tlbi_kind kind, u64 addr, u64 size, int level)
{
#ifdef S2W_THREADS
	if (kind != M_TLBI_NSH)
		wait_for_hardware();
#else
	m_op.tlbis++;
#endif
}

void m_tlb_touch(u64 ipa) {}
void m_tlb_check(const char *when) {}
void m_tlb_flush(void) {}
void m_op_begin(const u64 *addrs, int nr) {}
void m_op_end(void) {}

#endif

void m_tlbi_all(void)
{
	tlbi(M_TLBI_ALL, 0, BIT(m_root.ia_bits), TLBI_TTL_UNKNOWN);
}

void m_tlbi_ipa(u64 ipa, int level)
{
	tlbi(M_TLBI_IPA, ALIGN_DOWN(ipa, PAGE_SIZE), PAGE_SIZE, level);
}

void m_tlbi_range(u64 ipa, u64 size)
{
	if (size > MAX_TLBI_RANGE_PAGES << PAGE_SHIFT)
		m_fail("range TLBI of more pages than one can cover");
	if (!IS_ALIGNED(ipa | size, PAGE_SIZE))
		m_fail("range TLBI not aligned: %#llx size %#llx",
		       (unsigned long long)ipa, (unsigned long long)size);
	tlbi(M_TLBI_RANGE, ipa, size, TLBI_TTL_UNKNOWN);
}

void m_tlbi_nsh(u64 ipa, int level)
{
	tlbi(M_TLBI_NSH, ALIGN_DOWN(ipa, PAGE_SIZE), PAGE_SIZE, level);
}

void m_tlbi_stage1(const char *op, u64 addr, int level)
{
	/* "vae2is": walk caches too; "vale2is": the last level only */
	bool last = !strncmp(op, "vale", 4);

	tlbi(M_TLBI_S1, addr, PAGE_SIZE, last ? level : TLBI_TTL_UNKNOWN);
}

void m_dcache(void *addr, size_t size)
{
#ifdef S2W_MODEL
	u64 pa = m_virt_to_phys(addr);

	m_ranges_add(&m_op.dcache, pa, pa + size);
#endif
}

void m_icache(void *addr, size_t size)
{
#ifdef S2W_MODEL
	u64 pa = m_virt_to_phys(addr);

	m_ranges_add(&m_op.icache, pa, pa + size);
#endif
}
