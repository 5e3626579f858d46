# A walk passes over one entry more than those that hold nothing
# SPDX-License-Identifier: GPL-2.0
/^\tdata->addr = addr;$/{n;s/return i;/return i + 1;/;}
