# Unmapping forgets the deferred TLB invalidation
# SPDX-License-Identifier: GPL-2.0
s/^\tif (data.inval_end)$/\tif (data.inval_end \&\& !size)/
