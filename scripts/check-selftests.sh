#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-selftests.sh ARCH|list [FRAGMENT...]: runs check.tests of one architecture on both kernels, side by side, and judges the
# difference. One "ok", "not ok" or "ok ... # SKIP" line a test.
#
# With FRAGMENTs, which arch/ARCH/configs/ has (`make check PHASES=config`), the kernels are those built with them. Tests may
# take SLOW times as long. TREES="patched" leaves base out, MODES="vhe nested" other modes. "list" shows the tests.
#
# For matrix.sh: LIST is another file than check.tests, NAME the folder of the results, ST where in the guest all tests are taken from,
# ARGS more kernel command line, AGAIN how often a test with a known failure gets another try (3). <results>/statuses has a line for
# each test: <mode> <command> <base> <patched>, separated by tabs.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "usage: check-selftests.sh arm64|x86|list [FRAGMENT...]"

# list: arch<TAB>mode<TAB>seconds<TAB>command<TAB>known failure. A line that is none of this is an error, not one test less.
list() {
	local n=0 i line column
	local -A modes=()
	while IFS= read -r line || [ -n "$line" ]; do
		n=$((n + 1))
		case $line in '' | "#"*) continue ;; esac
		IFS='|' read -ra column <<<"$line|"
		if [ ${#column[@]} -lt 4 ] || [ ${#column[@]} -gt 5 ]; then
			bad "$n" "has ${#column[@]} columns, not 4 or 5"
		fi
		for i in "${!column[@]}"; do
			column[i]=$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"${column[i]}")
		done
		set -- "${column[@]}"
		[ -f "$root/arch/$1/arch.conf" ] || bad "$n" "has the unknown architecture '$1'"
		[ -n "${modes[$1]:-}" ] || modes[$1]=$(
			VENDOR=''
			arch "$1"
			echo "$modes"
		)
		case " ${modes[$1]} " in *" ${2%%+*} "*) ;; *) bad "$n" "has the unknown mode '$2' for $1 (there are: ${modes[$1]})" ;; esac
		case $3 in '' | *[!0-9]* | 0*) bad "$n" "allows '$3' seconds, which is no number" ;; esac
		[ -n "$4" ] || bad "$n" "has no command"
		[ $# -lt 5 ] || [ -n "$5" ] || bad "$n" "does not say why it may fail"
		printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}"
	done <"$list"
}
bad() { die "scripts/${list##*/}: line $1 $2"; }

list=${LIST:-$root/scripts/check.tests}
all_tests=$(list)
if [ "$1" = list ]; then
	printf '%s\n' "$all_tests"
	exit
fi
export ARCH=$1
arch "$ARCH"
shift
fragments=$*
trees=${TREES:-base patched}
slow=${SLOW:-1}
case $slow in '' | *[!0-9]* | 0*) die "SLOW='$slow' is not a number of times" ;; esac
for tree in $trees; do
	tree_dir "$tree" >/dev/null
done
case " $trees " in *" patched "*) ;; *) die "TREES='$trees' leaves nothing to judge: it must have patched in it" ;; esac
results=$build/results/${NAME:-check${fragments:+-${fragments// /-}}}
mkdir -p "$results"
rm -f "$results/statuses"

# tests MODE: seconds<TAB>command<TAB>known failure
tests() {
	awk -F'\t' -v arch="$ARCH" -v mode="$1" '$1 == arch && $2 == mode { print $3 "\t" $4 "\t" $5 }' <<<"$all_tests"
}

# Tests whose source the patches touch or add.
changed=$(git -C "$patched_tree" diff --name-only base HEAD -- tools/testing/selftests/kvm)

# guest_script MODE: a script for the guest that runs the tests of standard input. "# <command>" says that one begins,
# "end <status> <command>" how it ended. One that cannot be killed says where it is, and takes its machine with it.
guest_script() {
	local seconds command known test dir
	# Bochs has no memory to spare, and its tests do without. $block: 2M with 4K pages, 32M with 16K, 512M with 64K.
	[ -n "$(mode_bochs "$1")" ] || cat <<-'END'
		kib=$(sed -n 's/^Hugepagesize: *\([0-9]*\) kB/\1/p' /proc/meminfo)
		block=${kib}K
		echo $((1120 * 1024 / kib)) >/sys/kernel/mm/hugepages/hugepages-${kib}kB/nr_hugepages
	END
	cat <<-'END'
		turn() {
			seconds=$1 name=$2
			shift 2
			echo "# $name"
			(
				sleep $((seconds + 60))
				echo "cannot be killed; what does not run, and where it waits:"
				for task in /proc/[0-9]*/task/[0-9]*; do
					case $(cut -d' ' -f3 $task/stat) in R) ;; *) echo "$task $(cat $task/comm) $(cat $task/wchan)" ;; esac
				done
				reboot -f
			) &
			watchdog=$!
			timeout -k 5 "$seconds" "$@"
			echo "end $? $name"
			kill $watchdog
		}
	END
	while IFS=$'\t' read -r seconds command known; do
		test=${command%% *}
		dir=/st-base
		# Our own tools are built beside the patched tree's tests only.
		if grep -qxF "tools/testing/selftests/kvm/$test.c" <<<"$changed" || [ -f "$root/tools/guest/$test.c" ]; then dir=/st; fi
		dir=${ST:-$dir}
		# What the test's shell script in the kernel tree sets up; without it, the test has nothing to see.
		[ "$test" != x86/nx_huge_pages_test ] || echo 'cd /sys/module/kvm/parameters; echo 1 >nx_huge_pages;' \
			'echo 1 >nx_huge_pages_recovery_ratio; echo 100 >nx_huge_pages_recovery_period_ms; cd -'
		printf "turn %s '%s' %s/%s\n" $((seconds * slow)) "$command" "$dir" "$command"
	done
	# It turns itself off without much ado, e.g. when it has seen too many locks.
	echo '[ ! -e /proc/lockdep_stats ] || grep -q "debug_locks: *1" /proc/lockdep_stats'
}

# output TREE MODE
output() { echo "$results/$ARCH-$1-$2.out"; }

# boot TREE MODE OUT: runs the tests of standard input
boot() {
	local cmd
	cmd=$(guest_script "$2")
	rm -f "$3"
	touch "$3"
	CMD=$cmd TREE=$1 MODE=$2 CPU='' SMP=2 MEM=${MEM:-3G} TIMEOUT=$((1200 * slow)) CONFIG=$fragments APPEND=${ARGS:-} ICOUNT=0 \
		OUT=$3 "$root/scripts/run.sh" </dev/null >/dev/null 2>"$3.err"
}

# boot_all TREE MODE: all tests of MODE. Where one takes the machine with it, those behind it run in another.
boot_all() {
	local out rc=0 left
	out=$(output "$1" "$2")
	tests "$2" | boot "$1" "$2" "$out" &
	wait $! || rc=$?
	left=$(not_begun "$1" "$2")
	while [ "$rc" -ne 0 ] && [ -n "$left" ]; do
		say AGAIN "$ARCH $2: $1: the machine is gone, $(wc -l <<<"$left") tests go on in another" >&2
		boot "$1" "$2" "$out.more" <<<"$left" &
		wait $! || true
		grep -q '^# ' "$out.more" || break
		cat "$out.more" >>"$out"
		left=$(not_begun "$1" "$2")
	done
	return "$rc"
}

# not_begun TREE MODE: tests that have had no turn; unended TREE MODE: commands that have no end
not_begun() { awk -F'\t' 'NR == FNR { if (sub(/^# /, "")) had[$0]; next } !($2 in had)' "$(output "$1" "$2")" <(tests "$2"); }
unended() {
	awk '/^# / { sub(/^# /, ""); begun[$0] } /^end / { sub(/^end [0-9]+ /, ""); delete begun[$0] }
		END { for (command in begun) print command }' "$(output "$1" "$2")"
}

# status TREE MODE COMMAND [AGAIN]: how it ended; "-" for a tree that is not run
status() {
	case " $trees " in
	*" $1 "*) awk -v c="$3" '/^end / { s = $2; sub(/^end [0-9]+ /, ""); if ($0 == c) { print s; exit } }' "$(output "$1" "$2")${4:-}" ;;
	*) echo - ;;
	esac
}

one_test() { tests "$1" | awk -F'\t' -v command="$2" '$2 == command'; }

# keep_status NAME B P: what was found in the end; NAME is "<arch> <mode>: <command>"
keep_status() {
	local mode=${1#"$ARCH "}
	printf '%s\t%s\t%s\t%s\n' "${mode%%: *}" "${mode#*: }" "$2" "$3" >>"$results/statuses"
}

# verdict NAME B P WHERE: what to make of the exit statuses on base and patched. 124 and 137: it hung, and was ended.
verdict() {
	local name=$1 b=$2 p=$3 where=$4
	keep_status "$name" "$b" "$p"
	case $b:$p in
	0:0 | 4:0 | -:0) echo "ok - $name" ;;
	*: | *:124 | *:137) echo "not ok - $name (patched: hangs or has no result: '$p'; base: '$b'; see $where)" ;;
	-:4) echo "ok - $name # SKIP the test skips itself" ;;
	4:4) echo "ok - $name # SKIP the test skips itself on both kernels" ;;
	-:*) echo "not ok - $name (patched: $p; see $where)" ;;
	0:*) echo "not ok - $name (base passes, patched: $p; see $where)" ;;
	:*) echo "not ok - $name (no result on base; see $where)" ;;
	*:0) echo "ok - $name" ;;
	*) echo "not ok - $name (base $b, patched $p: fails on both; see $where)" ;;
	esac
}

# again NAME MODE COMMAND KNOWN B P: a test that may fail without a fault in KVM has failed: both kernels get more tries. It has
# passed when it passes on patched; it is a skip only where it fails on base as well.
again() {
	local name=$1 mode=$2 command=$3 known=$4 b=$5 p=$6 base=$5 tree where
	local -A pid
	where=$(output '*' "$mode").again
	for _ in $(seq "${AGAIN:-3}"); do
		case $base:$p in *:0 | *: | :* | *:124 | 124:* | *:137 | 137:*) break ;; esac
		say AGAIN "$name (base $b, patched $p)" >&2
		for tree in $trees; do
			one_test "$mode" "$command" | boot "$tree" "$mode" "$(output "$tree" "$mode").again" &
			pid[$tree]=$!
		done
		for tree in $trees; do
			wait "${pid[$tree]}" || echo "not ok - $name, again: $tree: $(tail -n 1 "$(output "$tree" "$mode").again.err")"
		done
		b=$(status base "$mode" "$command" .again)
		p=$(status patched "$mode" "$command" .again)
		[ "$b" = 0 ] || base=$b
		case $base:$p in 0:* | -:*) ;; *) break ;; esac
	done
	case $base:$p in
	0:* | -:* | *:0 | *: | :* | *:124 | 124:* | *:137 | 137:*) verdict "$name" "$base" "$p" "$where" ;;
	*)
		keep_status "$name" "$base" "$p"
		echo "ok - $name # SKIP base $base, patched $p: $known"
		;;
	esac
}

judge() {
	local mode=$1 seconds command known b p name
	while IFS=$'\t' read -r seconds command known <&3; do
		name="$ARCH $mode: $command"
		b=$(status base "$mode" "$command")
		p=$(status patched "$mode" "$command")
		# Base may hang now and then, under emulation or by a fault of its own. That proves nothing about the patches, so that
		# it gets a second try.
		case $b:$p in
		*: | *:124 | *:137) ;;
		:* | 124:* | 137:*)
			say AGAIN "$name (base hangs: '$b', patched $p)" >&2
			one_test "$mode" "$command" | boot base "$mode" "$(output base "$mode").again" &
			wait $! || true
			b=$(status base "$mode" "$command" .again)
			;;
		esac
		case ${known:+known}:$b:$p in
		*:0 | *:4:4 | :*) verdict "$name" "$b" "$p" "$(output '*' "$mode")" ;;
		*) again "$name" "$mode" "$command" "$known" "$b" "$p" ;;
		esac
	done 3< <(tests "$mode")
}

# Each mode of this architecture in check.tests once, in that order.
tested=$(awk -F'\t' -v arch="$ARCH" '$1 == arch && !seen[$2]++ { print $2 }' <<<"$all_tests")
for mode in ${MODES:=$tested}; do
	grep -qxF "$mode" <<<"$tested" || die "check.tests has no tests for $ARCH in mode '$mode' (MODES takes: $(xargs <<<"$tested"))"
done

n=0
for mode in $MODES; do
	n=$((n + 1))
	say BOOT "$ARCH $mode: $(tests "$mode" | wc -l) tests ($n of $(wc -w <<<"$MODES") modes)"
	declare -A pid=()
	for tree in $trees; do
		boot_all "$tree" "$mode" &
		pid[$tree]=$!
	done
	for tree in $trees; do
		if wait "${pid[$tree]}"; then
			echo "ok - $ARCH $mode: $tree boots, and its log is clean"
			continue
		fi
		why=$(tail -n 1 "$(output "$tree" "$mode").err")
		hung=$(unended "$tree" "$mode")
		# A test of base that has no end is judged below, with a second try.
		case $tree:$hung in
		base:?*) echo "# $ARCH $mode: base hangs in ${hung//$'\n'/, }: $why" ;;
		*) echo "not ok - $ARCH $mode: $tree: $why" ;;
		esac
	done
	judge "$mode"
done
