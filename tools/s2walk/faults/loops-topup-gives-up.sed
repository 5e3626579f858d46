# Pages stay writable if there is no memory for splitting their blocks
s/^\t\t\tcache = &mmu->split_page_cache;/\t\t\tcache = \&mmu->split_page_cache;\n\t\telse if (split)\n\t\t\treturn;/
