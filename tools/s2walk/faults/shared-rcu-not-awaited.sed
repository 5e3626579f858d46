# A replaced table is freed while shared walkers may still be in it
# SPDX-License-Identifier: GPL-2.0
s/mm_ops->free_unlinked_table(childp, ctx->level)/kvm_pgtable_stage2_free_unlinked(mm_ops, childp, ctx->level)/
