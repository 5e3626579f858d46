#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nested.sh: a real guest hypervisor: boots the arm64 host with KVM in mode nested, starts QEMU in it, and in that Linux, with KVM of
# its own at virtual EL2, which runs tests: their guests are nested guests of the host. Base and patched side by side; the kernel of
# the guest hypervisor and the tests are the same for both.
#
#	TREES    those to run (base patched)		TRIES    boots of the guest hypervisor before it counts as a failure (5);
#	ICOUNT   1: times are instructions of the			 each that stalls is told, and counts in the total
#		 machine (1)				LIMIT    seconds until one that is not up has stalled (300)
#	GUEST_MIB memory of the guest hypervisor (768)	WAIT     seconds for all tests (3000)
#	TESTS    what it runs, separated by ";"		TIMEOUT  seconds for all of a boot, by the clock of this machine (5400)
#	TOP      functions to show (20)
#
# Seconds but TIMEOUT's are the emulated machine's. Results: build/results/nested/arm64.tsv (figure unit base patched ratio status),
# arm64-functions.tsv (function base patched), and tables. The host runs all of it on one CPU.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=arm64 TREES=${TREES:-base patched} TRIES=${TRIES:-5} LIMIT=${LIMIT:-300} WAIT=${WAIT:-3000} TIMEOUT=${TIMEOUT:-5400}
ICOUNT=${ICOUNT:-1} GUEST_MIB=${GUEST_MIB:-768} TOP=${TOP:-20}
TESTS=${TESTS:-"kvm_page_table_test -m 3 -b 2M -v 1; dirty_log_test -M clear-log -m 3 -i 2 -I 10; demand_paging_test -m 3 -b 4M -v 1; vm_churn 20 4"}
arch "$ARCH"
for tree in $TREES; do
	tree_dir "$tree" >/dev/null
done
for number in TRIES LIMIT WAIT TIMEOUT ICOUNT GUEST_MIB TOP; do
	[[ ${!number} =~ ^[0-9]{1,7}$ ]] || die "$number='${!number}' is not a number"
done
[ "$TRIES" -gt 0 ] || die "TRIES=0 never boots"
# shellcheck source=scripts/vmm.sh
. "$root/scripts/vmm.sh"
archive=$build/migrate/nested.cpio
results=$build/results/nested

tests() { tr ';' '\n' <<<"$TESTS" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d'; }

# pack: the archive for the emulated host, with that of the guest hypervisor in it
pack() {
	local stage=$build/migrate/nested.stage inputs kernel test
	kernel=$(obj_dir "$ARCH" base)
	inputs=$(
		cat "$kernel/.fastwalk" "$build/st/$ARCH-patched/.fastwalk"
		tests
		sha256sum "$0" "$root/scripts/vmm.sh" "$vmm/.fastwalk" "$root"/tools/nested/* "$root/tools/guest/init"
	)
	[ "$(cat "$archive.inputs" 2>/dev/null)" != "$inputs" ] || [ ! -f "$archive" ] || return 0
	rm -rf "$stage" "$archive" "$archive.inputs"
	stage_vmm "$stage/root"
	mkdir -p "$stage/guest/bin"
	cp "$vmm/usr/bin/busybox" "$stage/guest/bin/"
	ln -s busybox "$stage/guest/bin/sh"
	install -m 755 "$root/tools/nested/init" "$stage/guest/init"
	tests >"$stage/guest/tests"
	tests | cut -d ' ' -f 1 | sort -u | while read -r test; do
		[ -f "$build/st/$ARCH-patched/$test" ] || die "TESTS: there is no selftest $test"
		install -D -m 755 "$build/st/$ARCH-patched/$test" "$stage/guest/st/$test"
	done
	make_cpio "$stage/guest" "$stage/root/qemu/guest.cpio"
	install -m 755 "$root/tools/nested/drive" "$stage/root/qemu/drive"
	make_cpio "$stage/root" "$archive.new"
	rm -rf "$stage"
	mv "$archive.new" "$archive"
	printf '%s\n' "$inputs" >"$archive.inputs"
	say INITRD "migrate/nested.cpio, $(du -m "$archive" | cut -f1) MiB"
}

# measure TREE: one boot
measure() {
	local out=$results/$1.out plugin=''
	say NESTED "$1: Linux as guest hypervisor, $(tests | wc -l) tests"
	[ "$ICOUNT" = 0 ] || plugin=$(profiler "$ARCH" "$1" "$results/$1.functions")
	CMD="export TRIES=$TRIES LIMIT=$LIMIT WAIT=$WAIT GUEST_MIB=$GUEST_MIB APPEND='console=$console rdinit=/init panic=-1 quiet'; /qemu/drive" \
		TREE=$1 MODE=nested CPU='' MEM=$((GUEST_MIB + 1024))M TIMEOUT=$TIMEOUT CONFIG='' APPEND='' INITRD=$archive SMP=1 ICOUNT=$ICOUNT \
		PLUGIN=$plugin "$root/scripts/run.sh" >"$out" || die "$1: $(grep -a '^drive: error' "$out" || echo 'the boot failed') (all of it: $out)"
	[ "${V:-0}" = 0 ] || cat "$out"
	sed -n "s/^try .*stalled/          $1: &/p" "$out"
}

# figures TREE: "<figure> <unit> <value> <status>", separated by tabs. The clock of the guest counts hundredths of a second, and with
# icount a nanosecond is an instruction.
figures() {
	tr -d '\r' <"$results/$1.out" | awk -v icount="$ICOUNT" 'BEGIN { OFS = "\t"; unit = icount == 1 ? "instructions" : "ms" }
		function span(n) { return icount == 1 ? sprintf("%.0f", n * 1e7) : n * 10 }
		/^nested: up/ { print "boot", unit, span($3), 0 }
		/^nested: end/ { status = $3; n = $4; sub(/^nested: end [0-9]+ [0-9]+ /, ""); print $0, unit, span(n), status }
		/^driven/ { print "tries", "boots", $2, 0 }'
	[ "$ICOUNT" = 0 ] || awk '$3 == "[total]" { printf "host\tinstructions\t%.0f\t0\n", $1 }' "$results/$1.functions"
}

# joined: the figures of both kernels in one table
joined() {
	local tree
	for tree in base patched; do
		: >"$results/$tree.figures"
		[ ! -f "$results/$tree.out" ] || figures "$tree" >"$results/$tree.figures"
	done
	awk 'BEGIN { FS = OFS = "\t"; print "figure", "unit", "base", "patched", "ratio", "status" }
		!seen[$1]++ { order[++n] = $1; unit[$1] = $2 }
		{ tree = FILENAME ~ /base.figures$/ ? "base" : "patched"; value[tree, $1] = $3; status[tree, $1] = $4 }
		function of(list, tree, f) { return (tree, f) in list ? list[tree, f] : "-" }
		END {
			for (i = 1; i <= n; i++) {
				f = order[i]
				b = of(value, "base", f)
				p = of(value, "patched", f)
				print f, unit[f], b, p, (b > 0 && p != "-" ? sprintf("%.3f", p / b) : "-"), of(status, "base", f) "/" of(status, "patched", f)
			}
		}' "$results/base.figures" "$results/patched.figures"
}

# functions: those of the host's kernel in which most instructions of either kernel are spent, and what is none of its
functions() {
	printf 'function\tunit\tbase\tpatched\tratio\n'
	awk -v top="$TOP" 'BEGIN { OFS = "\t" }
		{ sub(/\..*/, "", $3); tree = FILENAME ~ /base.functions$/ ? "base" : "patched"; n[tree, $3] += $1; if ($1 > most[$3]) most[$3] = $1 }
		END { for (f in most) print most[f], f, n["base", f] + 0, n["patched", f] + 0 }' "$results/base.functions" "$results/patched.functions" |
		sort -rn | awk -v top="$TOP" 'NR <= top + 2 { printf "%s\tinstructions\t%.0f\t%.0f\t%s\n", $2, $3, $4, ($3 > 0 ? sprintf("%.3f", $4 / $3) : "-") }'
}

# keep NAME FUNCTION: its table, in a file and for people
keep() {
	{
		provenance "$results/${TREES%% *}.out" "TRIES=$TRIES LIMIT=$LIMIT GUEST_MIB=$GUEST_MIB"
		"$2"
	} >"$results/$1.tsv.new"
	mv "$results/$1.tsv.new" "$results/$1.tsv"
	grep -v '^#' "$results/$1.tsv" | column -t -s $'\t'
	say RESULTS "build/results/nested/$1.tsv"
}

began=$SECONDS
mkdir -p "$results" "$logs"
"$root/scripts/packages.sh" fetch build boot migrate
take_lock
CONFIG='' MODE=nested "$root/scripts/build.sh" "$ARCH" base patched
vmm_root
pack
rm -f "$results"/*
measure_trees boot
keep "$ARCH" joined
[ "$ICOUNT" = 0 ] || [ "$TREES" != "base patched" ] || keep "$ARCH-functions" functions
failed=$(awk -F'\t' '!/^#/ && $1 != "figure" && $6 !~ /^(0|-)\/(0|-)$/ { print $1 " (" $6 ")" }' "$results/$ARCH.tsv")
say "" "$(elapsed $((SECONDS - began)))"
[ -z "$failed" ] || die "tests in the guest hypervisor failed (base/patched): ${failed//$'\n'/, }"
