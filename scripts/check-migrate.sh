#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-migrate.sh [ARCH...]: a short live migration of a small guest by QEMU on the patched kernel of each ARCH (all): there,
# half-way, and back. Huge pages, as that splits them, too. A lost page fails it.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086 # a list
[ $# -gt 0 ] || set -- $archs
mkdir -p "$logs"
for arch; do
	out=$build/results/migrate/$arch-thp-sparse-smp2-patched-1.out
	err=$logs/check-migrate-$arch.err
	rm -f "$out"
	rc=0
	ARCH=$arch TREES=patched BACKING=thp DIRTY=sparse RING=0 CONVERGE=0 REPEAT=1 GUEST_MIB=96 PAUSE=200 ROUNDS=3 SMP=2 ICOUNT=0 TIMEOUT=600 \
		CONFIG='' MODE='' "$root/scripts/migrate.sh" >"$logs/check-migrate-$arch.log" 2>"$err" || rc=$?
	sed -n "s/^step every page/ok - $arch: every page/p" "$out" 2>/dev/null || true
	[ "$rc" -eq 0 ] || echo "not ok - $arch: $(tail -n 1 "$err")"
done
