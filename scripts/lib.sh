# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # the scripts use them
# Sourced by every script: places, messages, the lock, logged commands.
#
# Messages are kbuild-style: two blanks, a short verb, what it is done to. Everything that a command prints goes to a
# log under build/logs; V=1 shows it as well.

set -eu -o pipefail
# In $(...) as well.
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
logs=$build/logs
base_tree=$build/linux-base
patched_tree=$build/linux
faulty_tree=$build/faulty
archs=$(cd "$root/arch" && echo */)
archs=${archs//\//}
export LC_ALL=C.UTF-8

# shellcheck source=scripts/base.conf
. "$root/scripts/base.conf"

say() { printf '  %-8s%s\n' "$1" "$2"; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$1" >&2; }
die() {
	printf '%s: error: %s\n' "${0##*/}" "$1" >&2
	exit "${2:-1}"
}

# The kernel's makefiles cannot do with them.
case $root in *[[:space:]:]*) die "cannot work in '$root': move the checkout to a path without blanks and colons" ;; esac

# The script that was called first does nothing but wait for a copy of itself that does the work. It alone hears of Ctrl-C,
# SIGTERM and a closed terminal, at once, and however the copy ends, what that started ends too: all that has our number
# in its environment. The lock is theirs as well: it is free when they are gone. A copy that must end has its EXIT traps run.
# Stamps are written last, so that a rerun trusts nothing that is half-made.
started_by_us() { grep -lszE "^FASTWALK_RUNS=.*:$$:" /proc/[0-9]*/environ || true; }
end_all() {
	local tries=0 signal=TERM found
	while found=$(started_by_us) && [ -n "$found" ]; do
		[ "$tries" -lt 100 ] || signal=KILL
		grep -oE '[0-9]+' <<<"$found" | while read -r pid; do kill "-$signal" "$pid" 2>/dev/null || true; done
		sleep 0.1
		tries=$((tries + 1))
		[ "$tries" -lt 150 ] || die "could not end processes that this run started: $(grep -oE '[0-9]+' <<<"$found" | xargs)"
	done
}
# interrupted STATUS
interrupted() {
	trap '' INT TERM HUP
	end_all
	printf '\n%s: interrupted: run the same command again to go on\n' "${0##*/}" >&2
	exit "$1"
}
if [ -z "${FASTWALK_TOP:-}" ] && [ "${BASH_SOURCE[-1]}" = "$0" ]; then
	trap 'interrupted 130' INT
	trap 'interrupted 143' TERM
	trap 'interrupted 129' HUP
	FASTWALK_TOP=$$ FASTWALK_RUNS=${FASTWALK_RUNS:-}:$$: "$BASH" "$0" "$@" <&0 &
	rc=0
	wait $! 2>/dev/null || rc=$?
	end_all
	exit "$rc"
fi
: "${FASTWALK_TOP:=$$}"
trap 'exit 143' TERM

# elapsed SECONDS: 75 -> 1:15
elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# logged LOG CMD...: runs CMD with its output in LOG. Shows a sign of life every half minute, all of it with V=1,
# and the end of LOG if CMD fails.
logged() {
	local log=$1 rc=0 began=$SECONDS pid ticks=0
	shift
	mkdir -p "${log%/*}"
	if [ "${V:-0}" = 1 ]; then
		printf '+ %s\n' "$*"
		"$@" 2>&1 | tee "$log" || return 1
		return 0
	fi
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		ticks=$((ticks + 1))
		if [ $((ticks % 150)) -eq 0 ]; then
			printf '          %s  %s\n' "$(elapsed $((SECONDS - began)))" "$(tail -n 1 "$log" | tr -d "\0" | cut -c 1-90)"
		fi
	done
	wait "$pid" || rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 15 "$log" >&2
		printf '  (all of it: %s)\n' "$log" >&2
	fi
	return "$rc"
}

# take_lock: one run that writes to build/ at a time. Scripts that are called by a script that holds it pass through.
take_lock() {
	[ -z "${FASTWALK_LOCKED:-}" ] || return 0
	mkdir -p "$build"
	exec 9>>"$build/.lock"
	if ! flock -n 9; then
		die "another run is working in $build (pid $(cat "$build/.lock" 2>/dev/null)): wait for it or stop it"
	fi
	echo "$FASTWALK_TOP" >"$build/.lock"
	export FASTWALK_LOCKED=1
}

# need_space MIB: says so before a disk fills up rather than after.
need_space() {
	local free
	mkdir -p "$build"
	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] || die "$build has $free MiB free and this step needs $1: free some space"
}

# arch ARCH: reads arch/ARCH/arch.conf, the facts about how to build for and boot one architecture.
arch() {
	case " $archs " in
	*" $1 "*) ;;
	*) die "unknown ARCH '$1': use ${archs% *} or ${archs##* }" ;;
	esac
	# shellcheck source=arch/arm64/arch.conf
	. "$root/arch/$1/arch.conf"
}

# tree_dir TREE
tree_dir() {
	case $1 in
	base) echo "$base_tree" ;;
	patched) echo "$patched_tree" ;;
	faulty) echo "$faulty_tree" ;; # see check-faults.sh
	*) die "unknown TREE '$1': use base or patched" ;;
	esac
}

# obj_dir ARCH TREE [FRAGMENT...]: where that kernel is built. A direct child of its source tree, because then every
# path on the compiler's command line is relative and the same for both trees: they share what ccache holds.
obj_dir() {
	local obj
	obj=$(tree_dir "$2")/.obj-$1
	shift 2
	printf '%s' "$obj" "${@/#/-}"
}

# git_linux ARG...: git in build/linux. What it makes is byte for byte the same whatever the user's own configuration says.
git_linux() {
	env -u GIT_EXTERNAL_DIFF -u GIT_DIFF_OPTS -u GIT_CONFIG_COUNT -u GIT_CONFIG_PARAMETERS GIT_ATTR_NOSYSTEM=1 \
		GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null \
		git -c core.attributesFile=/dev/null -c core.excludesFile=/dev/null -C "$patched_tree" "$@"
}

# patches_hash: the base and the patches as they are now, with their names, which say topic and order; build/linux.applied
# keeps the one that build/linux was made of.
patches_hash() {
	(
		cd "$root"
		cat "$base_tree/.fastwalk-base"
		find patches -name '*.patch' -print0 | sort -z | xargs -0r sha256sum
	) | sha256sum
}

# untracked DIR: the contents and names of the files that git does not know yet and is not told to ignore.
untracked() { (cd "$1" && git ls-files -z --others --exclude-standard | xargs -0r sha256sum); }

# fingerprint TREE: changes when anything in the tree that could change a build does.
fingerprint() {
	case $1 in
	base) cat "$base_tree/.fastwalk-base" ;;
	patched | faulty)
		# check-faults.sh says which FAULTS.
		# shellcheck disable=SC2086 # a list
		[ "$1" = patched ] || (cd "$root/tools/faults" && cat /dev/null ${FAULTS:-})
		git_linux rev-parse HEAD
		git_linux diff HEAD | sha256sum
		untracked "$patched_tree"
		;;
	esac
}

# kernel_config ARCH [FRAGMENT...]: the options that a kernel is built with
kernel_config() {
	local arch=$1 fragment file
	shift
	for fragment in test "$@"; do
		file=$root/arch/$arch/configs/$fragment.config
		[ -f "$file" ] || die "no config fragment $file (CONFIG= takes the names in arch/$arch/configs/)"
		cat "$file"
	done
}

# kernel_stamp ARCH TREE [FRAGMENT...]: what a kernel would be built from now. kernel.sh leaves it beside the kernel.
kernel_stamp() {
	local arch=$1 tree=$2 config
	shift 2
	config=$(kernel_config "$arch" "$@")
	echo "$arch $tree${*:+ $*}"
	echo "config $(sha256sum <<<"$config")"
	fingerprint "$tree"
}

# kmake ARCH TREE_DIR ARG...: make there with the compiler that every build uses. Paths and dates stay out of the objects:
# base and patched share what ccache holds, and so do fresh clones. ccache reads the dependency files instead of
# preprocessing everything twice.
kmake() {
	local ARCH=$1 src=$2 cross
	shift 2
	arch "$ARCH"
	env CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=fastwalk \
		KBUILD_BUILD_HOST=fastwalk make -C "$src" ARCH="$ARCH" CROSS_COMPILE="$cross" \
		CC="$(command -v ccache) ${cross}gcc" "$@"
}

# profiler ARCH TREE OUT: the plugin that counts the instructions and the calls of each function of that kernel (tools/qemu/profile.c),
# with its arguments, for run.sh's PLUGIN
profiler() {
	local kernel
	arch "$1"
	kernel=$(obj_dir "$1" "$2")
	mkdir -p "$build/qemu"
	# One for each kernel, as those of two may be made at the same time.
	gcc -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$build/qemu/profile-$1-$2.so" "$root/tools/qemu/profile.c" ||
		die "tools/qemu/profile.c does not build"
	"${cross}nm" -n --defined-only "$kernel/vmlinux" >"$build/qemu/$1-$2.symbols" || die "no symbols of $kernel/vmlinux"
	echo "$build/qemu/profile-$1-$2.so,out=$3,symbols=$build/qemu/$1-$2.symbols"
}

# columns FILE N: the lines of FILE with their N columns trimmed and separated by tabs, and the line number as one more. A
# line that has not N is an error, not something to pass over.
columns() {
	local out
	out=$(awk -F'|' -v n="$2" '
		/^#/ || /^[ \t]*$/ { next }
		NF != n { wrong = NR ": " NF " columns separated by \"|\", not " n; exit }
		{
			line = ""
			for (i = 1; i <= n; i++) {
				gsub(/^[ \t]+|[ \t]+$/, "", $i)
				if ($i == "") { wrong = NR ": column " i " is empty (use - for none)"; exit }
				line = line $i "\t"
			}
			print line NR
		}
		END { if (wrong) { print wrong; exit 1 } }' "$1") || die "${1#"$root"/}:$(tail -n 1 <<<"$out")"
	printf '%s\n' "$out"
}
