# A run of dirty pages is dropped when the next one begins
s/^\t\tif (run->start < run->end)$/\t\tif (run->start < run->end \&\& !i)/
