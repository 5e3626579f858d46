# A walk does not skip the level that it was told to
s/if (level >= kvm_pgtable_walk_skip_level(data->walker))/if (level > kvm_pgtable_walk_skip_level(data->walker))/
