# A walk does not stop after as many tables as it may go through
# SPDX-License-Identifier: GPL-2.0
s/data->end = data->addr;/data->end = data->end;/
/data->end = data->end;/{n;s/return 0;//}
