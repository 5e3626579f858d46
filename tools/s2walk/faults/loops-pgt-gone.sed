# Enabling dirty logging does not notice that the page table is gone
# SPDX-License-Identifier: GPL-2.0
s/^\t\t\tif (!mmu->pgt)$/\t\t\tif (!mmu)/
