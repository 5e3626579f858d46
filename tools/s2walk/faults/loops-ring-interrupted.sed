# A signal makes a reset of dirty rings forget what it gathered
# SPDX-License-Identifier: GPL-2.0
s/^\tkvm_dirty_ring_finish_reset(kvm);/\tif (!r)\n\t\tkvm_dirty_ring_finish_reset(kvm);\n\telse if (kvm->dirty_ring_gather)\n\t\tmemset(kvm->dirty_ring_gather, 0, sizeof(*kvm->dirty_ring_gather));/
