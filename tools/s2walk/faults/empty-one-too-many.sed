# A walk passes over one entry more than those that hold nothing
/^\tdata->addr = addr;$/{n;s/return i;/return i + 1;/;}
