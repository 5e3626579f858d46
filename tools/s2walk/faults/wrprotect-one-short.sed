# Write-protecting in batches misses the last entry
# SPDX-License-Identifier: GPL-2.0
/^static void stage2_wrprotect_ptes/,/^}/s/end = ptep + nr;/end = ptep + nr - (nr > 1);/
