# Shared walks store entries without compare-and-exchange
s/if (!kvm_pgtable_walk_shared(ctx)) {/if (ctx) {/
