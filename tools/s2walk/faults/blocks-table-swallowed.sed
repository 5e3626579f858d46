# A batch of blocks goes on past a table
# SPDX-License-Identifier: GPL-2.0
/^static int kvm_pgtable_visit_blocks/,/^}/s/if (!kvm_pte_valid(pte) || kvm_pte_table(pte, ctx->level))/if (!kvm_pte_valid(pte))/
