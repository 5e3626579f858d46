# A walk over a range goes on one page too far after it offered the lock
# SPDX-License-Identifier: GPL-2.0
s/^\(\t*\)lock_dropped = true;/\1lock_dropped = true, addr += PAGE_SIZE;/
