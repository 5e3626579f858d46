# Enabling dirty logging goes on one page too far
s/bit = find_next_bit(bitmap, nr, (addr - base) >> PAGE_SHIFT);/bit = find_next_bit(bitmap, nr, ((addr - base) >> PAGE_SHIFT) + 1);/
