# A walk does not skip the level that it was told to
s/if (level >= data->skip_level)/if (level > data->skip_level)/
