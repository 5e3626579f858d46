# Dirty logging is enabled for the pages of the next word
# SPDX-License-Identifier: GPL-2.0
s/runs->first_page, runs->bitmap,$/runs->first_page + (runs->nr > 1) * BITS_PER_LONG, runs->bitmap,/
