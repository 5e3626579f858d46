# A walk does not stop after as many tables as it may go through
s/data->end = data->addr;/data->end = data->end;/
/data->end = data->end;/{n;s/return 0;//}
