# Enabling dirty logging does not notice that the page table is gone
s/^\t\t\tif (!mmu->pgt)$/\t\t\tif (!mmu)/
