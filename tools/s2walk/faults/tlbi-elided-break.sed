# A table is replaced without invalidating what it translated
/^static bool stage2_try_break_pte/,/^}/s/kvm_tlb_flush_vmid_range(mmu, addr, size);/(void)addr;/
