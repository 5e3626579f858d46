# A walk does not skip the level that it was told to
# SPDX-License-Identifier: GPL-2.0
s/if (level >= kvm_pgtable_walk_skip_level(data->walker))/if (level > kvm_pgtable_walk_skip_level(data->walker))/
