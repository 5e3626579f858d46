# A break invalidates with the hint for the wrong level
# SPDX-License-Identifier: GPL-2.0
/flush_vmid_ipa, mmu,$/{n;s/ctx->addr, ctx->level)/ctx->addr, ctx->level + 1)/}
