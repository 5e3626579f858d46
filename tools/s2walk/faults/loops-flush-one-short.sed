# Flushing the TLBs of a memslot leaves out its last page
# SPDX-License-Identifier: GPL-2.0
s/memslot->base_gfn, memslot->npages);/memslot->base_gfn, memslot->npages - 1);/
