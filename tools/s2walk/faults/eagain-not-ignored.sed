# A walk gives up at EAGAIN even if it was told to ignore it
# SPDX-License-Identifier: GPL-2.0
s/walker->flags & KVM_PGTABLE_WALK_IGNORE_EAGAIN;/(walker->flags \& 0);/
