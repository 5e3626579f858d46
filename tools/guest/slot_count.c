// SPDX-License-Identifier: GPL-2.0
/*
 * slot_count teardown|delete|move 4k|2m MIB, slot_count age 4k|dense MIB: what it costs the calling thread
 *
 *	teardown	to destroy a VM whose memory is mapped by SPTEs of that size,
 *	delete, move	to delete or move its memslot,
 *	age		to mark all of its pages idle after the guest has written to them. 4k: small pages, one by one;
 *			dense: 2 MiB pages that KVM maps by 4 KiB SPTEs because it logs writes.
 *
 * Built with the library of the kvm selftests. The figure is printed as "count <action>-<size> 1 <cpu ns> <cpu ns>"; for
 * age also KVM's share, as "count age-<size>-kvm ...": what is left after subtracting the same on memory that no VM uses.
 * Fails if an SPTE (x86: statistics pages_*) or a page table (SecPageTables) outlives what was torn down. The memory is
 * mapped by KVM_PRE_FAULT_MEMORY, or, where there is none, by writes of the guest.
 */
#include <fcntl.h>
#include <linux/sizes.h>
#include <sys/mman.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#include "mapped_guest.h"

/* Guest memory is made of this much, over and over. */
#define PIECE		(64ul * SZ_1M)

static u64 cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return timespec_to_ns(now);
}

static void print_count(const char *action, const char *size, const char *share, u64 ns)
{
	printf("count %s-%s%s 1 %lu %lu\n", action, size, share, ns, ns);
}

static void *map_pieces(u64 size, bool huge)
{
	int fd = kvm_memfd_alloc(PIECE, huge);
	void *mem, *piece;
	u64 offset;

	mem = mmap(NULL, size + SZ_2M, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	TEST_ASSERT(mem != MAP_FAILED, "mmap() of %lu bytes failed", size);
	mem = align_ptr_up(mem, SZ_2M);
	for (offset = 0; offset < size; offset += PIECE) {
		piece = mmap(mem + offset, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
		TEST_ASSERT(piece != MAP_FAILED, "mmap() of %s memory failed: are there %lu huge pages?",
			    huge ? "2m" : "4k", PIECE / SZ_2M);
	}
	return mem;
}

/* What can be read of the VM's second-stage page tables: how many leaf entries there are of all sizes, on x86 alone. */
#ifdef __x86_64__
static u64 nr_mapped(struct kvm_vm *vm)
{
	return vm_get_stat(vm, pages_4k) + vm_get_stat(vm, pages_2m) + vm_get_stat(vm, pages_1g);
}

static void check_mapped(struct kvm_vm *vm, bool huge, u64 size)
{
	u64 mapped = huge ? vm_get_stat(vm, pages_2m) : vm_get_stat(vm, pages_4k);

	TEST_ASSERT(mapped >= size / (huge ? SZ_2M : SZ_4K), "%lu SPTEs map %lu bytes: not of the size asked for",
		    mapped, size);
}
#else
static u64 nr_mapped(struct kvm_vm *vm)
{
	return 0;
}

static void check_mapped(struct kvm_vm *vm, bool huge, u64 size)
{
}
#endif

/* Has the vCPU write to a page of each @stride, to have KVM map them. The guest sees them one next to the other. */
static void write_all(struct kvm_vm *vm, struct kvm_vcpu *vcpu, u64 size, u64 stride)
{
	u64 i, exits;

	nr_pages = size / stride;
	for (i = 0; i < nr_pages; i++)
		virt_pg_map(vm, TEST_GVA + i * SZ_4K, TEST_GPA + i * stride);
	sync_global_to_guest(vm, nr_pages);
	exits = vcpu_get_stat(vcpu, exits);
	vcpu_run(vcpu);
	TEST_ASSERT_EQ(get_ucall(vcpu, NULL), UCALL_SYNC);
	exits = vcpu_get_stat(vcpu, exits) - exits;
	TEST_ASSERT(exits >= nr_pages, "%lu exits for %lu pages: not of the size asked for", exits, nr_pages);
}

static void remove_memory(const char *action, const char *type, u64 size)
{
	struct kvm_pre_fault_memory range = { .gpa = TEST_GPA, .size = size };
	bool prefault = kvm_has_cap(KVM_CAP_PRE_FAULT_MEMORY);
	long tables = sec_page_tables();
	bool huge = !strcmp(type, "2m");
	u64 stride = huge ? SZ_2M : SZ_4K;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	void *mem;
	u64 ns;
	int r;

	TEST_ASSERT(huge || !strcmp(type, "4k"), "unknown size '%s': use 4k or 2m", type);
	TEST_ASSERT(!(size % PIECE), "the size must be a multiple of %lu MiB", PIECE / SZ_1M);

	mem = map_pieces(size, huge);
	vm = __vm_create_with_one_vcpu(&vcpu, prefault ? 0 : size / stride, guest_code);
	vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, size, mem);
	if (prefault) {
		do {
			r = __vcpu_ioctl(vcpu, KVM_PRE_FAULT_MEMORY, &range);
		} while (range.size && (!r || errno == EINTR));
		TEST_ASSERT(!r, "KVM_PRE_FAULT_MEMORY failed, errno = %d", errno);
	} else {
		write_all(vm, vcpu, size, stride);
	}
	check_mapped(vm, huge, size);

	ns = cpu_ns();
	if (!strcmp(action, "teardown"))
		kvm_vm_release(vm);
	else if (!strcmp(action, "delete"))
		vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, 0, mem);
	else
		vm_set_user_memory_region(vm, TEST_SLOT, 0, 2 * TEST_GPA, size, mem);
	ns = cpu_ns() - ns;

	if (strcmp(action, "teardown")) {
		TEST_ASSERT(!nr_mapped(vm), "%lu SPTEs are left", nr_mapped(vm));
		kvm_vm_release(vm);
	}
	/* Counters per CPU are folded once a second, and when they reach a threshold that is lower than this. */
	tables = sec_page_tables() - tables;
	TEST_ASSERT(labs(tables) < 512, "%ld KiB of page tables are left", tables);
	print_count(action, type, "", ns);
}

static u64 pread_u64(int fd, u64 index)
{
	u64 value;

	TEST_ASSERT(pread(fd, &value, sizeof(value), index * sizeof(value)) == sizeof(value), "pread() failed");
	return value;
}

/* Marks what is mapped at each @stride of the memory as idle. */
static u64 age(void *mem, u64 size, u64 stride)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	int idle = open("/sys/kernel/mm/page_idle/bitmap", O_RDWR);
	u64 offset, pfn, mask, sum = 0, ns;

	TEST_ASSERT(pagemap >= 0 && idle >= 0, "page idle tracking needs CONFIG_IDLE_PAGE_TRACKING and root");
	for (offset = 0; offset < size; offset += stride) {
		pfn = pread_u64(pagemap, (u64)(mem + offset) / SZ_4K) & ((1ull << 55) - 1);
		mask = 1ull << (pfn % 64);
		ns = cpu_ns();
		/* Returns 0 for the last pages of memory, if fewer than 64. */
		TEST_ASSERT(pwrite(idle, &mask, sizeof(mask), pfn / 64 * sizeof(mask)) >= 0, "pwrite() failed");
		sum += cpu_ns() - ns;
	}
	close(idle);
	close(pagemap);
	return sum;
}

static void age_memory(const char *type, u64 size)
{
	bool dense = !strcmp(type, "dense");
	struct kvm_vcpu *vcpu;
	u64 novm, ns, stride;
	struct kvm_vm *vm;
	void *mem;

	TEST_ASSERT(dense || !strcmp(type, "4k"), "unknown size '%s': use 4k or dense", type);
	stride = dense ? SZ_2M : SZ_4K;
	mem = mmap(NULL, size + SZ_2M, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT(mem != MAP_FAILED, "mmap() of %lu bytes failed", size);
	mem = align_ptr_up(mem, SZ_2M);
	TEST_ASSERT(!madvise(mem, size, dense ? MADV_HUGEPAGE : MADV_NOHUGEPAGE), "madvise() failed");
	memset(mem, 1, size);
	age(mem, size, stride);
	novm = age(mem, size, stride);

	nr_pages = size / SZ_4K;
	vm = vm_create_with_one_vcpu(&vcpu, guest_code);
	vm_set_user_memory_region(vm, TEST_SLOT, dense ? KVM_MEM_LOG_DIRTY_PAGES : 0, TEST_GPA, size, mem);
	virt_map(vm, TEST_GVA, TEST_GPA, nr_pages);
	sync_global_to_guest(vm, nr_pages);
	vcpu_run(vcpu);
	TEST_ASSERT_EQ(get_ucall(vcpu, NULL), UCALL_SYNC);
	check_mapped(vm, false, size);

	ns = age(mem, size, stride);
	print_count("age", type, "", ns);
	print_count("age", type, "-kvm", ns - novm);
	kvm_vm_free(vm);
}

int main(int argc, char *argv[])
{
	static const char * const removals[] = { "teardown", "delete", "move" };
	unsigned int i;
	u64 size;

	TEST_ASSERT(argc == 4, "usage: %s teardown|delete|move 4k|2m MIB, or %s age 4k|dense MIB", argv[0], argv[0]);
	size = atoi_positive("Size in MiB", argv[3]) * (u64)SZ_1M;

	for (i = 0; i < ARRAY_SIZE(removals); i++) {
		if (strcmp(argv[1], removals[i]))
			continue;
		remove_memory(argv[1], argv[2], size);
		return 0;
	}
	TEST_ASSERT(!strcmp(argv[1], "age"), "unknown action '%s': use teardown, delete, move or age", argv[1]);
	age_memory(argv[2], size);
	return 0;
}
