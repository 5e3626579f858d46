# Enabling dirty logging does not notice that the page table is gone
s/^\t\tif (!mmu->pgt)$/\t\tif (!mmu)/
