# A walk over a range goes on one page too far after it offered the lock
s/^\(\t*\)lock_dropped = true;/\1lock_dropped = true, addr += PAGE_SIZE;/
