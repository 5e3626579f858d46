#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-perf.sh [ARCH...]: measures the scenarios that bench.scenarios marks "perf" and compares them with the committed results of
# the same command, Documentation/results/<arch>-perf.tsv.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086 # a list
[ $# -gt 0 ] || set -- $archs
for arch in "$@"; do
	committed=$root/Documentation/results/$arch-perf.tsv
	if ! ARCH=$arch BENCH=perf METRIC=insns VENDOR='' HERE='' COUNTS='' "$root/scripts/bench.sh"; then
		echo "not ok - $arch: nothing to compare: the bench failed"
	elif [ ! -f "$committed" ]; then
		echo "not ok - $arch: no committed figures to compare with: make results ACCEPT=1 takes these"
	else
		awk -v name="$arch" -f "$root/scripts/perf.awk" "$committed" "$build/results/$arch-perf.tsv"
	fi
done
