# Unmapping does not clean the data cache on CPUs without FWB
# SPDX-License-Identifier: GPL-2.0
s/need_flush = !cpus_have_final_cap(ARM64_HAS_STAGE2_FWB);/need_flush = false;/
/^static void stage2_unmap_leaves/,/^}/s/if (stage2_pte_cacheable(pgt, pte) &&/if (!mm_ops \&\& stage2_pte_cacheable(pgt, pte) \&\&/
