/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef S2WALK_MEMORY_H
#define S2WALK_MEMORY_H

/* PAGE_SHIFT is given on the command line: 12, 14 or 16 */
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#define PAGE_ALIGN(x)	ALIGN(x, PAGE_SIZE)

#if PAGE_SHIFT == 12
#define CONFIG_ARM64_4K_PAGES		1
#define CONFIG_PGTABLE_LEVELS		4
#elif PAGE_SHIFT == 14
#define CONFIG_ARM64_16K_PAGES		1
#define CONFIG_PGTABLE_LEVELS		4
#elif PAGE_SHIFT == 16
#define CONFIG_ARM64_64K_PAGES		1
#define CONFIG_PGTABLE_LEVELS		3
#else
#error "PAGE_SHIFT must be 12, 14 or 16"
#endif

#define CONFIG_ARM64_PA_BITS_52		1
#define CONFIG_ARM64_HW_AFDBM		1

#endif
