# Dirty logging goes on behind the next table
# SPDX-License-Identifier: GPL-2.0
/^u64 kvm_pgtable_stage2_log_dirty/,/^}/s/next = min(end, ALIGN_DOWN(addr, granule) + granule);/next = min(end, ALIGN_DOWN(addr, granule) + 2 * granule);/
