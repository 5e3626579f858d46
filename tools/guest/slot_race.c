// SPDX-License-Identifier: GPL-2.0
/*
 * slot_race MIB SECONDS: page faults race with page tables being removed (x86)
 *
 * A guest executes an instruction of each page of memory that is made of huge pages. With nx_huge_pages=force, that takes
 * small pages, and KVM's worker removes their page tables every millisecond, with mmu_lock held for read, i.e. while
 * the vCPU maps other pages by the same tables. Now and then logging is turned on and off. If there is page_idle, another
 * thread ages all memory, without a lock.
 *
 * Fails if in the end an SPTE is left (statistics pages_*) that a page fault has put into a page table that was gone, or
 * that was freed too early.
 */
#include <fcntl.h>
#include <linux/sizes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#define PARAMETERS	"/sys/module/kvm/parameters/"
#define TEST_GVA	0xc0000000ul
#define TEST_GPA	(1ul << 32)
#define TEST_SLOT	1
#define RET		0xc3

static u64 nr_pages, stop;
static atomic_bool done;
static void *mem;

static void guest_code(void)
{
	u64 i;

	while (!READ_ONCE(stop)) {
		for (i = 0; i < nr_pages; i++)
			((void (*)(void))(TEST_GVA + i * SZ_4K))();
		GUEST_SYNC(0);
	}
	GUEST_DONE();
}

static void *run_vcpu(void *vcpu)
{
	do {
		vcpu_run(vcpu);
		TEST_ASSERT_KVM_EXIT_REASON((struct kvm_vcpu *)vcpu, KVM_EXIT_IO);
	} while (get_ucall(vcpu, NULL) == UCALL_SYNC);
	return NULL;
}

static void *age_memory(void *unused)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	int idle = open("/sys/kernel/mm/page_idle/bitmap", O_RDWR);
	u64 offset, pfn, mask;

	while (pagemap >= 0 && idle >= 0 && !atomic_load(&done)) {
		for (offset = 0; offset < nr_pages * SZ_4K; offset += SZ_2M) {
			TEST_ASSERT(pread(pagemap, &pfn, sizeof(pfn), (u64)(mem + offset) / SZ_4K * sizeof(pfn)) ==
				    sizeof(pfn), "pread() failed");
			pfn &= (1ull << 55) - 1;
			mask = 1ull << (pfn % 64);
			TEST_ASSERT(pwrite(idle, &mask, sizeof(mask), pfn / 64 * sizeof(mask)) >= 0, "pwrite() failed");
		}
		usleep(500);
	}
	return NULL;
}

static void set_parameter(const char *path, const char *value)
{
	FILE *f = fopen(path, "w");

	TEST_ASSERT(f && fputs(value, f) > 0 && !fclose(f), "cannot write '%s' to %s", value, path);
}

static u64 seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int main(int argc, char *argv[])
{
	u64 size, end, left, splits = 0, loops = 0;
	pthread_t vcpu_thread, age_thread;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	u64 i;

	TEST_ASSERT(argc == 3, "usage: %s MIB SECONDS", argv[0]);
	size = atoi_positive("Size in MiB", argv[1]) * (u64)SZ_1M;
	nr_pages = size / SZ_4K;

	set_parameter(PARAMETERS "nx_huge_pages", "force");
	set_parameter(PARAMETERS "nx_huge_pages_recovery_ratio", "1");
	set_parameter(PARAMETERS "nx_huge_pages_recovery_period_ms", "1");

	mem = mmap(NULL, size + SZ_2M, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT(mem != MAP_FAILED, "mmap() of %lu bytes failed", size);
	mem = align_ptr_up(mem, SZ_2M);
	TEST_ASSERT(!madvise(mem, size, MADV_HUGEPAGE), "madvise() failed");
	for (i = 0; i < nr_pages; i++)
		*(u8 *)(mem + i * SZ_4K) = RET;

	vm = vm_create_with_one_vcpu(&vcpu, guest_code);
	vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, size, mem);
	virt_map(vm, TEST_GVA, TEST_GPA, nr_pages);
	sync_global_to_guest(vm, nr_pages);
	pthread_create(&vcpu_thread, NULL, run_vcpu, vcpu);
	pthread_create(&age_thread, NULL, age_memory, NULL);

	for (end = seconds() + atoi_positive("Seconds", argv[2]); seconds() < end; loops++) {
		usleep(20000);
		splits += vm_get_stat(vm, nx_lpage_splits);
		vm_set_user_memory_region(vm, TEST_SLOT, KVM_MEM_LOG_DIRTY_PAGES, TEST_GPA, size, mem);
		usleep(2000);
		vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, size, mem);
	}

	stop = 1;
	sync_global_to_guest(vm, stop);
	pthread_join(vcpu_thread, NULL);
	atomic_store(&done, true);
	pthread_join(age_thread, NULL);
	TEST_ASSERT(splits, "no huge page has been split to execute it");

	/* This zaps all SPTEs of the VM. */
	vm_set_user_memory_region(vm, TEST_SLOT, 0, TEST_GPA, 0, mem);
	left = vm_get_stat(vm, pages_4k) + vm_get_stat(vm, pages_2m) + vm_get_stat(vm, pages_1g);
	TEST_ASSERT(!left, "%lu SPTEs are left", left);
	kvm_vm_free(vm);
	printf("%lu rounds, no SPTE is left\n", loops);
	return 0;
}
