# A walk does not stop at the end of the chunk
# SPDX-License-Identifier: GPL-2.0
s/data->end = min(data->end, ALIGN_DOWN(addr, data->chunk) + data->chunk);//
