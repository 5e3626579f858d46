#!/bin/bash
# check-selftests.sh ARCH [FRAGMENT...]: runs check.tests of one architecture on both kernels, side by side, and judges the
# difference. One "ok", "not ok" or "ok ... # SKIP" line a test.
#
# With FRAGMENTs, which arch/ARCH/configs/ has (`make check PHASES=config`), the kernels are those built with them. Tests may
# take SLOW times as long. TREES="patched" leaves base out, MODES="vhe nested" other modes.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "usage: check-selftests.sh arm64|x86 [FRAGMENT...]"
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
results=$build/results/check${fragments:+-${fragments// /-}}
mkdir -p "$results"

# tests MODE: seconds<TAB>command<TAB>known failure
tests() {
	awk -F'|' -v arch="$ARCH" -v mode="$1" '
		/^#/ || NF < 4 { next }
		{ for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i) }
		$1 == arch && $2 == mode { print $3 "\t" $4 "\t" $5 }' "$root/scripts/check.tests"
}

# changed TEST: whether the patches touch the source of TEST, or add it.
changed() { ! git -C "$patched_tree" diff --quiet base HEAD -- "tools/testing/selftests/kvm/$1.c"; }

# guest_script MODE TREE: "end <status> <command>" says how each test ended.
guest_script() {
	local seconds command known test dir
	# Bochs has no memory to spare, and its tests do without. $block: 2M with 4K pages, 32M with 16K, 512M with 64K.
	[ -n "$(mode_bochs "$1")" ] || cat <<-'END'
		kib=$(sed -n 's/^Hugepagesize: *\([0-9]*\) kB/\1/p' /proc/meminfo)
		block=${kib}K
		echo $((1120 * 1024 / kib)) >/sys/kernel/mm/hugepages/hugepages-${kib}kB/nr_hugepages
	END
	tests "$1" | while IFS=$'\t' read -r seconds command known; do
		test=${command%% *}
		dir=/st-base
		! changed "$test" || dir=/st
		# What the test's shell script in the kernel tree sets up; without it, the test has nothing to see.
		[ "$test" != x86/nx_huge_pages_test ] || echo 'cd /sys/module/kvm/parameters; echo 1 >nx_huge_pages;' \
			'echo 1 >nx_huge_pages_recovery_ratio; echo 100 >nx_huge_pages_recovery_period_ms; cd -'
		printf "echo '# %s'; timeout -k 5 %s %s/%s; echo end \$? '%s'\n" "$command" $((seconds * slow)) "$dir" "$command" "$command"
	done
	# It turns itself off without much ado, e.g. when it has seen too many locks.
	echo '[ ! -e /proc/lockdep_stats ] || grep -q "debug_locks: *1" /proc/lockdep_stats'
}

# boot TREE MODE
boot() {
	CMD=$(guest_script "$2") TREE=$1 MODE=$2 CPU='' SMP=2 MEM=${MEM:-3G} TIMEOUT=$((1200 * slow)) CONFIG=$fragments APPEND='' ICOUNT=0 \
		OUT="$results/$ARCH-$1-$2.out" "$root/scripts/run.sh" >/dev/null 2>"$results/$ARCH-$1-$2.err"
}

status() { awk -v c="$2" '/^end / { s = $2; sub(/^end [0-9]+ /, ""); if ($0 == c) { print s; exit } }' "$1"; }

judge() {
	local mode=$1 seconds command known b p
	tests "$mode" | while IFS=$'\t' read -r seconds command known; do
		name="$ARCH $mode: $command"
		b=-
		case " $trees " in *" base "*) b=$(status "$results/$ARCH-base-$mode.out" "$command") ;; esac
		p=$(status "$results/$ARCH-patched-$mode.out" "$command")
		case $b:$p in
		0:0) echo "ok - $name" ;;
		[-0-9]*:[0-9]*) [ -z "$known" ] || {
			echo "ok - $name # SKIP base $b, patched $p: $known"
			continue
		} ;;&
		-:4) echo "ok - $name # SKIP the test skips itself" ;;
		-:[!0]* | -:) echo "not ok - $name (patched: ${p:-no result}; see $results/$ARCH-patched-$mode.out)" ;;
		4:4) echo "ok - $name # SKIP the test skips itself on both kernels" ;;
		4:0) echo "ok - $name" ;;
		0:*) echo "not ok - $name (base passes, patched: ${p:-no result}; see $results/$ARCH-patched-$mode.out)" ;;
		:*) echo "not ok - $name (no result on base; see $results/$ARCH-base-$mode.out)" ;;
		*:0) echo "ok - $name" ;;
		*) echo "not ok - $name (base $b, patched ${p:-no result}: fails on both; see $results/$ARCH-base-$mode.out)" ;;
		esac
	done
}

# Each mode of this architecture in check.tests once, in that order.
tested=$(awk -F'|' -v arch="$ARCH" '/^#/ || NF < 4 { next } { gsub(/ /, "", $1); gsub(/ /, "", $2) } $1 == arch && !seen[$2]++ { print $2 }' \
	"$root/scripts/check.tests")
for mode in ${MODES:=$tested}; do
	grep -qxF "$mode" <<<"$tested" || die "check.tests has no tests for $ARCH in mode '$mode' (MODES takes: $(xargs <<<"$tested"))"
done

for mode in $MODES; do
	declare -A pid=()
	for tree in $trees; do
		boot "$tree" "$mode" &
		pid[$tree]=$!
	done
	for tree in $trees; do
		if wait "${pid[$tree]}"; then
			echo "ok - $ARCH $mode: $tree boots, and its log is clean"
		else
			echo "not ok - $ARCH $mode: $tree: $(tail -n 1 "$results/$ARCH-$tree-$mode.err")"
		fi
	done
	judge "$mode"
done
