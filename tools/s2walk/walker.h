/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef S2WALK_WALKER_H
#define S2WALK_WALKER_H

extern const struct s2w_walker S2W_WALKER;

#endif
