#!/bin/bash
# check.sh: everything that must hold before a change lands. Results: build/results/check.ktap, and a last line
# "N passed, N failed, N skipped". PHASES="scripts patches ..." runs some of it. One phase runs only if asked for:
# PHASES=config runs the selftests of ARCH on kernels with the fragments CONFIG; see check-selftests.sh for TREES and SLOW.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

all_phases='lint scripts tree tools build selftests faults patches'
phases=${PHASES:-$all_phases}
ktap=$build/results/check.ktap

# phase NAME CMD...: keeps the "ok" and "not ok" lines of CMD; a CMD that fails outright is a failure too.
phase() {
	local name=$1 began=$SECONDS rc=0
	shift
	say CHECK "$name"
	"$@" 2>&1 | tee "$logs/check-$name.log" | {
		while IFS= read -r line; do
			case $line in
			"ok - "*) [ "${V:-0}" = 0 ] || printf '%s\n' "$line" ;;
			*) printf '%s\n' "$line" ;;
			esac
		done
	} || rc=1
	grep -aE '^(not )?ok - ' "$logs/check-$name.log" | sed "s/^\(not \)\?ok - /&$name: /" >>"$ktap.lines" || true
	[ "$rc" -eq 0 ] || echo "not ok - $name: the phase itself failed (see $logs/check-$name.log)" >>"$ktap.lines"
	say "" "$name in $(elapsed $((SECONDS - began)))"
}

ok() {
	local name=$1
	shift
	if "$@" >"$logs/check-ok.log" 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name: $(head -n 1 "$logs/check-ok.log")"
	fi
}

lint() {
	cd "$root"
	ok "shellcheck" shellcheck -x -P . scripts/*.sh tools/guest/init .ci/run arch/*/arch.conf
	ok "no file names a mirror or a path of this machine" no_machine_names
	ok "MAINTAINERS.snippet covers what the patches touch" maintainers
}

no_machine_names() {
	local hits
	# The second word is split so that this line does not find itself.
	hits=$(git grep -nIE "https?://[a-z.]*(deb|ftp|security)\\.debian\\.""org|(^|[ \"'=])($root|$HOME)/" -- . || true)
	echo "$hits"
	[ -z "$hits" ]
}

# maintainers: every file that a patch touches matches an F: line of the snippet.
maintainers() {
	local covered uncovered
	# A path that ends in a slash covers all below it; a star stands for anything but a slash.
	covered=$(sed -n 's/^F:[[:space:]]*//p' MAINTAINERS.snippet | sed 's/\./\\./g; s/\*/[^\/]*/g; s/[^/]$/&$/; s/^/^/')
	uncovered=$(cat patches/*/*.patch | sed -n 's|^+++ b/||p' | sort -u | grep -vE -e "$covered" || true)
	[ -z "$uncovered" ] || {
		printf 'no F: line for %s\n' "$uncovered"
		return 1
	}
}

tree() {
	"$root/scripts/fetch.sh"
	"$root/scripts/tree.sh"
	cp -r "$root/patches" "$build/patches.before"
	ok "refresh" "$root/scripts/refresh.sh"
	ok "tree and refresh leave patches/ as it was" diff -r "$build/patches.before" "$root/patches"
	rm -rf "$build/patches.before"
}

# tools: the harness adds up each of its programs; one line for each of them here.
tools() {
	make --no-print-directory -j "$(nproc)" -C "$root/tools/s2walk" check 2>&1 | sed -E \
		-e 's/^  TEST +([^ ]+) +([0-9]+ passed, 0 failed.*)/ok - s2walk \1: \2/' \
		-e 's/^  FAIL +([^ ]+) +(.*)/not ok - s2walk \1: \2/' -e '/^[0-9]+ passed, [0-9]+ failed/d'
}

# build_arch ARCH [FRAGMENT...]: the kernels of TREES, and what is run in them
build_arch() {
	local arch=$1 tree
	shift
	for tree in ${TREES:-base patched}; do
		"$root/scripts/kernel.sh" "$arch" "$tree" "$@"
		echo "ok - kernel $arch $tree${*:+ $*}"
	done
	for tree in base patched; do
		"$root/scripts/selftests.sh" "$arch" "$tree"
		echo "ok - selftests $arch $tree"
	done
	"$root/scripts/initramfs.sh" "$arch"
}

build_all() {
	TREES='' build_arch arm64
	TREES='' build_arch x86
}

selftests() {
	TREES='' MODES='' SLOW='' "$root/scripts/check-selftests.sh" arm64
	TREES='' MODES='' SLOW='' "$root/scripts/check-selftests.sh" x86
}

config() {
	# shellcheck disable=SC2086 # a list of fragments
	set -- "${ARCH:-arm64}" $CONFIG
	"$root/scripts/fetch.sh"
	"$root/scripts/tree.sh"
	build_arch "$@"
	"$root/scripts/check-selftests.sh" "$@"
}

for name in $phases; do
	case " $all_phases config " in
	*" $name "*) ;;
	*) die "unknown phase '$name' in PHASES: use $all_phases or config" ;;
	esac
	[ "$name" != config ] || [ -n "${CONFIG:-}" ] ||
		die "PHASES=config needs CONFIG=\"fragment...\" (the names in arch/${ARCH:-arm64}/configs/)"
done

"$root/scripts/packages.sh" fetch build boot bochs harness check
take_lock
mkdir -p "$logs" "$build/results"
rm -f "$ktap" "$ktap.lines"
touch "$ktap.lines"
began=$SECONDS
for name in $phases; do
	case $name in
	lint | tree | tools | selftests | config) phase "$name" "$name" ;;
	scripts) phase "$name" "$root/scripts/check-scripts.sh" ;;
	build) phase "$name" build_all ;;
	faults | patches) phase "$name" "$root/scripts/check-$name.sh" ;;
	esac
done

awk 'BEGIN { print "KTAP version 1" }
	{ sub(/ok - /, "ok " NR " - "); line[NR] = $0 }
	END { print "1.." NR; for (i = 1; i <= NR; i++) print line[i] }' "$ktap.lines" >"$ktap"
rm -f "$ktap.lines"
failed=$(grep -c '^not ok' "$ktap" || true)
skipped=$(grep -c '# SKIP' "$ktap" || true)
passed=$(($(grep -c '^ok' "$ktap" || true) - skipped))
echo
grep -E '^not ok|# SKIP' "$ktap" || true
say RESULTS "${ktap#"$root"/} ($(elapsed $((SECONDS - began))))"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
