# Gathered entries are dropped when others need their place
# SPDX-License-Identifier: GPL-2.0
/^\t\tif (part->in_use) {$/{n;s/kvm_reset_dirty_gfns(kvm, part);/bitmap_zero(part->gfns, KVM_DIRTY_RING_PART_SIZE);/;}
