# Dirty logging is enabled for the pages of the next word
s/runs->first_page, runs->bitmap,$/runs->first_page + (runs->nr > 1) * BITS_PER_LONG, runs->bitmap,/
