# Runs of dirty pages are dropped when there are too many
s/^\t\tkvm_dirty_runs_flush(runs);/\t\truns->nr = 0;/
