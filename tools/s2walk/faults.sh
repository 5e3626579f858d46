#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# faults.sh DIR BUILD S2WALK THREADS PATCHED.C BASE.C [LOOPS PATCHED.INC BASE.INC]:
# prove the harness.
#
# Each faults/*.sed puts one fault into a copy of the patched pgtable.c, or, if
# its code isn't there, of base's; loops-*.sed, save for loops-walk-*, into what
# loops.sh took from the trees. BUILD is the command that builds a walker from it; the tests must then
# fail. A fault that fits neither tree proves nothing any more, and fails. As many
# faults at a time as there are CPUs. Prints KTAP.
set -u

here=$(dirname "$0")

# One fault. Prints "ok|not ok", a remark, and comments on lines of their own.
try() # DIR NAME BUILD S2WALK THREADS PATCHED.C BASE.C [LOOPS PATCHED.INC BASE.INC]
{
	name=$2 build=$3 s2walk=$4 threads=$5 loops=${8:-} patched=$6 base=$7
	flavour=check file=pgtable.c
	case $name in
	shared-*) flavour=tsan ;;
	loops-walk-*) flavour=loops ;;
	loops-*) flavour=loops file=loops.inc patched=$9 base=${10} ;;
	esac
	script=$here/faults/$name.sed
	what=$(sed -n '1s/^# //p' "$script")
	out=$1/$name
	rm -rf "$out"
	mkdir -p "$out"
	tree=
	for candidate in "patched $patched" "base $base"; do
		sed -f "$script" "${candidate#* }" > "$out/$file" || break
		cmp -s "${candidate#* }" "$out/$file" && continue
		tree=${candidate%% *}
		break
	done
	if [ -z "$tree" ]; then
		echo "not ok fits neither tree any more: mend faults/$name.sed, or remove it with what it proves"
		return
	fi
	if ! $build FLAVOUR="$flavour" FAULT_TREE="$tree" FAULT="$out" > "$out/build.log" 2>&1; then
		echo "not ok does not build, see $out/build.log"
		return
	fi
	if [ "$flavour" = tsan ]; then
		# Races are a matter of luck
		for _ in 1 2 3 4 5; do
			LD_LIBRARY_PATH=$out "$threads" > "$out/log" 2>&1 || break
		done
		false
	elif [ "$flavour" = loops ]; then
		LD_LIBRARY_PATH=$out timeout 300 "$loops" --tree "$tree" --count 600 > "$out/log" 2>&1
	else
		LD_LIBRARY_PATH=$out "$s2walk" diff --pair 4k --count 40 \
			--no-shrink > "$out/log" 2>&1 &&
		LD_LIBRARY_PATH=$out "$s2walk" unit 4k >> "$out/log" 2>&1
	fi
	status=$?
	caught=$(sed -n 's/^# \(seed .*\) (VMs that failed.*/\1/p
		s/^# 4k random sequence, [^:]*: //p
		s/^not ok [0-9]* '"$tree"'-4k //p
		s/.*\(WARNING: ThreadSanitizer[^(]*\).*/\1/p' "$out/log" | head -n 1)
	if [ $status -eq 0 ] || [ -z "$caught" ]; then
		echo "not ok not caught: $what"
	else
		echo "ok caught$([ "$tree" = patched ] || echo ", in $tree")"
		echo "# $what"
		echo "#   -> $caught"
	fi
}

if [ "$1" = --try ]; then
	shift
	try "$@" > "$1/$2.result"
	exit
fi

dir=$1 n=0 bad=0
mkdir -p "$dir"
rm -f "$dir"/*.result
for script in "$here"/faults/*.sed; do
	basename "$script" .sed
done | xargs -P "$(nproc)" -I '{}' "$0" --try "$dir" '{}' "$2" "$3" "$4" "$5" "$6" "${7:-}" "${8:-}" "${9:-}"

echo "KTAP version 1"
for script in "$here"/faults/*.sed; do
	name=$(basename "$script" .sed)
	n=$((n + 1))
	line=$(head -n 1 "$dir/$name.result" 2>/dev/null)
	case $line in
	"ok "*) ;;
	*) bad=$((bad + 1)) line="not ok ${line#not ok }" ;;
	esac
	case $line in
	ok*) echo "ok $n fault $name ${line#ok }" ;;
	*) echo "not ok $n fault $name ${line#not ok }" ;;
	esac
	sed 1d "$dir/$name.result" 2>/dev/null
done
echo "1..$n"
echo "# $((n - bad)) passed, $bad failed, 0 skipped"
[ $bad -eq 0 ] && [ $n -ge 5 ]
