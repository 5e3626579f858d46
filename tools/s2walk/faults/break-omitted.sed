# Splitting replaces a block without break-before-make
# SPDX-License-Identifier: GPL-2.0
/^static int stage2_split_/,/^}/{s/^\tif (!stage2_try_break_pte(ctx, mmu)) {/\tif (!stage2_try_set_pte(ctx, FIELD_PREP(KVM_INVALID_PTE_TYPE_MASK, KVM_INVALID_PTE_TYPE_LOCKED))) {/;s/^\tstage2_make_pte(ctx, new);/\tWRITE_ONCE(*ctx->ptep, new);/}
