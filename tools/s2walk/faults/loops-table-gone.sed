# Enabling dirty logging goes on in a table that may have been freed while the lock was dropped
# SPDX-License-Identifier: GPL-2.0
s/pos\.end = 0;/pos.end += 0;/
