#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench.sh: runs the scenarios of bench.scenarios on the base and on the patched kernel and sets them side by side.
#
#	ARCH    arm64 or x86			BENCH   quick, full, or perf: what make check compares
#	VENDOR  intel: the scenarios for Intel VMX, in Bochs (x86)
#	METRIC  insns: instructions of the measuring thread under QEMU's TCG with icount (exact, repeatable)
#		time: wall time, REPEAT times each, median and spread
#	HERE    base or patched: measure time on the running kernel (real hardware, /dev/kvm), keep it under that name,
#		and print the table once both have been measured
#	COUNTS  with HERE: a file that build/here/<arch>/run has printed, there or on another machine; it is only kept
#	ONLY    a regular expression: only the scenarios whose name it matches
#
# Results: build/results/<name>.tsv, where name is <arch>[-<vendor>][-here][-<BENCH, if not quick>][-only]; what was measured with
# what is in its first lines. `make results ACCEPT=1` makes documents of it.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=${ARCH:-arm64} BENCH=${BENCH:-quick} METRIC=${METRIC:-insns}
[ -z "${HERE:-}" ] || METRIC="time"
arch "$ARCH"
case $BENCH in quick | full | perf) ;; *) die "unknown BENCH '$BENCH': use quick, full or perf" ;; esac
case $METRIC in insns | time) ;; *) die "unknown METRIC '$METRIC': use insns or time" ;; esac
[ -z "${HERE:-}" ] || tree_dir "$HERE" >/dev/null
[ -z "${HERE:-}${COUNTS:-}" ] || [ -z "${VENDOR:-}" ] || die "VENDOR=$VENDOR is for Bochs: HERE= measures what this machine has"
[ -z "${COUNTS:-}" ] || [ -n "${HERE:-}" ] || die "COUNTS= needs HERE=base or HERE=patched: what $COUNTS was measured on"
[ -z "${COUNTS:-}" ] || grep -qs "^# tree $HERE\$" "$COUNTS" || die "the file $COUNTS has no counts of $HERE"
wanted=${VENDOR:-$BENCH}
name=$ARCH${VENDOR:+-$VENDOR}
[ "$METRIC" = insns ] || name+=-time
[ -z "${HERE:-}" ] || name=$ARCH-here
[ "$wanted" = quick ] || [ "$wanted" = "${VENDOR:-}" ] || name+=-$wanted
[ -z "${ONLY:-}" ] || name+=-only
bochs=$(mode_bochs "${modes%% *}")
emulator="TCG with icount"
if [ -n "$bochs" ]; then
	[ "$METRIC" = insns ] || die "METRIC=$METRIC says nothing in Bochs: use insns"
	emulator="Bochs ($bochs)"
fi
repeat=1
[ "$METRIC" = insns ] || repeat=${REPEAT:-5}
results=$build/results
began=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every line of the file must say something; then those of ARCH and BENCH: scenario, mode, "phase nth", command, published, noise.
# @density@ in a phase stands for each of the densities in the command's -d.
columns "$root/scripts/bench.scenarios" 7 >"$work/all"
arches=$(cd "$root/arch" && echo *)
# Only QEMU with icount repeats to the digit where a scenario does not state its noise.
exact=$([ -n "$bochs" ] || [ "$METRIC" = "time" ] || echo 1)
awk -F'\t' -v exact="$exact" -v only="${ONLY:-.}" -v arch="$ARCH" -v arches=" both $arches " -v set="$wanted" -v options="$bench_options" -v modes="$modes" '
	function wrong(why) {
		print $8 ": " why >"/dev/stderr"
		exit 1
	}
	$2 !~ /^(quick|full|intel)$/ { wrong("unknown set \"" $2 "\": use quick, full or intel") }
	index(arches, " " $3 " ") == 0 { wrong("unknown arch \"" $3 "\": use one of" arches) }
	$5 !~ /^[a-z0-9@-]+ ([1-9][0-9]*|min)$/ { wrong("\"" $5 "\" is no phase and number") }
	{
		published = "-"
		noise = exact ? 0 : "-"
		perf = 0
		n = split($7, p, " ")
		for (i = 1; i <= n; i++) {
			if (p[i] == "perf") perf = 1
			else if (p[i] ~ /^noise=0\.[0-9]+$/) noise = substr(p[i], 7)
			else if (p[i] !~ /^([a-z0-9]+=[0-9.]+|-)$/) wrong("\"" p[i] "\" is no <arch>=<ratio>, noise=<fraction>, perf or -")
			else if (index(p[i], arch "=") == 1) published = substr(p[i], length(arch) + 2)
		}
		if ($3 != "both" && $3 != arch) next
		if (set == "perf" ? !perf : $2 != set && ($2 != "quick" || set != "full")) next
		split(modes, m, " ")
		if ($4 == "-") $4 = m[1]
		split($4, m, "+")
		if (index(" " modes " ", " " m[1] " ") == 0) wrong("unknown mode \"" $4 "\" for " arch)
		gsub(/ *@arch@/, options, $6)
		if ($1 !~ /@density@/) {
			if ($1 ~ only) print $1 "\t" $4 "\t" $5 "\t" $6 "\t" published "\t" noise
			next
		}
		if (!match($6, / -d [a-z0-9,]+/)) wrong("@density@ without a list of densities in the command (-d)")
		n = split(substr($6, RSTART + 4, RLENGTH - 4), d, ",")
		for (i = 1; i <= n; i++) {
			scenario = $1
			phase = $5
			density = d[i] ~ /^[0-9]+$/ ? "1in" d[i] : d[i]
			gsub(/@density@/, density, scenario)
			gsub(/@density@/, density, phase)
			if (scenario !~ only) continue
			print scenario "\t" $4 "\t" phase "\t" $6 "\t" published "\t" noise
		}
	}' "$work/all" >"$work/scenarios" 2>"$work/wrong" || die "scripts/bench.scenarios:$(head -n 1 "$work/wrong")"
double=$(cut -f1 "$work/scenarios" | sort | uniq -d | head -n 1)
[ -z "$double" ] || die "bench.scenarios has two scenarios named $double for ARCH=$ARCH"
[ -s "$work/scenarios" ] || die "bench.scenarios has no scenario for ARCH=$ARCH BENCH=$wanted ONLY='${ONLY:-}'"

scenario_modes() { cut -f2 "$work/scenarios" | sort -u; }

# commands MODE DIR TOOLS: each distinct command of MODE, and behind a tab the shell command that runs it. Tests are in DIR;
# "figures" and what it may be followed by are in TOOLS and DIR.
commands() {
	awk -F'\t' -v mode="$1" -v dir="$2" -v tools="$3" '
		$2 == mode && !seen[$4]++ {
			command = dir "/" $4
			if (sub(/^figures /, "", $4)) command = tools "/figures " dir "/" $4
			print $4 "\t" command
		}' "$work/scenarios"
}

# huge_pages: how many of 2 MiB the scenarios need
huge_pages() { if [ "$wanted" = full ]; then echo 300; else echo 64; fi; }

# guest_script MODE: what a boot runs
guest_script() {
	echo "echo $(huge_pages) >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	# shellcheck disable=SC2016 # for the guest's shell
	echo 'echo "# kernel $(uname -rv)"'
	[ "$METRIC" = time ] || echo 'export COUNT_ALONE=1'
	commands "$1" /st /fw | awk -F'\t' -v repeat="$repeat" '
		{ for (i = 0; i < repeat; i++) printf "echo \"run %s\"; %s 2>&1; echo \"status $?\"\n", $1, $2 }'
}

# header TREE: what is measured with what; the kernel speaks for itself
header() {
	local host="$emulator"
	[ -n "$bochs" ] || host="QEMU $("$qemu" --version | awk 'NR == 1 { print $4 }'), $emulator"
	printf '# %s\n' "tree $1" "metric $METRIC" "arch $ARCH" "set $wanted" "patches $(patches)" "date $(date -u +%F)" "host $host"
}

# patches: the base and the patches that are measured, in short
patches() { patches_hash | cut -c 1-16; }

# measure_qemu TREE MODE: one boot.
measure_qemu() {
	local icount=0 mem=2G limit=2700 extra=
	[ "$METRIC" = time ] || icount=1
	# 1 GiB pages cannot be made later.
	[ "$wanted" != full ] || mem=6G limit=14400 extra="hugepagesz=1G hugepages=2"
	CMD=$(guest_script "$2") TREE=$1 MODE=$2 CPU='' ICOUNT=$icount SMP=2 MEM=$mem APPEND=$extra \
		TIMEOUT=$((repeat * limit)) OUT=$results/$name-$1-$2.raw \
		CONFIG='' "$root/scripts/run.sh" >/dev/null
}

# progress: the last command that each boot has begun.
progress() {
	local tree raw
	for tree in base patched; do
		for raw in "$results/$name-$tree"-*.raw; do
			[ ! -f "$raw" ] || printf '          %s  %-8s%s of %s: %s\n' "$(elapsed $((SECONDS - began)))" "$tree" \
				"$(grep -ac '^run ' "$raw" || true)" "$commands" "$(grep -a '^run ' "$raw" | tail -n 1 | cut -c 5-90)"
		done
	done
}

measure_all_qemu() {
	local mode pids pid ticks commands
	rm -f "$results/$name-base"-*.raw "$results/$name-patched"-*.raw
	for mode in $(scenario_modes); do
		say BENCH "$ARCH $mode: base and patched, $METRIC"
		commands=$(($(commands "$mode" x x | wc -l) * repeat))
		pids=()
		for tree in base patched; do
			measure_qemu "$tree" "$mode" &
			pids+=($!)
			# Instructions do not depend on what else runs; times do.
			[ "$METRIC" = insns ] || wait "${pids[-1]}" || die "the $tree run failed"
		done
		ticks=0
		while kill -0 "${pids[@]}" 2>/dev/null; do
			sleep 1
			ticks=$((ticks + 1))
			[ $((ticks % 15)) -ne 0 ] || progress
		done
		for pid in "${pids[@]}"; do
			wait "$pid" || die "a run failed: no table (its message is above)"
		done
	done
	for tree in base patched; do
		{
			header "$tree"
			cat "$results/$name-$tree"-*.raw
		} >"$results/$name-$tree.counts"
	done
}

# make_kit: build/here/<arch>, all that a host needs to measure itself: static tests, and a script for any shell.
make_kit() {
	local kit=$build/here/$ARCH test mode
	mkdir -p "$build/here"
	rm -rf "$kit" "$kit.new"
	mkdir -p "$kit.new/st"
	cp "$root/tools/guest/figures" "$kit.new/"
	cut -f4 "$work/scenarios" | sed 's/^figures //; s/ .*//' | sort -u | while read -r test; do
		install -D -m 755 "$build/st/$ARCH-patched/$test" "$kit.new/st/$test"
	done
	{
		cat <<-'EOF'
			#!/bin/sh
			# run TREE: measures the running kernel, which is TREE, and prints counts for make bench HERE=TREE COUNTS=<file>.
			# Made by bench.sh. Needs root, /dev/kvm and nothing else.
			tree=${1:-$TREE} here=$(dirname "$0")
			st=${ST:-$here/st} fw=${FW:-$here}
			[ -n "$tree" ] || { echo "usage: run base|patched" >&2; exit 2; }
			[ -w /dev/kvm ] || { echo "run: error: no access to /dev/kvm: load KVM, or be root" >&2; exit 1; }
			echo "# tree $tree"
			echo "# host $(uname -nm)"
			echo "# date $(date -u +%Y-%m-%d)"
			echo "# kernel $(uname -rv)"
			echo "# boot $(cat /proc/sys/kernel/random/boot_id)"
			huge=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
			before=$(cat $huge) && trap 'echo "$before" >$huge' EXIT
		EOF
		echo "echo $(huge_pages) >\$huge && repeat=$repeat"
		header - | sed -n '/^# \(metric\|arch\|set\|patches\) /s/.*/echo "&"/p'
		echo "mode=\$($mode_here)"
		cat <<-'EOF'
			echo "# mode ${mode:-unknown}"
			measure() {
				name=$1 i=0
				shift
				while [ $i -lt $repeat ]; do
					i=$((i + 1))
					echo "measuring $name ($i)" >&2
					echo "run $name"
					"$@" 2>&1
					echo "status $?"
				done
			}
		EOF
		for mode in $(scenario_modes); do
			# The scenarios of the first mode are for all of them.
			[ "$mode" = "${modes%% *}" ] || echo "if [ \"\$mode\" = ${mode%%+*} ]; then"
			# shellcheck disable=SC2016 # for the host's shell
			commands "$mode" '$st' '$fw' | awk -F'\t' '{ printf "measure \"%s\" %s\n", $1, $2 }'
			[ "$mode" = "${modes%% *}" ] || echo "fi"
		done
	} >"$kit.new/run"
	chmod +x "$kit.new/run"
	mv "$kit.new" "$kit"
}

# measure_here: the running kernel, on this machine; HERE names it.
measure_here() {
	local counts=$results/$name-$HERE.counts
	case $(uname -m):$ARCH in
	aarch64:arm64 | x86_64:x86) ;;
	*) [ -n "${COUNTS:-}" ] || die "this machine is $(uname -m), not $ARCH: run build/here/$ARCH/run there, and bring what it prints with COUNTS=" ;;
	esac
	if [ -z "${COUNTS:-}" ]; then
		[ -w /dev/kvm ] || die "no access to /dev/kvm: HERE= measures the running kernel on real hardware"
		say BENCH "$ARCH, here, as $HERE: $(uname -r)"
		"$build/here/$ARCH/run" "$HERE" >"$work/counts" || die "the run failed"
		COUNTS=$work/counts
	fi
	cp "$COUNTS" "$counts.new"
	mv "$counts.new" "$counts"
}

table() {
	local tsv=$results/$name.tsv
	rm -f "$tsv"
	awk -v metric="$METRIC" -v patches="$(patches)" -v partial="${HERE:+1}" -v base="$results/$name-base.counts" \
		-v patched="$results/$name-patched.counts" -f "$root/scripts/table.awk" "$work/scenarios" >"$work/tsv" ||
		die "no table (see above; raw output: $results/$name-*.counts)"
	cp "$work/tsv" "$tsv.new"
	mv "$tsv.new" "$tsv"
	echo
	if [ "$METRIC" = insns ]; then
		echo "$name, instructions of the calling thread (where no other unit is given), under $emulator; published: ratio of hardware time"
	else
		echo "$name, wall time in ns, median of $repeat; published: ratio of hardware time"
	fi
	awk -f "$root/scripts/show.awk" "$tsv"
	echo
	say RESULTS "${tsv#"$root"/} ($(elapsed $((SECONDS - began))))"
}

case ${1:-} in
list)
	awk -F'\t' '{ printf "%-28s %-16s %-14s %s\n", $1, $2, $3, $4 }' "$work/scenarios"
	exit 0
	;;
"") ;;
*) die "usage: bench.sh [list]" ;;
esac

mkdir -p "$results"
take_lock
if [ -n "${HERE:-}" ]; then
	"$root/scripts/packages.sh" fetch build
	"$root/scripts/fetch.sh"
	"$root/scripts/tree.sh"
	"$root/scripts/selftests.sh" "$ARCH" patched
	make_kit
	measure_here
	if [ ! -f "$results/$name-base.counts" ] || [ ! -f "$results/$name-patched.counts" ]; then
		say "" "measured $HERE; boot the other kernel and run this again with its name to get the table"
		exit 0
	fi
else
	CONFIG='' MODE='' "$root/scripts/build.sh" "$ARCH" base patched
	measure_all_qemu
fi
table
