# Dirty logging looks at the bit of the next page
s/bitmap, (addr - base) >> PAGE_SHIFT,/bitmap, ((addr - base) >> PAGE_SHIFT) + 1,/
