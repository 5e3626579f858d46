# A walk reports an address one granule beyond where it stopped
s/\*walker->next = min(walk_data.addr, addr + size)/*walker->next = min(walk_data.addr + PAGE_SIZE, addr + size)/
