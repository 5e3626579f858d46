# A walk does not stop at the end of the chunk
s/data->end = min(data->end, ALIGN_DOWN(addr, data->chunk) + data->chunk);//
