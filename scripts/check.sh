#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check.sh: everything that must hold before a change lands. Results: build/results/check.ktap, and a last line
# "N passed, N failed, N skipped". PHASES="scripts patches ..." runs some of it. One phase runs only if asked for:
# PHASES=config runs the selftests of ARCH on kernels with the fragments CONFIG; see check-selftests.sh for TREES and SLOW.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

all_phases='lint scripts tree tools build selftests migrate faults perf patches'
phases=${PHASES:-$all_phases}
ktap=$build/results/check.ktap
me=$root/scripts/check.sh

# phase NAME: runs it in a process of its own, so that whatever fails there ends it (in a function called with "||" nothing
# does), and what it started ends with it. Keeps its "ok" and "not ok" lines. One that fails, or has none, is a failure.
phase() {
	local name=$1 began=$SECONDS rc=0 log=$logs/check-$1.log why=
	say CHECK "$name"
	FASTWALK_TOP='' "$me" --run "$name" 2>&1 | tee "$log" | if [ "${V:-0}" = 0 ]; then grep -av --line-buffered '^ok - ' || true; else cat; fi || rc=$?
	grep -aE '^(not )?ok - ' "$log" | sed "s/^\(not \)\?ok - /&$name: /" >"$ktap.phase" || why='it had no result'
	[ "$rc" -eq 0 ] || why="the phase itself failed: $(tail -n 1 "$log" | tr -d '\0')"
	[ -z "$why" ] || echo "not ok - $name: $why (see $log)" >>"$ktap.phase"
	cat "$ktap.phase" >>"$ktap.lines"
	rm -f "$ktap.phase"
	times+="${times:+, }$name $(elapsed $((SECONDS - began)))"
}

# ok NAME CMD...: for a function of this script, CMD is "$me --run FUNCTION": see above.
ok() {
	local name=$1
	shift
	if "$@" >"$logs/check-ok.log" 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name: $(grep -m 1 . "$logs/check-ok.log" || echo "$1 failed")"
	fi
}

# step NAME CMD...: what has to work before anything else can
step() {
	local name=$1
	shift
	if "$@"; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		exit 1
	fi
}

lint() {
	cd "$root"
	scripts/lint.sh shell -o check-set-e-suppressed -f gcc >"$logs/shellcheck" || [ $? -eq 1 ]
	ok "shellcheck" "$me" --run shellchecked
	ok "no failure is lost where set -e is off" "$me" --run errexit
	ok "checkpatch on our C" scripts/lint.sh c
	ok "no file names a mirror or a path of this machine" "$me" --run no_machine_names
	ok "the tables and plots are made from the committed results" scripts/results.sh check
	ok "MAINTAINERS.snippet lists the files that the patches add" "$me" --run maintainers
	ok "every file says its licence" "$me" --run spdx
	ok "check.tests is well-formed" scripts/check-selftests.sh list
}

shellchecked() { ! grep -v '\[SC2310\]$' "$logs/shellcheck"; }

# In a function that is called by "if", "!", "&&" or "||", set -e is off. These can do with that: they are one command, or
# say themselves what fails; and what logged is given is one command. Look at a new one before it gets here.
errexit_is_off_in=' apply apt_install apt_update arch_of as_root base_id bochs follow git_linux has_version have have_apt kdir_is_git kernel_version kmake logged
	mode_bochs mode_proof over passed patches patches_hash prints reads_kernel run scenarios splats stamp started_by_us sweeps table with_apt words '
errexit() {
	local file line column rest name bad=0
	while IFS=: read -r file line column rest; do
		case $rest in *"[SC2310]") ;; *) continue ;; esac
		name=$(sed -n "${line}p" "$file")
		name=${name:column-1}
		name=${name%%[!a-zA-Z0-9_]*}
		[[ ! $errexit_is_off_in =~ [[:space:]]${name}[[:space:]] ]] || continue
		echo "$file:$line: set -e is off in $name(): call it by itself, or see errexit_is_off_in in check.sh"
		bad=1
	done <"$logs/shellcheck"
	return "$bad"
}

no_machine_names() {
	local hits
	# The second word is split so that this line does not find itself.
	hits=$(git grep -nIE "https?://[a-z.]*(deb|ftp|security)\\.debian\\.""org|(^|[ \"'=])($root|$HOME)/" -- . || [ $? -eq 1 ])
	echo "$hits"
	[ -z "$hits" ]
}

# maintainers: the F: lines of the snippet are the files that the patches add, no more and no less: what else they touch has maintainers.
maintainers() {
	diff <(sed -n 's/^F:[[:space:]]*//p' MAINTAINERS.snippet | sort) \
		<(cat patches/*/*.patch | awk '/^--- \/dev\/null$/ { getline; sub(/^\+\+\+ b\//, ""); print }' | sort -u)
}

# spdx: what holds no comments, or is read by others than us, need not say its licence: LICENSE is for it as well.
spdx() {
	local without
	without=$(git grep -L SPDX-License-Identifier -- . ':!patches' ':!Documentation' ':!*.md' ':!LICENSE' ':!MAINTAINERS.snippet' ':!*.diff' ':!*.gp' \
		':!tools/s2walk/corpus' ':!tools/s2walk/scripts' || [ $? -eq 1 ])
	printf 'no SPDX line in %s\n' "$without"
	[ -z "$without" ]
}

tree() {
	"$root/scripts/fetch.sh"
	"$root/scripts/tree.sh"
	rm -rf "$build/patches.before"
	cp -r "$root/patches" "$build/patches.before"
	step "refresh" "$root/scripts/refresh.sh"
	ok "tree and refresh leave patches/ as it was" diff -r "$build/patches.before" "$root/patches"
	rm -rf "$build/patches.before"
	"$root/scripts/topics.sh" check
}

# tools: the harness adds up each of its programs; one line for each of them here, and for every tenth object.
tools() {
	local objects harness=$root/tools/s2walk
	objects=$(make --no-print-directory -n -C "$harness" check | grep -cE "^printf .* (CC|LD) " || [ $? -eq 1 ])
	make --no-print-directory -j "$(nproc)" -C "$harness" check 2>&1 | awk -v objects="$objects" '
		/^  (CC|LD) / { if (++n % 10 == 0) print "  BUILD   " n " of " objects " objects at most"; fflush(); next }
		/^[0-9]+ passed, [0-9]+ failed/ { next }
		$1 == "TEST" && $3 > 0 && $5 == 0 { sub(/^  TEST +/, ""); sub(/ +/, ": "); print "ok - s2walk " $0; fflush(); next }
		$1 == "TEST" || $1 == "FAIL" { print "not ok - s2walk " $2 ": " $0; fflush(); next }
		{ print; fflush() }'
}

# build_arch ARCH [FRAGMENT...]: the kernels of TREES, and what is run in them
build_arch() {
	local arch=$1
	shift
	# shellcheck disable=SC2086 # a list of trees
	step "kernels and selftests $arch${*:+ $*}" env CONFIG="$*" MODE='' "$root/scripts/build.sh" "$arch" ${TREES:-base patched}
}

build() {
	for arch in $archs; do
		TREES='' build_arch "$arch"
	done
}

selftests() {
	for arch in $archs; do
		TREES='' MODES='' SLOW='' "$root/scripts/check-selftests.sh" "$arch"
	done
}

scripts() { "$root/scripts/check-scripts.sh"; }
migrate() { "$root/scripts/check-migrate.sh"; }
faults() { "$root/scripts/check-faults.sh"; }
perf() { "$root/scripts/check-perf.sh"; }
patches() { "$root/scripts/check-patches.sh"; }

config() {
	# shellcheck disable=SC2086 # a list of fragments
	set -- "${ARCH:-arm64}" $CONFIG
	build_arch "$@"
	"$root/scripts/check-selftests.sh" "$@"
}

if [ "${1:-}" = --run ]; then
	"$2"
	exit
fi

for name in $phases; do
	case " $all_phases config " in
	*" $name "*) ;;
	*) die "unknown phase '$name' in PHASES: use $all_phases or config" ;;
	esac
	[ "$name" != config ] || [ -n "${CONFIG:-}" ] ||
		die "PHASES=config needs CONFIG=\"fragment...\" (the names in arch/${ARCH:-arm64}/configs/)"
done

"$root/scripts/packages.sh" fetch build boot bochs harness migrate check
take_lock
mkdir -p "$logs" "$build/results"
rm -f "$ktap" "$ktap.lines"
touch "$ktap.lines"
began=$SECONDS times=
for name in $phases; do
	phase "$name"
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
say TIMES "$times"
say RESULTS "${ktap#"$root"/} ($(elapsed $((SECONDS - began))))"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
