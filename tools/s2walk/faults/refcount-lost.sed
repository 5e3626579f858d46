# The table of a split holds one reference too few
s/mm_ops->get_pages(table, nr);/mm_ops->get_pages(table, nr - 1);/
