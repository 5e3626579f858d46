# Unmapping invalidates only the last of the leaves that it cleared
# SPDX-License-Identifier: GPL-2.0
s/^\t\t\tif (!data->inval_end)$//
