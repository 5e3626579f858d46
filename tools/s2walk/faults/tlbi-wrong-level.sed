# A break invalidates with the hint for the wrong level
/flush_vmid_ipa, mmu,$/{n;s/ctx->addr, ctx->level)/ctx->addr, ctx->level + 1)/}
