# The last word of a run of dirty pages is left out
s/^\trun->end = i + 1;/\trun->end = i + (run->start == i);/
