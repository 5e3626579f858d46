# The last word of a run of dirty pages is left out
s/next\[-1\]\.end = i + 1;/next[-1].end = i;/
