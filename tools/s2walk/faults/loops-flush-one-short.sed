# Flushing the TLBs of a memslot leaves out its last page
s/memslot->base_gfn, memslot->npages);/memslot->base_gfn, memslot->npages - 1);/
