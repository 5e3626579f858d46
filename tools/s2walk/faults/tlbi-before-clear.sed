# Unmapping invalidates before it clears the entry
/^static void stage2_unmap_put_pte/,/^}/{s/^\t\tkvm_clear_pte(ctx->ptep);$//;s/^\tmm_ops->put_page(ctx->ptep);/\tif (kvm_pte_valid(ctx->old))\n\t\tkvm_clear_pte(ctx->ptep);\n&/}
