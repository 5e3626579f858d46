# Dirty logging looks at the bit of the next page
# SPDX-License-Identifier: GPL-2.0
s/bitmap, (addr - base) >> PAGE_SHIFT,/bitmap, ((addr - base) >> PAGE_SHIFT) + 1,/
