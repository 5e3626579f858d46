/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that writes to all of its memory, and what KVM's page tables take for it. For programs that are built with the
 * library of the kvm selftests.
 */
#include <linux/sizes.h>

#include "kvm_util.h"
#include "test_util.h"
#include "ucall_common.h"

#define TEST_GVA	0xc0000000ul
#define TEST_GPA	(1ul << 32)
#define TEST_SLOT	1

static u64 nr_pages;

static void guest_code(void)
{
	u64 i;

	for (i = 0; i < nr_pages; i++)
		WRITE_ONCE(*(u64 *)(TEST_GVA + i * SZ_4K), i);
	GUEST_SYNC(0);
}

/* In KiB. */
static long sec_page_tables(void)
{
	char line[128];
	long kib = -1;
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	TEST_ASSERT(f, "cannot read /proc/meminfo");
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "SecPageTables: %ld", &kib);
	fclose(f);
	TEST_ASSERT(kib >= 0, "/proc/meminfo has no SecPageTables");
	return kib;
}
