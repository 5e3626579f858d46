# Dirty bits are cleared only after the pages have been write-protected
# SPDX-License-Identifier: GPL-2.0
s/dirty_bitmap_buffer\[i\] = xchg(&dirty_bitmap\[i\], 0);/dirty_bitmap_buffer[i] = dirty_bitmap[i];/
s/^\t\tif (kvm_dirty_runs_end(&runs))$/\t\tif (kvm_dirty_runs_end(\&runs) \&\& memset(dirty_bitmap, 0, n))/
