#!/bin/bash
# check-patches.sh: each patch by itself. checkpatch --strict; and, patch by patch in a worktree of its own, that KVM builds
# on both architectures with W=1, and the files that the patch touches pass sparse, without a warning that base has not.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

work=$build/bisect
results=$build/results/check
mkdir -p "$results"

checkpatch() {
	local patch name
	for patch in "$root"/patches/*/*.patch; do
		name=${patch#"$root"/}
		# The tag is for whoever submits the patch. MAINTAINERS has our entry in MAINTAINERS.snippet.
		if (cd "$patched_tree" && perl scripts/checkpatch.pl --strict --no-tree --no-summary --terse --ignore \
			MISSING_SIGN_OFF,FILE_PATH_CHANGES,NO_AUTHOR_SIGN_OFF "$patch") >"$results/checkpatch.out" 2>&1; then
			echo "ok - checkpatch $name"
		else
			echo "not ok - checkpatch $name: $(head -n 1 "$results/checkpatch.out")"
		fi
	done
}

kmake() {
	local arch=$1
	shift
	arch "$arch"
	env CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 KBUILD_BUILD_TIMESTAMP=2026-01-01 make -C "$work" O="$work/.obj-$arch" ARCH="$arch" \
		CROSS_COMPILE="$cross" CC="$(command -v ccache) ${cross}gcc" -s -j"$(nproc)" "$@"
}

# touched COMMIT ARCH: the C files of KVM that the commit touches and that are built for ARCH.
touched() {
	git -C "$work" diff-tree -r --no-commit-id --name-only --diff-filter=AM "$1" |
		grep -E "^(arch/$2/kvm|virt/kvm)/.*\\.c\$" || true
}

# run_sparse ARCH FILE...: checks again files whose objects are up to date. Code for EL2 is checked as such.
run_sparse() {
	local arch=$1 dir file targets
	shift
	[ -n "$sparse" ] || return 0
	# One directory after the other: the make in arch/ reads what the one in virt/ writes.
	for dir in arch virt; do
		targets=()
		for file in "$@"; do
			case $file in "$dir"/*) [ ! -f "$work/.obj-$arch/${file%.c}.o" ] || targets+=("${file%.c}.o") ;; esac
		done
		[ ${#targets[@]} -eq 0 ] || kmake "$arch" C=2 CHECK="$sparse" "${targets[@]}" || return 1
	done
}

# warnings: without line numbers, so that what moved is not new.
warnings() { grep -E '(warning|error):' "$1" | sed -E 's/:[0-9]+(:[0-9]+)?:/:/; s/^\.\.\///' | sort -u || true; }

build_commit() {
	local commit=$1 arch=$2 out=$3
	shift 3
	# That includes virt/kvm/.
	kmake "$arch" W=1 "arch/$arch/kvm/" >"$out" 2>&1 && run_sparse "$arch" "$@" >>"$out" 2>&1
}

prepare() {
	local arch
	git -C "$patched_tree" worktree prune
	if [ ! -d "$work" ]; then
		git -C "$patched_tree" worktree add -q --detach "$work.new" base
		git -C "$patched_tree" worktree move "$work.new" "$work"
	fi
	for arch in arm64 x86; do
		[ -f "$work/.obj-$arch/.config" ] ||
			kmake "$arch" KCONFIG_ALLCONFIG="$root/arch/$arch/configs/test.config" allnoconfig >/dev/null
		kmake "$arch" prepare >/dev/null
	done
}

builds() {
	local arch commit all=() new log files
	if ! sparse=$("$root/scripts/sparse.sh" 2>"$results/sparse.out"); then
		sparse=
		echo "ok - sparse # SKIP $(tail -n 1 "$results/sparse.out")"
	fi
	logged "$logs/bisect-prepare.log" prepare || die "the worktree for the patch-by-patch builds could not be prepared"
	git -C "$work" checkout -q -f --detach base
	for arch in arm64 x86; do
		mapfile -t all < <(git -C "$work" diff --name-only base "$(git -C "$patched_tree" rev-parse HEAD)" |
			grep -E "^(arch/$arch/kvm|virt/kvm)/.*\\.c\$" || true)
		log=$results/build-$arch-base.out
		build_commit base "$arch" "$log" "${all[@]}" || die "base does not build on $arch (see $log)"
		warnings "$log" >"$results/warnings-$arch-base"
	done
	for commit in $(git -C "$patched_tree" rev-list --reverse base..HEAD); do
		git -C "$work" checkout -q --detach "$commit"
		name=$(git -C "$work" log -1 --format=%s)
		for arch in arm64 x86; do
			# Nothing to build where nothing can have changed.
			! git -C "$work" diff --quiet "$commit^" "$commit" -- "arch/$arch" virt include || continue
			log=$results/build-$arch.out
			files=$(touched "$commit" "$arch")
			# shellcheck disable=SC2086 # a list of files
			if ! build_commit "$commit" "$arch" "$log" $files; then
				cp "$log" "$results/build-$arch-$commit.out"
				echo "not ok - build $arch '$name' ($results/build-$arch-$commit.out)"
				continue
			fi
			new=$(warnings "$log" | comm -23 - "$results/warnings-$arch-base" | head -n 1)
			if [ -n "$new" ]; then
				echo "not ok - build $arch '$name': new warning: $new"
			else
				echo "ok - build $arch '$name'"
			fi
		done
	done
}

take_lock
checkpatch
builds
