# Unmapping forgets to drop a reference
# SPDX-License-Identifier: GPL-2.0
/^static int stage2_unmap_walker/,/^}/{/kvm_clear_pte(ctx->ptep);/{n;s/mm_ops->put_page(ctx->ptep);/;/}}
/^static void stage2_unmap_leaves/,/^}/s/stage2_put_pages(mm_ops, ctx->ptep, nr);/stage2_put_pages(mm_ops, ctx->ptep, nr - (nr > 1));/
