# KVM_GET_DIRTY_LOG and KVM_CLEAR_DIRTY_LOG return without flushing the TLBs
s/^\(\t*\)if (kvm_dirty_run_end(&run))$/\1if (kvm_dirty_run_end(\&run) \&\& 0)/
