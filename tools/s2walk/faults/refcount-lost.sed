# The table of a split holds one reference too few
# SPDX-License-Identifier: GPL-2.0
s/mm_ops->get_pages(table, nr);/mm_ops->get_pages(table, nr - 1);/
