# KVM_GET_DIRTY_LOG does not copy the last word to user space
# SPDX-License-Identifier: GPL-2.0
s/copy_to_user(log->dirty_bitmap, dirty_bitmap_buffer, n)/copy_to_user(log->dirty_bitmap, dirty_bitmap_buffer, n - sizeof(long))/
