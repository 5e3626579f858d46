# The last word of a run of dirty pages is left out
# SPDX-License-Identifier: GPL-2.0
s/runs->limit - KVM_DIRTY_RUN_MAX_GAP - 1;/runs->limit - KVM_DIRTY_RUN_MAX_GAP - 2;/
