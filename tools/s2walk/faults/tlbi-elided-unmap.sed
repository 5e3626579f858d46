# Unmapping forgets the deferred TLB invalidation
s/^\tif (data.inval_end)$/\tif (data.inval_end \&\& !size)/
