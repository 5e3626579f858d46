# A walk does not stop at the end of the chunk
s/^\t\t\tkvm_pgtable_walk_stop(data, data->chunk);$//
