#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# config.sh TREE: print the C macros that say which interfaces a tree has.
set -eu

header=$1/arch/arm64/include/asm/kvm_pgtable.h
source=$1/arch/arm64/kvm/hyp/pgtable.c

have() # MACRO REGEX FILE; line breaks count as spaces
{
	if tr '\n\t' '  ' < "$3" | grep -Eq "$2"; then
		echo "#define $1 1"
	fi
}

# Flags that bound the depth of a walk
have S2W_HAVE_SKIP_LEVEL 'KVM_PGTABLE_WALK_SKIP_LEVEL0' "$header"
# Walks, and operations built on them, that report where they stopped
have S2W_HAVE_WALK_NEXT 'kvm_pgtable_walk_partial\(' "$header"
have S2W_HAVE_RANGE_NEXT 'kvm_pgtable_stage2_unmap\([^)]*\*next\)' "$header"
have S2W_HAVE_DESTROY_NEXT \
	'kvm_pgtable_stage2_destroy_range\([^)]*\*next\)' "$header"
have S2W_HAVE_SPLIT_NEXT 'kvm_pgtable_stage2_split\([^)]*\*next\)' "$header"
# Write-protecting (and splitting for) the pages of a bitmap, table by table
have S2W_HAVE_LOG_DIRTY 'kvm_pgtable_stage2_log_dirty\(' "$header"
# That goes on in the table of the call before
have S2W_HAVE_LOG_DIRTY_POS \
	'kvm_pgtable_stage2_log_dirty\([^)]*struct kvm_pgtable_pos' "$header"
# Visits to all the entries of a last-level table at once
have S2W_HAVE_BATCH 'KVM_PGTABLE_WALK_BATCH' "$header"
have S2W_HAVE_GET_PAGES '\(\*get_pages\)' "$header"
have S2W_HAVE_PUT_PAGES '\(\*put_pages\)' "$header"
# Unmapping invalidates no more than what was cleared
have S2W_HAVE_PRECISE_TLBI 'inval_(start|end)' "$source"
# ... and no less, if a part of a block is unmapped
have S2W_HAVE_WHOLE_TLBI 'inval_(start|end)|stage2_leaf_exceeds_walk' "$source"
# Resetting dirty rings gathers the GFNs of many entries
have S2W_HAVE_RING_INIT 'kvm_dirty_ring_init_vm\(struct kvm \*kvm\);' \
	"$1/include/linux/kvm_dirty_ring.h"
