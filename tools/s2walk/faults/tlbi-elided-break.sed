# A table is replaced without invalidating what it translated
# SPDX-License-Identifier: GPL-2.0
/^static bool stage2_try_break_pte/,/^}/s/kvm_tlb_flush_vmid_range(mmu, addr, size);/(void)addr;/
