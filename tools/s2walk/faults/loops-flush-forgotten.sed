# KVM_GET_DIRTY_LOG and KVM_CLEAR_DIRTY_LOG return without flushing the TLBs
# SPDX-License-Identifier: GPL-2.0
s/^\(\t*\)if (kvm_dirty_runs_end(&runs))$/\1if (kvm_dirty_runs_end(\&runs) \&\& 0)/
