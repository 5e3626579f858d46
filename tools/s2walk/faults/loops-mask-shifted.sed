# Dirty logging is enabled for the pages of the next word
s/run->bitmap + run->start,$/run->bitmap + run->start + (run->end - run->start > 1),/
