#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-patches.sh: each patch by itself. checkpatch --strict; and, patch by patch in a worktree for each architecture, that
# KVM builds with W=1, and the files that the patch touches pass sparse, without a warning that base has not. The same for each
# topic on the base with no more than it says that it needs. "check-patches.sh topics" builds only those.
#
# What passed is remembered beside ccache's cache, by all that could change the result: remove ~/.cache/fastwalk to forget.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

me=$root/scripts/check-patches.sh
work=$build/bisect
results=$build/results/check
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastwalk/passed

# passed KEY: whether it has before; keep KEY FILE: it has, and this is what there is to know about it
passed() { [ -f "$cache/$1" ]; }
keep() {
	mkdir -p "$cache"
	cp "$2" "$cache/$1.new.$$"
	mv "$cache/$1.new.$$" "$cache/$1"
}
key() { sha256sum | cut -d' ' -f1; }

checkpatch() {
	local patch name key rc again=0 number=0 out=$results/checkpatch.out
	local patches=("$root"/patches/*/*.patch)
	for patch in "${patches[@]}"; do
		name=${patch#"$root"/}
		number=$((number + 1))
		key=$(cat "$patch" "$me" "$patched_tree"/scripts/{checkpatch.pl,const_structs.checkpatch,spelling.txt} | key)
		if passed "$key"; then
			again=$((again + 1))
			echo "ok - checkpatch $name"
			continue
		fi
		[ $((number % 10)) -ne 0 ] || say PATCH "checkpatch: $number of ${#patches[@]}"
		rc=0
		# The tag is for whoever submits the patch. MAINTAINERS has our entry in MAINTAINERS.snippet. The tree has no history
		# in which to look up what a patch fixes.
		(cd "$patched_tree" && perl scripts/checkpatch.pl --strict --no-tree --no-summary --terse --ignore \
			MISSING_SIGN_OFF,FILE_PATH_CHANGES,NO_AUTHOR_SIGN_OFF,UNKNOWN_COMMIT_ID "$patch") >"$out" 2>&1 || rc=$?
		if [ "$rc" -eq 0 ]; then
			echo "ok - checkpatch $name"
			keep "$key" "$out"
		else
			echo "not ok - checkpatch $name: $(head -n 1 "$out")"
		fi
	done
	say PATCH "checkpatch: ${#patches[@]} patches, $again of them known to pass"
}

# Everything below is for one architecture.

wmake() { kmake "$arch" "$tree" O="$tree/.obj-$arch" -s -j"$(nproc)" "$@"; }

# prepare: a worktree and a configured object folder. What a removed or new build/linux left behind is of no use.
prepare() {
	git -C "$patched_tree" worktree prune
	if ! git -C "$tree" rev-parse -q --verify base >/dev/null 2>&1; then
		rm -rf "$tree"
		mkdir -p "$work"
		git -C "$patched_tree" worktree add -q -f --detach "$tree" base
	fi
	mkdir -p "$tree/.obj-$arch"
	kernel_config "$arch" >"$tree/.obj-$arch/fragments"
	wmake KCONFIG_ALLCONFIG="$tree/.obj-$arch/fragments" allnoconfig
}

# sources COMMIT: what of it can change the build for this architecture
sources() {
	git -C "$patched_tree" ls-tree "$1" | grep -vE '[[:space:]](Documentation|arch|tools)$'
	git -C "$patched_tree" rev-parse "$1:arch/$arch"
}

# touched FROM TO: the C files of KVM for this architecture that differ
touched() {
	git -C "$patched_tree" diff --name-only --diff-filter=AM "$1" "$2" | { grep -E "^(arch/$arch/kvm|virt/kvm)/.*\\.c\$" || true; }
}

# warnings LOG: of the compiler, sparse and kernel-doc; without line numbers, so that what moved is not new
warnings() { sed -nE '/([Ww]arning|error):/ { s/:[0-9]+(:[0-9]+)?:? /: /; s/(^|: )(\.\.\/)+/\1/; p }' "$1" | sort -u; }

# build_commit COMMIT FILES: with W=1, and in the same run sparse for FILES; code for EL2 is checked as such. That what is
# not touched need not be built again is make's to know: it includes virt/kvm/, and all that a header is part of.
build_commit() {
	git -C "$tree" checkout -q -f --detach "$1"
	FASTWALK_FILES=$2 wmake W=1 ${sparse:+C=2 CHECK="$results/sparse-$arch"} "arch/$arch/kvm/"
}

# sparse is asked about every file, and looks at those in FASTWALK_FILES.
sparse_for_files() {
	cat >"$results/sparse-$arch" <<-END
		#!/bin/sh
		for file; do :; done
		case \$file in
		*.c)
			for wanted in \$FASTWALK_FILES; do
				case \$file in \$wanted | */\$wanted) exec "$sparse" "\$@" ;; esac
			done
			exit 0
			;;
		esac
		exec "$sparse" "\$@"
	END
	chmod +x "$results/sparse-$arch"
}

# build_key COMMIT FILES: all that the result of building COMMIT, with sparse on FILES, depends on
build_key() {
	{
		cat "$setting"
		sources "$1"
		echo "$2"
	} | key
}

# Objects that are there and up to date show no warnings. They can be trusted if they were made in this setting and judged;
# after an interrupted build, or one with a complaint, all are made again.
begin_build() {
	if ! cmp -s "$setting" "$tree/.obj-$arch/judged"; then
		find "$tree/.obj-$arch" -path '*/kvm/*.o' -delete
	fi
	rm -f "$tree/.obj-$arch/judged"
}
end_build() { cp "$setting" "$tree/.obj-$arch/judged"; }

# base_warnings: makes the list of them, and builds base for it if that was not done before
base_warnings() {
	local log=$results/build-$arch-base.out key files
	files=$(touched base HEAD)
	key=$(build_key base "$files")
	if ! passed "$key-base"; then
		say BUILD "$arch: base"
		begin_build
		logged "$log" "$me" build "$arch" base "$files" || die "base does not build on $arch (see $log)"
		warnings "$log" >"$log.warnings"
		keep "$key-base" "$log.warnings"
		end_build
	fi
	cp "$cache/$key-base" "$results/warnings-$arch-base"
}

builds() {
	local commit name key new here before files number=0 again=0 log=$results/build-$arch.out commits=()
	before=$(sources base)
	# Nothing to build where nothing can have changed.
	while read -r commit _; do
		here=$(sources "$commit")
		[ "$here" = "$before" ] || commits+=("$commit")
	done <"$results/topics"
	for commit in $(git -C "$patched_tree" rev-list --reverse base..HEAD); do
		[ "$what" = all ] || break
		here=$(sources "$commit")
		[ "$here" = "$before" ] || commits+=("$commit")
		before=$here
	done
	for commit in "${commits[@]}"; do
		number=$((number + 1))
		name=$(git -C "$patched_tree" log -1 --format=%s "$commit")
		files=$(touched "$commit^" "$commit")
		key=$(build_key "$commit" "$files")
		if passed "$key"; then
			again=$((again + 1))
			echo "ok - build $arch '$name'"
			continue
		fi
		if [ ! -f "$results/warnings-$arch-base" ]; then
			logged "$logs/bisect-$arch.log" flock "$build/bisect.lock" "$me" prepare "$arch" ||
				die "no worktree for the patch-by-patch builds on $arch"
			base_warnings
		fi
		say BUILD "$arch: $number of ${#commits[@]}: $name"
		begin_build
		if ! "$me" build "$arch" "$commit" "$files" >"$log" 2>&1; then
			cp "$log" "$results/build-$arch-$commit.out"
			echo "not ok - build $arch '$name' ($results/build-$arch-$commit.out)"
			continue
		fi
		warnings "$log" >"$log.warnings"
		new=$(comm -23 "$log.warnings" "$results/warnings-$arch-base" | sed -n 1p)
		if [ -n "$new" ]; then
			echo "not ok - build $arch '$name': new warning: $new"
		else
			echo "ok - build $arch '$name'"
			keep "$key" "$log.warnings"
			end_build
		fi
	done
	say BUILD "$arch: ${#commits[@]} patches and topics, $again of them known to pass"
}

# for_arch ARCH: sets what the functions above use
for_arch() {
	arch=$1
	arch "$arch"
	tree=$work/$arch
	setting=$results/setting-$arch
	sparse=$(cat "$results/sparse")
}

# Each is a process of its own: a failure ends it. See check.sh.
mkdir -p "$results"
case ${1:-} in
checkpatch) checkpatch ;;
prepare | builds)
	for_arch "$2"
	what=${3:-all}
	"$1"
	;;
build)
	for_arch "$2"
	build_commit "$3" "$4"
	;;
*)
	take_lock
	"$root/scripts/topics.sh" commits >"$results/topics"
	if ! "$root/scripts/sparse.sh" >"$results/sparse" 2>"$results/sparse.out"; then
		: >"$results/sparse"
		echo "ok - sparse # SKIP $(tail -n 1 "$results/sparse.out")"
	fi
	[ ! -d "$cache" ] || find "$cache" -type f -mtime +60 -delete
	# A worktree, as it once was
	[ ! -e "$work/.git" ] || rm -rf "$work"
	for arch in $archs; do
		for_arch "$arch"
		[ -z "$sparse" ] || sparse_for_files
		rm -f "$results/warnings-$arch-base"
		{
			cat "$me"
			kernel_config "$arch"
			"${cross}gcc" --version
			[ -z "$sparse" ] || "$sparse" --version
			git -C "$patched_tree" rev-parse 'base^{tree}'
		} >"$setting"
	done
	pids=()
	if [ "${1:-}" != topics ]; then
		"$me" checkpatch &
		pids+=($!)
	fi
	for arch in $archs; do
		"$me" builds "$arch" "${1:-all}" &
		pids+=($!)
	done
	rc=0
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=1
	done
	exit "$rc"
	;;
esac
