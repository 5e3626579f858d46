# Dirty logging looks at the bit of the next page
s/unsigned long bit = (ctx->addr - data->base) >> PAGE_SHIFT;/unsigned long bit = ((ctx->addr - data->base) >> PAGE_SHIFT) + 1;/
