#!/bin/bash
# check-perf.sh [ARCH...]: measures the scenarios that bench.scenarios marks "perf" and compares them with the committed results.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- arm64 x86
for arch in "$@"; do
	if ARCH=$arch BENCH=perf METRIC=insns VENDOR='' HERE='' COUNTS='' "$root/scripts/bench.sh"; then
		awk -v name="$arch" -f "$root/scripts/perf.awk" "$root/Documentation/results/$arch.tsv" "$build/results/$arch-perf.tsv"
	else
		echo "not ok - $arch: nothing to compare: the bench failed"
	fi
done
