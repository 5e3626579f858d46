# A walk skips one level more than it was told to
# SPDX-License-Identifier: GPL-2.0
s/if (level >= kvm_pgtable_walk_skip_level(data->walker))/if (level + 1 >= kvm_pgtable_walk_skip_level(data->walker))/
