#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-faults.sh: a test that finds nothing proves nothing. Builds the patched kernels with the faults in tools/faults,
# boots them and runs the test that each fault names: it must fail, with the message that the fault names.
#
# A fault is a diff against build/linux with lines before it: "Test: <command>", "Says: <regular expression>", and "Arch: arm64"
# if it isn't one for x86. Each is for another test, so that one kernel can have all of an architecture's; but for those with a
# line "Alone: <why>", each of which has a kernel of its own, and may also stop the machine with what it says.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

faults=("$root"/tools/faults/*.diff)
mkdir -p "$build/results/check"

header() { sed -n "s/^$1: //p" "$2" | head -n 1; }
arch_of() {
	local arch
	arch=$(header Arch "$1")
	echo "${arch:-x86}"
}

linked=
# make_tree FAULT...: the sources are links to the patched tree, but for the files that have a fault, in this kernel or in
# another: these are always new, so that make compiles them again. What was compiled of the others stays.
make_tree() {
	local entry file
	if [ -z "$linked" ]; then
		mkdir -p "$faulty_tree"
		find "$faulty_tree" -mindepth 1 -maxdepth 1 ! -name '.obj-*' -exec rm -rf {} +
		for entry in "$patched_tree"/*; do
			cp -as "$entry" "$faulty_tree/"
		done
		linked=1
	fi
	sed -n 's,^+++ b/,,p' "${faults[@]}" | sort -u | while read -r file; do
		cp --remove-destination "$patched_tree/$file" "$faulty_tree/$file"
	done
	for file in "$@"; do
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

# try ARCH OUT FAULT...: all of them in one kernel, and the test of each
try() {
	local ARCH=$1 VENDOR='' out=$2 fault now cmd=''
	shift 2
	arch "$ARCH"
	export FAULTS="${*##*/}"
	now=$(fingerprint faulty)
	if [ "$(cat "$faulty_tree/.fastwalk-faults" 2>/dev/null)" != "$now" ]; then
		say FAULTS "$ARCH: $# in build/faulty"
		make_tree "$@"
		echo "$now" >"$faulty_tree/.fastwalk-faults"
	fi
	"$root/scripts/kernel.sh" "$ARCH" faulty
	for fault in "$@"; do
		cmd+="echo \"run ${fault##*/}\"; /st/$(header Test "$fault"); echo \"status \$?\";"
	done
	rm -f "$out"
	touch "$out"
	# Its status does not matter: a kernel with faults may do anything once the tests have said what they found.
	ARCH=$ARCH VENDOR='' TREE=faulty MODE=${modes%% *} CMD=$cmd OUT=$out SMP=2 MEM=2G TIMEOUT=300 CONFIG='' APPEND='' ICOUNT=0 \
		"$root/scripts/run.sh" >/dev/null 2>"$out.err" || true
	for fault in "$@"; do judge "$fault"; done
}

# judge FAULT: what its test has made of it
judge() {
	local name=${1##*/} found status says
	found=$(awk -v run="run $name" '/^run / { on = $0 == run } on' "$out")
	status=$(sed -n 's/^status //p' <<<"$found")
	says=$(header Says "$1")
	if [ -z "$status" ] && grep -q '^Alone: ' "$1" && grep -qE "$says" "$out.err"; then
		echo "ok - ${name%.diff}: $(header Test "$1") stops the machine: '$says'"
	elif [ -z "$status" ]; then
		echo "not ok - ${name%.diff}: $(header Test "$1") did not end (see $out and $out.err)"
	elif [ "$status" -eq 0 ]; then
		echo "not ok - ${name%.diff}: $(header Test "$1") does not notice it (see $out)"
	elif ! grep -qE "$says" <<<"$found"; then
		echo "not ok - ${name%.diff}: $(header Test "$1") fails, but does not say '$says' (see $out)"
	else
		echo "ok - ${name%.diff}: $(header Test "$1") fails: $(grep -cE "$says" <<<"$found") x '$says'"
	fi
}

for arch in $archs; do
	together=()
	alone=()
	for fault in "${faults[@]}"; do
		[ "$(arch_of "$fault")" = "$arch" ] || continue
		if grep -q '^Alone: ' "$fault"; then alone+=("$fault"); else together+=("$fault"); fi
	done
	[ ${#together[@]} -eq 0 ] || try "$arch" "$build/results/check/faults-$arch.out" "${together[@]}"
	for fault in "${alone[@]}"; do
		try "$arch" "$build/results/check/fault-$(basename "$fault" .diff).out" "$fault"
	done
done
