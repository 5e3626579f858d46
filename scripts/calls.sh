#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# calls.sh: how often the base and the patched kernel call a function, and for how long they keep others from a lock, in the
# scenarios of calls.scenarios: one CPU, icount, and the plugin tools/qemu/calls.c. The kernel knows nothing of it.
#
#	ARCH    arm64 or x86
#	ONLY    a regular expression: only the scenarios whose name it matches
#
# Results: build/results/<arch>-calls.tsv (scenario figure base patched target), or <arch>-calls-only.tsv, and a table. A figure above its target fails.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=${ARCH:-arm64}
arch "$ARCH"
results=$build/results
tsv=$results/$ARCH-calls${ONLY:+-only}.tsv
began=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
columns "$root/scripts/calls.scenarios" 8 >"$work/scenarios"
bad=$(awk -F'\t' -v arches=" $archs " '
	index(arches, " " $2 " ") == 0 { print $9 ": unknown arch \"" $2 "\": use one of" arches }
	$5 !~ /^([1-9][0-9]*|max( [a-z_0-9]+)?)$/ { print $9 ": \"" $5 "\" is neither the nth call nor max" }
	$8 !~ /^(-|base|[0-9]+)$/ { print $9 ": the target \"" $8 "\" is no number, base or -" }' "$work/scenarios" | head -n 1)
[ -z "$bad" ] || die "scripts/calls.scenarios:$bad"

# scenarios: name, mode, function, which call, figure, command, target, separated by tabs
scenarios() {
	awk -F'\t' -v arch="$ARCH" -v only="${ONLY:-.}" -v mode="${modes%% *}" '
		$2 != arch || $1 !~ only { next }
		$3 == "-" { $3 = mode }
		{ print $1 "\t" $3 "\t" $4 "\t" $5 "\t" $6 "\t" $7 "\t" $8 }' "$work/scenarios"
}

# runs: number, mode, function and command of each boot; where scenarios share it they share the number
runs() { scenarios | awk -F'\t' '!seen[$2, $3, $6]++ { print ++n "\t" $2 "\t" $3 "\t" $6 }'; }

# counted: the functions whose calls are of interest to any scenario
counted() { scenarios | awk -F'\t' '$5 != "longest" { gsub(/\+/, "\n", $5); print $5 } sub(/^max /, "", $4) { print $4 }' | sort -u; }

# functions TREE ROLE NAME: ",ROLE=name:address:size" for the plugin; nothing if the kernel has no such function. What the
# compiler appends to the names of copies is left out. A NAME that ends in "_" stands for all that begin with it.
functions() {
	"${cross}nm" -S --defined-only "$(obj_dir "$ARCH" "$1")/vmlinux" | awk -v role="$2" -v name="$3" '
		NF == 4 && $3 ~ /[tT]/ {
			copy = $4
			sub(/\..*/, "", copy)
			if (copy == name || (name ~ /_$/ && index(copy, name) == 1))
				printf ",%s=%s:%s:%s", role, copy, $1, $2
		}'
}

# plugin TREE FUNCTION OUT: the plugin with its arguments
plugin() {
	local name args="$build/qemu/calls.so,out=$3"
	if [ "$2" != total ]; then
		name=$(functions "$1" scope "$2")
		[ -n "$name" ] || die "the $1 kernel has no function $2 of its own: choose another one in calls.scenarios"
		args+=$name
	fi
	for name in $(counted); do
		args+=$(functions "$1" count "$name")
	done
	args+=$(functions "$1" lock _raw_write_lock)$(functions "$1" check __cond_resched_rwlock_write)
	args+=$(functions "$1" unlock _raw_write_unlock)
	for name in $interrupts; do
		args+=$(functions "$1" pause "$name")
	done
	echo "$args"
}

# measure TREE NUMBER MODE FUNCTION COMMAND: one boot
measure() {
	local with
	with=$(plugin "$1" "$4" "$results/calls-$1-$2.raw")
	CMD="echo 600 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages; export COUNT_ALONE=1; /st/$5" TREE=$1 MODE=$3 CPU='' ICOUNT=1 MEM=6G \
		TIMEOUT=1800 CONFIG='' PLUGIN=$with "$root/scripts/run.sh" >"$results/calls-$1-$2.out"
}

measure_all() {
	local number mode function command tree pids pid
	rm -f "$results"/calls-*
	while IFS=$'\t' read -r number mode function command <&3; do
		say CALLS "$mode: $command"
		pids=()
		for tree in base patched; do
			measure "$tree" "$number" "$mode" "$function" "$command" &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid" || die "a run failed: $command (its output: $results/calls-*-$number.out)"
		done
	done 3< <(runs)
}

# figure TREE NUMBER WHICH FIGURE: from the plugin's output
figure() {
	awk -v which="$3" -v figure="$4" '
		/^error/ { exit }
		{
			value = ""
			chosen = which == "max"
			for (i = 3; i < NF; i += 2) {
				if (index("+" figure "+", "+" $i "+")) value = value + $(i + 1)
				if (index(which, "max ") == 1 && index($i, substr(which, 5)) == 1 && $(i + 1) > 0) chosen = 1
			}
			if (which !~ /^max/) chosen = $2 == which && !seen++
			if (chosen && value != "" && (best == "" || value > best)) best = value
		}
		END { print best }' "$results/calls-$1-$2.raw"
}

table() {
	local name mode function which figure command target number b p verdict bad=0
	printf '# patches %s\n# date %s\nscenario\tfigure\tbase\tpatched\ttarget\n' "$(patches_hash | cut -c 1-16)" "$(date -u +%F)" >"$tsv"
	printf '%-22s %-42s %12s %12s %8s\n' scenario figure base patched target
	while IFS=$'\t' read -r name mode function which figure command target; do
		number=$(runs | awk -F'\t' -v m="$mode" -v f="$function" -v c="$command" '$2 == m && $3 == f && $4 == c { print $1 }')
		b=$(figure base "$number" "$which" "$figure")
		p=$(figure patched "$number" "$which" "$figure")
		if [ -z "$b" ] || [ -z "$p" ]; then
			die "no figure for $name (raw output: $results/calls-*-$number.raw)"
		fi
		[ "$target" != base ] || target=$b
		verdict=
		if [ "$target" != - ] && [ "$p" -gt "$target" ]; then
			verdict=" more than the target"
			bad=1
		fi
		printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$figure" "$b" "$p" "$target" >>"$tsv"
		printf '%-22s %-42s %12s %12s %8s%s\n' "$name" "$figure" "$b" "$p" "$target" "$verdict"
	done < <(scenarios)
	say RESULTS "${tsv#"$root"/} ($(elapsed $((SECONDS - began))))"
	return "$bad"
}

[ -n "$(scenarios)" ] || die "no scenario of calls.scenarios has a name that matches ONLY='${ONLY:-}' for ARCH=$ARCH"
mkdir -p "$results" "$build/qemu"
export ARCH
take_lock
CONFIG='' MODE='' "$root/scripts/build.sh" "$ARCH" base patched
gcc -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$build/qemu/calls.so" "$root/tools/qemu/calls.c" ||
	die "tools/qemu/calls.c does not build"
measure_all
table
