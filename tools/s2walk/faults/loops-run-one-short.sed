# The last word of a run of dirty pages is left out
# SPDX-License-Identifier: GPL-2.0
s/next\[-1\]\.end = i + 1;/next[-1].end = i;/
