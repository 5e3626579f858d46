#!/bin/bash
# check-faults.sh: a test that finds nothing proves nothing. Builds the patched x86 kernel with the faults in tools/faults,
# boots it once and runs the test that each fault names: it must fail, with the message that the fault names.
#
# A fault is a diff against build/linux with two lines before it: "Test: <command>" and "Says: <regular expression>". Each
# is for another test, so that one kernel can have all of them.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

faults=("$root"/tools/faults/*.diff)
out=$build/results/check/faults.out
mkdir -p "$build/results/check"
arch x86

header() { sed -n "s/^$1: //p" "$2" | head -n 1; }

# The sources are links to the patched tree, but for the files that have a fault.
make_tree() {
	local entry file
	rm -rf "$faulty_tree"
	mkdir -p "$faulty_tree"
	for entry in "$patched_tree"/*; do
		cp -as "$entry" "$faulty_tree/"
	done
	sed -n 's,^+++ b/,,p' "${faults[@]}" | sort -u | while read -r file; do
		cp --remove-destination "$patched_tree/$file" "$faulty_tree/$file"
	done
	for file in "${faults[@]}"; do
		patch -s -p1 -d "$faulty_tree" <"$file" ||
			die "${file#"$root"/} does not fit build/linux any more: mend it, or remove it with what it proves"
	done
}

for fault in "${faults[@]}"; do
	test=$(header Test "$fault")
	says=$(header Says "$fault")
	if [ -z "$test" ] || [ -z "$says" ]; then
		die "${fault#"$root"/} lacks a line 'Test: <command>' or 'Says: <regular expression>'"
	fi
done
take_lock
now=$(fingerprint faulty)
if [ "$(cat "$faulty_tree/.fastwalk-faults" 2>/dev/null)" != "$now" ]; then
	say FAULTS "${#faults[@]} in build/faulty"
	make_tree
	echo "$now" >"$faulty_tree/.fastwalk-faults"
fi
"$root/scripts/kernel.sh" x86 faulty
cmd=
for fault in "${faults[@]}"; do
	cmd+="echo \"run ${fault##*/}\"; /st/$(header Test "$fault"); echo \"status \$?\";"
done
rm -f "$out"
touch "$out"
# Its status does not matter: a kernel with faults may do anything once the tests have said what they found.
ARCH=x86 TREE=faulty MODE=svm CMD=$cmd OUT=$out SMP=2 MEM=2G TIMEOUT=300 CONFIG='' APPEND='' ICOUNT=0 \
	"$root/scripts/run.sh" >/dev/null 2>"$out.err" || true
for fault in "${faults[@]}"; do
	name=${fault##*/}
	found=$(awk -v run="run $name" '/^run / { on = $0 == run } on' "$out")
	status=$(sed -n 's/^status //p' <<<"$found")
	says=$(header Says "$fault")
	if [ -z "$status" ]; then
		echo "not ok - ${name%.diff}: $(header Test "$fault") did not end (see $out and $out.err)"
	elif [ "$status" -eq 0 ]; then
		echo "not ok - ${name%.diff}: $(header Test "$fault") does not notice it (see $out)"
	elif ! grep -qE "$says" <<<"$found"; then
		echo "not ok - ${name%.diff}: $(header Test "$fault") fails, but does not say '$says' (see $out)"
	else
		echo "ok - ${name%.diff}: $(header Test "$fault") fails: $(grep -cE "$says" <<<"$found") x '$says'"
	fi
done
