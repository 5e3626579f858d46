# The pages of a split lose the high bits of their address
# SPDX-License-Identifier: GPL-2.0
/^static int stage2_populate_table/,/^{/s/^{/{\n\tphys \&= GENMASK(46, 0);/
