// SPDX-License-Identifier: GPL-2.0
/*
 * dirty_sweep: what the dirty-log ioctls cost when one page in so many is dirty.
 *
 * Built with the library of the kvm selftests. One thread: the guest writes to exactly the pages of a list, exits, and
 * the host gets (and with manual protect clears) the dirty log while no vCPU runs; so often for each density:
 *
 *	count <get|clear|enable>-<density> <nth> <cpu ns> <wall ns>
 *
 * as count_ioctl.c prints it. Densities are "none", "one" (a page in the middle) and "1inN". The log must have exactly
 * the bits of what was written, and none after it was cleared: a figure is never that of an ioctl that found nothing.
 */
#include <linux/bitops.h>
#include <linux/sizes.h>
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#define TEST_GVA	0xc0000000ul
#define TEST_GPA	(1ul << 32)
#define TEST_SLOT	1

/* One page in so many; the two that are no ratio. From sparse to dense, as writes may split huge pages. */
#define NONE		0
#define ONE		(~0ul)
static const u64 all_densities[] = { NONE, ONE, 65536, 16384, 4096, 1024, 512, 64, 16, 8, 2, 1 };

/* What the guest reads: a list of page numbers. It is in another slot than the pages. */
static u64 page_size, nr_listed;
static u32 *list;

static struct kvm_vm *vm;
static struct kvm_vcpu *vcpu;
static u64 nr_pages;
static u32 *shuffled, *host_list;
static unsigned long *expected, *all_pages, *bitmap;
static size_t bitmap_size;
static bool random_pages;

static void guest_code(void)
{
	u64 i;

	for (;;) {
		for (i = 0; i < READ_ONCE(nr_listed); i++)
			WRITE_ONCE(*(u64 *)(TEST_GVA + list[i] * page_size), i);
		GUEST_SYNC(0);
	}
}

/* Choose the pages of @density; returns how many they are. */
static u64 choose(u64 density)
{
	u64 i;

	nr_listed = density == NONE ? 0 : density == ONE ? 1 : nr_pages / density;
	memset(expected, 0, bitmap_size);
	for (i = 0; i < nr_listed; i++) {
		host_list[i] = density == ONE ? nr_pages / 2 : random_pages ? shuffled[i] : i * density;
		__set_bit(host_list[i], expected);
	}
	sync_global_to_guest(vm, nr_listed);

	return nr_listed;
}

static void write_pages(void)
{
	vcpu_run(vcpu);
	TEST_ASSERT_EQ(get_ucall(vcpu, NULL), UCALL_SYNC);
}

static u64 now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return timespec_to_ns(ts);
}

static void count(const char *op, const char *density, int nth, unsigned long request, void *arg)
{
	u64 wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
	int ret = ioctl(vm->fd, request, arg);

	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = now(CLOCK_MONOTONIC) - wall;
	TEST_ASSERT(!ret, __KVM_IOCTL_ERROR(op, ret));
	printf("count %s-%s %d %lu %lu\n", op, density, nth, cpu, wall);
}

static u64 weight(const unsigned long *bits)
{
	u64 i, sum = 0;

	for (i = 0; i < bitmap_size / sizeof(long); i++)
		sum += __builtin_popcountl(bits[i]);
	return sum;
}

/* What the log says must be @want, bit by bit. */
static void check(const char *density, const unsigned long *want)
{
	TEST_ASSERT(!memcmp(bitmap, want, bitmap_size),
		    "density %s: %lu of %lu pages are dirty, not the %lu expected",
		    density, weight(bitmap), nr_pages, weight(want));
}

static void enable(const char *density, int nth)
{
	struct userspace_mem_region *region = memslot2region(vm, TEST_SLOT);

	region->region.flags = KVM_MEM_LOG_DIRTY_PAGES;
	count("enable", density, nth, KVM_SET_USER_MEMORY_REGION2, &region->region);
}

/* Have all pages mapped, by blocks that are as large as the memory allows, and then logged. */
static void start_logging(const char *density, int nth, bool huge)
{
	u64 exits = vcpu_get_stat(vcpu, exits);

	choose(1);
	write_pages();
	exits = vcpu_get_stat(vcpu, exits) - exits;
	TEST_ASSERT(huge ? exits < nr_pages / 4 : exits >= nr_pages, "%lu exits for %lu pages: %s by larger pages than 4K",
		    exits, nr_pages, huge ? "they are not mapped" : "they are mapped");
	enable(density, nth);
}

static void measure(u64 density, int nr, u64 caps, bool fresh, bool huge)
{
	struct kvm_dirty_log get = { .slot = TEST_SLOT, .dirty_bitmap = bitmap };
	struct kvm_clear_dirty_log clear = { .slot = TEST_SLOT, .dirty_bitmap = expected, .num_pages = nr_pages };
	bool all_set = fresh && (caps & KVM_DIRTY_LOG_INITIALLY_SET);
	char name[32];
	int nth;
	u64 i;

	snprintf(name, sizeof(name), density == NONE ? "none" : density == ONE ? "one" : "1in%lu", density);
	for (nth = 1; nth <= nr; nth++) {
		if (fresh) {
			memslot2region(vm, TEST_SLOT)->region.flags = 0;
			vm_mem_region_reload(vm, TEST_SLOT);
			start_logging(name, nth, huge);
		}
		choose(density);
		write_pages();
		count("get", name, nth, KVM_GET_DIRTY_LOG, &get);
		check(name, all_set ? all_pages : expected);
		if (caps)
			count("clear", name, nth, KVM_CLEAR_DIRTY_LOG, &clear);
		/* What is left: nothing, or all that was set at first and not cleared. */
		kvm_vm_get_dirty_log(vm, TEST_SLOT, bitmap);
		for (i = 0; i < bitmap_size / sizeof(long); i++)
			expected[i] = all_set ? all_pages[i] & ~expected[i] : 0;
		check(name, expected);
	}
}

/* A fixed sequence: the same pages on each kernel and in each run. */
static void shuffle(void)
{
	u64 i, j, x = 0x9e3779b97f4a7c15;
	u32 t;

	for (i = 0; i < nr_pages; i++)
		shuffled[i] = i;
	for (i = nr_pages - 1; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = x % (i + 1);
		t = shuffled[i];
		shuffled[i] = shuffled[j];
		shuffled[j] = t;
	}
}

static u64 parse_density(const char *word)
{
	return !strcmp(word, "none") ? NONE : !strcmp(word, "one") ? ONE : atoi_positive("Density", word);
}

static void help(char *name)
{
	printf("usage: %s [-b bytes | -n pages] [-s backing] [-E chunk] [-f flags] [-d density,...] [-r] [-F] [-i times] [-m mode]\n",
	       name);
	puts(" -b, -n: size of the memslot (default: 512M)\n"
	     " -s: memory type, see the other tests (default: anonymous)\n"
	     " -E: chunk size of the eager split, 0: KVM's default (arm64)\n"
	     " -f: flags of manual protect: 0 (the default): get clears; 1: clear does; 3: and all is dirty at first\n"
	     " -d: densities: none, one, or N for one page in N (default: all)\n"
	     " -r: random pages instead of every Nth; -F: make and map the memslot anew for each figure, so that its huge\n"
	     "     pages are whole; with -f 3 that gets a log with all bits set and clears those of the density\n"
	     " -i: how often each density is measured (default: 2); -m: guest mode");
}

int main(int argc, char *argv[])
{
	enum vm_mem_backing_src_type src = VM_MEM_SRC_ANONYMOUS;
	u64 densities[ARRAY_SIZE(all_densities)], nr_densities = 0, size = 512 * (u64)SZ_1M, caps = 0, i;
	enum vm_guest_mode mode = VM_MODE_DEFAULT;
	bool fresh = false, huge;
	int opt, times = 2;
	gva_t list_gva;
	char *word;

	setbuf(stdout, NULL);
	while ((opt = getopt(argc, argv, "b:n:s:E:f:d:rFi:m:h")) != -1) {
		switch (opt) {
		case 'b':
			size = parse_size(optarg);
			break;
		case 'n':
			nr_pages = atoi_positive("Number of pages", optarg);
			break;
		case 's':
			src = parse_backing_src_type(optarg);
			break;
		case 'E':
			kvm_eager_split_chunk_size = parse_size(optarg);
			break;
		case 'f':
			caps = atoi_non_negative("Manual protect flags", optarg);
			break;
		case 'd':
			for (word = strtok(optarg, ","); word; word = strtok(NULL, ",")) {
				TEST_ASSERT(nr_densities < ARRAY_SIZE(densities), "too many densities");
				densities[nr_densities++] = parse_density(word);
			}
			break;
		case 'r':
			random_pages = true;
			break;
		case 'F':
			fresh = true;
			break;
		case 'i':
			times = atoi_positive("Number of times", optarg);
			break;
		case 'm':
			mode = atoi_non_negative("Guest mode", optarg);
			break;
		default:
			help(argv[0]);
			return opt == 'h' ? 0 : 1;
		}
	}
	if (!nr_densities) {
		nr_densities = ARRAY_SIZE(all_densities);
		memcpy(densities, all_densities, sizeof(all_densities));
	}
	TEST_REQUIRE(!(caps & ~kvm_check_cap(KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2)));
	page_size = vm_guest_mode_params[mode].page_size;
	TEST_ASSERT(page_size == getpagesize(), "the guest's pages are not as large as the host's: choose another -m");
	nr_pages = nr_pages ?: size / page_size;
	huge = get_backing_src_pagesz(src) > page_size;
	TEST_ASSERT(!(nr_pages * page_size % get_backing_src_pagesz(src)), "a memslot of %lu pages has no whole number of %s pages",
		    nr_pages, vm_mem_backing_src_alias(src)->name);

	vm = __vm_create_shape_with_one_vcpu(VM_SHAPE(mode), &vcpu, 2 * nr_pages, guest_code);
	if (caps)
		vm_enable_cap(vm, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, caps);
	vm_userspace_mem_region_add(vm, src, TEST_GPA, TEST_SLOT, nr_pages, 0);
	virt_map(vm, TEST_GVA, TEST_GPA, nr_pages);
	list_gva = vm_alloc(vm, nr_pages * sizeof(*list), KVM_UTIL_MIN_VADDR);
	host_list = addr_gva2hva(vm, list_gva);
	list = (u32 *)list_gva;
	sync_global_to_guest(vm, list);
	sync_global_to_guest(vm, page_size);

	shuffled = calloc(nr_pages, sizeof(*shuffled));
	bitmap_size = DIV_ROUND_UP(nr_pages, BITS_PER_LONG) * sizeof(long);
	expected = calloc(1, bitmap_size);
	all_pages = calloc(1, bitmap_size);
	bitmap = calloc(1, bitmap_size);
	TEST_ASSERT(shuffled && expected && all_pages && bitmap, "no memory for the lists of %lu pages", nr_pages);
	for (i = 0; i < nr_pages; i++)
		__set_bit(i, all_pages);
	shuffle();

	if (!fresh) {
		struct kvm_clear_dirty_log clear = { .slot = TEST_SLOT, .dirty_bitmap = bitmap, .num_pages = nr_pages };

		start_logging("all", 1, huge);
		kvm_vm_get_dirty_log(vm, TEST_SLOT, bitmap);
		if (caps & KVM_DIRTY_LOG_INITIALLY_SET) {
			check("all", all_pages);
			count("clear", "all", 1, KVM_CLEAR_DIRTY_LOG, &clear);
		}
	}
	for (i = 0; i < nr_densities; i++)
		if (densities[i] == ONE || densities[i] <= nr_pages)
			measure(densities[i], times, caps, fresh, huge);

	kvm_vm_free(vm);
	return 0;
}
