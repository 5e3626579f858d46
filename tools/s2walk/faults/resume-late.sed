# A walk reports an address one granule beyond where it stopped
s/\*next = min(walk_data.addr, addr + size)/*next = min(walk_data.addr + PAGE_SIZE, addr + size)/
