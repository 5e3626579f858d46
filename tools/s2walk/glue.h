/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls whose prototypes differ between trees, behind one interface.
 * config.h is written by the Makefile from what it finds in the tree.
 *
 * The range operations do what the loops in arch/arm64/kvm/mmu.c do with
 * them: the base walks in fixed chunks; a tree whose walks report where they
 * stopped resumes there.  @walks counts the walks.
 */
#ifndef S2WALK_GLUE_H
#define S2WALK_GLUE_H

#if defined(S2W_HAVE_RANGE_NEXT) && !defined(S2W_HAVE_WALK_NEXT)
#error "config.sh doesn't know this tree's way to report where a walk stopped"
#endif

/* __stage2_range_addr_end() of mmu.c in base */
static inline u64 glue_chunk_end(u64 addr, u64 end, u64 chunk)
{
	u64 boundary = ALIGN_DOWN(addr, chunk) + chunk;

	return boundary - 1 < end - 1 ? boundary : end;
}

/* More chunks than this are walked in one go: the harness has no patience */
#if defined(S2W_MODEL) || defined(S2W_THREADS)
#define GLUE_MAX_CHUNKS	1024
#else
#define GLUE_MAX_CHUNKS	~0ULL
#endif

/*
 * @call sets ret, for [addr, end).  If the tree's walks report where they
 * stop, it moves addr there; otherwise @resumes is 0 and it works on
 * [addr, next).
 */
#define GLUE_LOOP(resumes, start, size, chunk, call)			\
	({								\
		u64 addr = (start), last = addr + (size), end, next;	\
		int ret = 0;						\
									\
		while (addr < last) {					\
			u64 before = addr;				\
									\
			next = end = last;				\
			if (!(resumes) && (size) / (chunk) <= GLUE_MAX_CHUNKS) \
				next = end = glue_chunk_end(addr, last, chunk); \
			(*walks)++;					\
			call;						\
			if (ret)					\
				break;					\
			if (!(resumes))					\
				addr = next;				\
			if (addr <= before || addr > last) {		\
				m_fail("walk of %#llx..%#llx resumes at %#llx", \
				       (unsigned long long)before,	\
				       (unsigned long long)last,	\
				       (unsigned long long)addr);	\
				break;					\
			}						\
		}							\
		ret;							\
	})

#ifdef S2W_HAVE_RANGE_NEXT
#define GLUE_RANGES	1
#define GLUE_NEXT	, &addr
#else
#define GLUE_RANGES	0
#define GLUE_NEXT
#endif

#define GLUE_CHUNK	kvm_granule_size(KVM_PGTABLE_MIN_BLOCK_LEVEL)

static inline int glue_unmap(struct kvm_pgtable *pgt, u64 start, u64 size,
			     u64 *walks)
{
	return GLUE_LOOP(GLUE_RANGES, start, size, GLUE_CHUNK,
			 ret = kvm_pgtable_stage2_unmap(pgt, addr, end - addr
							GLUE_NEXT));
}

static inline int glue_wrprotect(struct kvm_pgtable *pgt, u64 start, u64 size,
				 u64 *walks)
{
	return GLUE_LOOP(GLUE_RANGES, start, size, GLUE_CHUNK,
			 ret = kvm_pgtable_stage2_wrprotect(pgt, addr, end - addr
							    GLUE_NEXT));
}

static inline int glue_flush(struct kvm_pgtable *pgt, u64 start, u64 size,
			     u64 *walks)
{
	return GLUE_LOOP(GLUE_RANGES, start, size, GLUE_CHUNK,
			 ret = kvm_pgtable_stage2_flush(pgt, addr, end - addr
							GLUE_NEXT));
}

/* Without the topping up in between */
static inline int glue_split(struct kvm_pgtable *pgt, u64 start, u64 size,
			     struct kvm_mmu_memory_cache *mc, u64 chunk,
			     u64 *walks)
{
#ifdef S2W_HAVE_SPLIT_NEXT
	return GLUE_LOOP(1, start, size, chunk,
			 ret = kvm_pgtable_stage2_split(pgt, addr, end - addr,
							chunk, mc, &addr));
#else
	return GLUE_LOOP(0, start, size, chunk,
			 ret = kvm_pgtable_stage2_split(pgt, addr, end - addr, mc));
#endif
}

static inline bool glue_bit(const unsigned long *bitmap, u64 bit)
{
	return bitmap[bit / BITS_PER_LONG] >> (bit % BITS_PER_LONG) & 1;
}

/*
 * Write-protect the pages whose bit is set, after splitting the blocks that
 * hold them if there is an @mc.  Bit 0 stands for @base.  A tree that has no
 * call for it does the same page by page: that is the contract.
 */
static inline int glue_log_dirty(struct kvm_pgtable *pgt, u64 start, u64 size,
				 const unsigned long *bitmap, u64 base,
				 struct kvm_mmu_memory_cache *mc, u64 chunk,
				 u64 *walks)
{
	u64 addr, end = start + size;
	int ret = 0, splits __maybe_unused = 0;
#ifdef S2W_HAVE_LOG_DIRTY_POS
	struct kvm_pgtable_pos pos = {};
#endif

	for (addr = start; addr < end; ) {
		if (!glue_bit(bitmap, (addr - base) >> PAGE_SHIFT)) {
			addr += PAGE_SIZE;
			continue;
		}
		(*walks)++;
#ifdef S2W_HAVE_LOG_DIRTY
		u64 before = addr;

#ifdef S2W_HAVE_LOG_DIRTY_POS
		addr = kvm_pgtable_stage2_log_dirty(pgt, addr, end - addr, bitmap,
						    base, mc, &pos);
#else
		addr = kvm_pgtable_stage2_log_dirty(pgt, addr, end - addr, bitmap,
						    base, mc);
#endif
		/* A page is in one block at each level that has them */
		splits = addr == before ? splits + 1 : 0;
		if (addr < before || addr > end || splits > 3) {
			m_fail("log_dirty of %#llx..%#llx goes on at %#llx",
			       (unsigned long long)before,
			       (unsigned long long)end,
			       (unsigned long long)addr);
			break;
		}
#else
		u64 ignored = 0;

		if (mc)
			glue_split(pgt, addr, PAGE_SIZE, mc, chunk, &ignored);
		ret = glue_wrprotect(pgt, addr, PAGE_SIZE, &ignored);
		if (ret)
			break;
		addr += PAGE_SIZE;
#endif
	}
	return ret;
}

static inline void glue_destroy(struct kvm_pgtable *pgt, u64 *walks)
{
	u64 size = BIT(pgt->ia_bits);

#ifdef S2W_HAVE_DESTROY_NEXT
	GLUE_LOOP(1, 0, size, GLUE_CHUNK,
		  kvm_pgtable_stage2_destroy_range(pgt, addr, end - addr, &addr));
#else
	GLUE_LOOP(0, 0, size, GLUE_CHUNK,
		  kvm_pgtable_stage2_destroy_range(pgt, addr, end - addr));
#endif
	kvm_pgtable_stage2_destroy_pgd(pgt);
}

#endif
