#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# faults.sh DIR BUILD S2WALK THREADS PGTABLE.C: prove the harness.
#
# Each faults/*.sed puts one fault into a copy of pgtable.c. BUILD is the
# command that builds a walker from it; the tests must then fail. A fault whose
# code isn't in this tree is skipped. As many faults at a time as there are
# CPUs. Prints KTAP.
set -u

here=$(dirname "$0")

# One fault. Prints "ok|not ok", a remark, and comments on lines of their own.
try() # DIR NAME BUILD S2WALK THREADS PGTABLE.C
{
	name=$2 build=$3 s2walk=$4 threads=$5 source=$6
	script=$here/faults/$name.sed
	what=$(sed -n '1s/^# //p' "$script")
	out=$1/$name
	rm -rf "$out"
	mkdir -p "$out"
	sed -f "$script" "$source" > "$out/pgtable.c"
	if cmp -s "$source" "$out/pgtable.c"; then
		echo "ok # SKIP nothing in this tree to put it in"
		return
	fi
	case $name in
	shared-*) flavour=tsan ;;
	*) flavour=check ;;
	esac
	if ! $build FLAVOUR="$flavour" FAULT="$out" > "$out/build.log" 2>&1; then
		echo "not ok does not build, see $out/build.log"
		return
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
		echo "not ok not caught: $what"
	else
		echo "ok caught"
		echo "# $what"
		echo "#   -> $caught"
	fi
}

if [ "$1" = --try ]; then
	shift
	try "$@" > "$1/$2.result"
	exit
fi

dir=$1 n=0 bad=0 skipped=0
mkdir -p "$dir"
rm -f "$dir"/*.result
for script in "$here"/faults/*.sed; do
	basename "$script" .sed
done | xargs -P "$(nproc)" -I '{}' "$0" --try "$dir" '{}' "$2" "$3" "$4" "$5"

echo "KTAP version 1"
for script in "$here"/faults/*.sed; do
	name=$(basename "$script" .sed)
	n=$((n + 1))
	line=$(head -n 1 "$dir/$name.result" 2>/dev/null)
	case $line in
	"ok # SKIP "*) skipped=$((skipped + 1)) ;;
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
echo "# $((n - bad - skipped)) passed, $bad failed, $skipped skipped"
[ $((n - skipped)) -ge 5 ] || { echo "# fewer than five faults apply"; exit 1; }
[ $bad -eq 0 ]
