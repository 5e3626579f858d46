# Pages stay writable if there is no memory for splitting their blocks
# SPDX-License-Identifier: GPL-2.0
s/^\t\t\t\tif (ret >= 0)$/\t\t\t\tif (ret < 0)\n\t\t\t\t\treturn;\n\t\t\t\telse/
