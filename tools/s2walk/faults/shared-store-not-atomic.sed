# Shared walks store entries without compare-and-exchange
# SPDX-License-Identifier: GPL-2.0
s/if (!kvm_pgtable_walk_shared(ctx)) {/if (ctx) {/
