# Tables at level 2 get no TABLE_POST visit
# SPDX-License-Identifier: GPL-2.0
s/if (ctx.flags & KVM_PGTABLE_WALK_TABLE_POST)/if ((ctx.flags \& KVM_PGTABLE_WALK_TABLE_POST) \&\& level != 2)/
