# Unmapping invalidates only the last of the leaves that it cleared
s/^\t\t\tif (!data->inval_end)$//
