# A walk does not stop at the end of the chunk
s/^\t\t\tkvm_pgtable_walk_stop(data, data->chunk);$//
s/^\t\t\tkvm_pgtable_walk_stop(data, data->addr, data->chunk);$//
/kvm_pgtable_walk_stop(data, data->addr + (i << PAGE_SHIFT),/{N;s/.*//}
