// SPDX-License-Identifier: GPL-2.0
/*
 * fault_count anon|mthp|thp|wp MIB: what stage-2 faults on memory that is present in the host cost the vCPU thread. wp:
 * write faults on small pages that are write-protected because writes are logged.
 *
 * Built with the library of the kvm selftests. The guest writes to each page (thp: to each 2 MiB) of a memslot whose
 * memory has been populated; once with nothing mapped at stage-2 but the guest's own page tables, and once more with
 * everything mapped. The difference is printed as "count fault-<backing> 1 <cpu ns> <cpu ns>", for all faults together.
 */
#include <linux/sizes.h>
#include <sys/mman.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#define TEST_GVA	0xc0000000ul
#define TEST_GPA	(1ul << 32)
#define TEST_SLOT	1

static u64 nr_writes, stride;

static void guest_code(void)
{
	u64 i;

	for (;;) {
		for (i = 0; i < nr_writes; i++)
			WRITE_ONCE(*(u64 *)(TEST_GVA + i * stride), i);
		GUEST_SYNC(0);
	}
}

static void set_thp(const char *size, const char *value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%s/enabled", size);
	f = fopen(path, "w");
	TEST_ASSERT(f && fputs(value, f) > 0 && !fclose(f), "cannot write '%s' to %s", value, path);
}

static u64 run(struct kvm_vcpu *vcpu)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	vcpu_run(vcpu);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	TEST_ASSERT_EQ(get_ucall(vcpu, NULL), UCALL_SYNC);

	return timespec_to_ns(timespec_sub(end, begin));
}

int main(int argc, char *argv[])
{
	u64 size, faulting, mapped, exits;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	bool thp;
	char *mem;

	TEST_ASSERT(argc == 3, "usage: %s anon|mthp|thp|wp MIB", argv[0]);
	thp = !strcmp(argv[1], "thp");
	size = atoi_positive("Size in MiB", argv[2]) * (u64)SZ_1M;

	if (!strcmp(argv[1], "mthp")) {
		set_thp("2048kB", "never");
		set_thp("64kB", "madvise");
	}

	vm = vm_create_with_one_vcpu(&vcpu, guest_code);
	mem = mmap(NULL, size + SZ_2M, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT(mem != MAP_FAILED, "mmap() of %lu bytes failed", size);
	mem = align_ptr_up(mem, SZ_2M);
	TEST_ASSERT(!madvise(mem, size, thp || !strcmp(argv[1], "mthp") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE),
		    "madvise() failed");
	memset(mem, 0, size);
	if (!strcmp(argv[1], "mthp")) {
		set_thp("64kB", "never");
		set_thp("2048kB", "inherit");
	}
	vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, size, mem);
	virt_map(vm, TEST_GVA, TEST_GPA, size >> vm->page_shift);

	/* Have everything mapped but the test memory: run, then make its slot anew, or write-protect it. */
	stride = thp ? SZ_2M : vm->page_size;
	nr_writes = size / stride;
	sync_global_to_guest(vm, stride);
	sync_global_to_guest(vm, nr_writes);
	run(vcpu);
	if (!strcmp(argv[1], "wp")) {
		vm_set_user_memory_region(vm, TEST_SLOT, KVM_MEM_LOG_DIRTY_PAGES, TEST_GPA, size, mem);
	} else {
		vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, 0, mem);
		vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, size, mem);
	}

	exits = vcpu_get_stat(vcpu, exits);
	faulting = run(vcpu);
	exits = vcpu_get_stat(vcpu, exits) - exits;
	TEST_ASSERT(exits >= nr_writes, "%lu exits for %lu writes: the memory is backed by larger pages than asked for",
		    exits, nr_writes);
	mapped = run(vcpu);
	printf("count fault-%s 1 %lu %lu\n", argv[1], faulting - mapped, faulting - mapped);

	kvm_vm_free(vm);
	return 0;
}
