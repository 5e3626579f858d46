# Unmapping invalidates before it clears the entry
# SPDX-License-Identifier: GPL-2.0
/^static void stage2_unmap_put_pte/,/^}/{s/^\t\tkvm_clear_pte(ctx->ptep);$//;s/^\tmm_ops->put_page(ctx->ptep);/\tif (kvm_pte_valid(ctx->old))\n\t\tkvm_clear_pte(ctx->ptep);\n&/}
/^static void stage2_unmap_leaves/,/^}/{s/^\t\tkvm_clear_pte(ptep);$//;s/^\tstage2_put_pages(.*/\tfor (ptep = ctx->ptep; ptep < end; ptep++)\n\t\tif (*ptep)\n\t\t\tkvm_clear_pte(ptep);\n&/}
