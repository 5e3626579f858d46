# A batch of blocks goes on to the end of the table rather than of the walk
# SPDX-License-Identifier: GPL-2.0
/^static int kvm_pgtable_visit_blocks/,/^}/s/ctx->nr < nr_left && addr < data->end/ctx->nr < nr_left/
