# Dirty logging takes the pages of a block that it split for done
# SPDX-License-Identifier: GPL-2.0
/^u64 kvm_pgtable_stage2_log_dirty/,/^}/s/return addr;/return min(end, ALIGN_DOWN(addr, kvm_granule_size(level)) + kvm_granule_size(level));/
