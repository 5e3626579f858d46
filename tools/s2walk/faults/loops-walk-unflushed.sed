# The lock is dropped with the TLBs of what a walk has unmapped until then not flushed
# SPDX-License-Identifier: GPL-2.0
s/^\tif (data.inval_end)$/\tif (data.inval_end \&\& *next == addr + size)/
