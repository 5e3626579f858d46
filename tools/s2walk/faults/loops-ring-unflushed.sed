# Resetting dirty rings does not flush the TLBs
# SPDX-License-Identifier: GPL-2.0
s/^\tif (cleared)$/\tif (cleared < 0)/
