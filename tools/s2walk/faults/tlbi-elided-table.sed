# Unmapping frees a table that the TLB may still cache
# SPDX-License-Identifier: GPL-2.0
/kvm_pte_table(ctx->old, ctx->level)) {/{n;/flush_vmid_ipa, mmu, ctx->addr/{N;s/.*/;/}}
/^static void stage2_unmap_table/,/^}/{/kvm_call_hyp/{N;s/.*/\t(void)data;/}}
