# Unmapping forgets to drop a reference for an annotation
/^static int stage2_unmap_walker/,/^}/{/kvm_clear_pte(ctx->ptep);/{n;s/mm_ops->put_page(ctx->ptep);/;/}}
