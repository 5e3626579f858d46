// SPDX-License-Identifier: GPL-2.0
/*
 * vm_churn COUNT MIB: creates a VM, has its guest write to each page of MIB of memory, destroys it; COUNT times.
 *
 * Built with the library of the kvm selftests. Fails if a guest does not end as it should, or if what a VM has mapped
 * outlives it (SecPageTables).
 */
#include <linux/sizes.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#include "mapped_guest.h"

static void churn(u64 size)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;

	vm = vm_create_with_one_vcpu(&vcpu, guest_code);
	nr_pages = size / SZ_4K;
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, TEST_GPA, TEST_SLOT, size / vm->page_size, 0);
	virt_map(vm, TEST_GVA, TEST_GPA, size / vm->page_size);
	sync_global_to_guest(vm, nr_pages);
	vcpu_run(vcpu);
	TEST_ASSERT_EQ(get_ucall(vcpu, NULL), UCALL_SYNC);
	kvm_vm_free(vm);
}

int main(int argc, char *argv[])
{
	int i, count;
	long before;
	u64 size;

	TEST_ASSERT(argc == 3, "usage: %s COUNT MIB", argv[0]);
	count = atoi_positive("Number of VMs", argv[1]);
	size = atoi_positive("Size in MiB", argv[2]) * (u64)SZ_1M;

	/* What the first VM brings about may stay. */
	churn(size);
	before = sec_page_tables();
	for (i = 1; i < count; i++)
		churn(size);
	TEST_ASSERT(sec_page_tables() <= before + 64, "SecPageTables: %ld kB, was %ld", sec_page_tables(), before);
	printf("%d VMs of %lu MiB came and went\n", count, size / SZ_1M);
	return 0;
}
