# Unmapping frees a table that the TLB may still cache
/kvm_pte_table(ctx->old, ctx->level)) {/{n;/flush_vmid_ipa, mmu, ctx->addr/{N;s/.*/;/}}
