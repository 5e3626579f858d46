#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# clean.sh: removes build/, but for what was downloaded.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock
find "$build" -mindepth 1 -maxdepth 1 ! -name apt ! -name fetch ! -name busybox ! -name sparse ! -name .lock -exec rm -rf {} +
