#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# faults.sh DIR BUILD S2WALK THREADS PGTABLE.C...: prove the harness.
#
# Each faults/*.sed puts one fault into a copy of pgtable.c. BUILD is the
# command that builds a walker from it; the tests must then fail. A fault whose
# code isn't in this tree is skipped. Prints KTAP.
set -u

here=$(dirname "$0")
dir=$1 build=$2 s2walk=$3 threads=$4 source=$5
n=0 bad=0 skipped=0

result() # ok|not ok, name, remark
{
	n=$((n + 1))
	echo "$1 $n fault $2${3:+ $3}"
}

echo "KTAP version 1"
for script in "$here"/faults/*.sed; do
	name=$(basename "$script" .sed)
	what=$(sed -n '1s/^# //p' "$script")
	out=$dir/$name
	mkdir -p "$out"
	sed -f "$script" "$source" > "$out/pgtable.c"
	if cmp -s "$source" "$out/pgtable.c"; then
		skipped=$((skipped + 1))
		result ok "$name" "# SKIP nothing in this tree to put it in"
		continue
	fi
	case $name in
	shared-*) flavour=tsan ;;
	*) flavour=check ;;
	esac
	if ! $build FLAVOUR="$flavour" FAULT="$out" > "$out/build.log" 2>&1; then
		bad=$((bad + 1))
		result "not ok" "$name" "does not build, see $out/build.log"
		continue
	fi
	if [ "$flavour" = tsan ]; then
		# Races are a matter of luck
		for _ in 1 2 3 4 5; do
			LD_LIBRARY_PATH=$out "$threads" > "$out/log" 2>&1 || break
		done
		false
	else
		LD_LIBRARY_PATH=$out "$s2walk" diff --pair 4k --count 40 \
			--no-shrink > "$out/log" 2>&1 &&
		LD_LIBRARY_PATH=$out "$s2walk" unit 4k >> "$out/log" 2>&1
	fi
	status=$?
	caught=$(sed -n 's/^# 4k random sequence, [^:]*: //p
		s/^not ok [0-9]* patched-4k //p
		s/.*\(WARNING: ThreadSanitizer[^(]*\).*/\1/p' "$out/log" | head -n 1)
	if [ $status -eq 0 ] || [ -z "$caught" ]; then
		bad=$((bad + 1))
		result "not ok" "$name" "not caught: $what"
	else
		result ok "$name" "caught"
		echo "# $what"
		echo "#   -> $caught"
	fi
done
echo "1..$n"
echo "# $((n - bad - skipped)) passed, $bad failed, $skipped skipped"
[ $((n - skipped)) -ge 5 ] || { echo "# fewer than five faults apply"; exit 1; }
[ $bad -eq 0 ]
