# Enabling dirty logging goes on one page too far
# SPDX-License-Identifier: GPL-2.0
s/^\t\t\tbit = (addr - base) >> PAGE_SHIFT;/\t\t\tbit = ((addr - base) >> PAGE_SHIFT) + 1;/
