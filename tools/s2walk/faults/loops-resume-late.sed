# Enabling dirty logging goes on one page too far
s/^\t\t\tbit = (addr - base) >> PAGE_SHIFT;/\t\t\tbit = ((addr - base) >> PAGE_SHIFT) + 1;/
