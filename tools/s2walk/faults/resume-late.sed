# A walk reports an address one granule beyond where it stopped
# SPDX-License-Identifier: GPL-2.0
s/\*next = min(walk_data.addr, addr + size)/*next = min(walk_data.addr + PAGE_SIZE, addr + size)/
