# A walk skips one level more than it was told to
s/if (level >= data->skip_level)/if (level + 1 >= data->skip_level)/
