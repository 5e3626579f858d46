#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# loops.sh TREE: print what loops.c needs of a kernel tree, by name. With a
# question mark: not every tree has it.
set -eu

take() # FILE NAME...
{
	file=$tree/$1
	shift
	awk -v want="$*" -f "$here/extract.awk" "$file"
}

here=$(dirname "$0")
tree=$1

echo "/* Made by loops.sh */"
take include/uapi/linux/kvm.h KVM_DIRTY_GFN_F_DIRTY KVM_DIRTY_GFN_F_RESET \
	KVM_DIRTY_GFN_F_MASK kvm_dirty_gfn KVM_MEM_LOG_DIRTY_PAGES \
	KVM_MEM_READONLY KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE \
	KVM_DIRTY_LOG_INITIALLY_SET
take include/linux/kvm_dirty_ring.h kvm_dirty_ring
take include/linux/kvm_host.h KVM_DIRTY_RING_RSVD_ENTRIES
printf '#line 1 "loops-host.h"\n#include "loops-host.h"\n'
take tools/lib/bitmap.c __bitmap_clear
take include/linux/kvm_host.h kvm_slot_dirty_track_enabled \
	kvm_dirty_bitmap_bytes kvm_second_dirty_bitmap \
	kvm_dirty_log_manual_protect_and_init_set '?kvm_bitmap_run'
take arch/arm64/kvm/mmu.c '?__stage2_range_addr_end' '?stage2_range_addr_end' \
	stage2_apply_range stage2_apply_range_resched \
	kvm_mmu_split_nr_page_tables need_split_memcache_topup_or_resched \
	'?kvm_mmu_topup_split_cache' kvm_mmu_split_huge_pages \
	memslot_is_logging \
	kvm_arch_flush_remote_tlbs kvm_arch_flush_remote_tlbs_range \
	__unmap_stage2_range kvm_stage2_wp_range \
	kvm_mmu_wp_memory_region kvm_mmu_split_memory_region \
	'?kvm_arch_mmu_enable_log_dirty_pt_masked' \
	'?kvm_arch_mmu_enable_log_dirty_pt_bitmap' \
	'?kvm_arch_mmu_enable_log_dirty_done' \
	kvm_arch_commit_memory_region kvm_unmap_gfn_range kvm_age_gfn
take virt/kvm/dirty_ring.c kvm_dirty_ring_get_rsvd_entries \
	kvm_use_dirty_bitmap kvm_dirty_ring_used kvm_dirty_ring_soft_full \
	kvm_dirty_ring_full '?KVM_DIRTY_RING_PART_SIZE' '?KVM_DIRTY_RING_NR_PARTS' \
	'?kvm_dirty_ring_part' '?kvm_dirty_ring_gather' \
	'?kvm_dirty_ring_init_vm' '?kvm_dirty_ring_destroy_vm' \
	'?kvm_reset_dirty_gfn' '?kvm_reset_dirty_gfns' '?kvm_gather_dirty_gfn' \
	kvm_dirty_ring_alloc kvm_dirty_gfn_set_invalid kvm_dirty_gfn_set_dirtied \
	kvm_dirty_gfn_harvested kvm_dirty_ring_reset \
	'?kvm_dirty_ring_finish_reset' kvm_dirty_ring_push kvm_dirty_ring_free
take virt/kvm/kvm_main.c kvm_flush_remote_tlbs kvm_flush_remote_tlbs_range \
	kvm_flush_remote_tlbs_memslot \
	'?KVM_DIRTY_RUN_MAX_GAP' '?KVM_DIRTY_MAX_RUNS' '?kvm_dirty_runs' \
	'?kvm_dirty_runs_init' '?kvm_dirty_runs_end_last' '?kvm_dirty_runs_flush' '?kvm_dirty_runs_add' \
	'?kvm_dirty_runs_end' \
	kvm_get_dirty_log_protect kvm_clear_dirty_log_protect \
	mark_page_dirty_in_slot kvm_vm_ioctl_reset_dirty_pages
