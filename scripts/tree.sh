#!/bin/bash
# tree.sh: makes build/linux-base (the base, untouched) and build/linux (the base as a git commit, then one commit a patch).
#
# Each patch's topic is kept as a git note on its commit, which git carries through amend and rebase; refresh.sh files
# commits by it. build/linux is rebuilt when patches/ changed, unless it holds work that refresh.sh has not written back.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock

applied=$build/linux.applied

base_id() {
	if [ -n "${KDIR:-}" ]; then
		echo "KDIR $(cd "$KDIR" && pwd) $(kernel_version "$KDIR")"
	else
		echo "$BASE_PACKAGE $BASE_VERSION"
	fi
}

kernel_version() { awk -F' = ' '/^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) =/ { v = v sep $2; sep = "." } END { print v }' "$1/Makefile"; }

make_base() {
	local new=$build/linux-base.new
	if [ -n "${KDIR:-}" ]; then
		[ -f "$KDIR/virt/kvm/kvm_main.c" ] ||
			die "KDIR=$KDIR is not a kernel tree: it has no virt/kvm/kvm_main.c"
	fi
	[ "$(cat "$base_tree/.fastwalk-base" 2>/dev/null)" != "$(base_id)" ] || return 0
	need_space 8000
	rm -rf "$new" "$base_tree"
	mkdir -p "$new"
	if [ -n "${KDIR:-}" ]; then
		say COPY "$KDIR"
		if git -C "$KDIR" rev-parse --git-dir >/dev/null 2>&1; then
			(cd "$KDIR" && git ls-files -z | tar --null --ignore-failed-read -cf - -T -) | tar -xf - -C "$new"
		else
			logged "$logs/tree-base.log" rsync -a --exclude .git "$KDIR/" "$new/"
			logged "$logs/tree-base.log" make -C "$new" -s mrproper
		fi
	else
		say UNPACK "$(cat "$build/fetch/version")"
		logged "$logs/tree-base.log" tar -xJf "$build/fetch/linux.tar.xz" --strip-components=1 -C "$new" ||
			die "could not unpack $build/fetch/linux.tar.xz: remove it and try again"
	fi
	base_id >"$new/.fastwalk-base"
	mv "$new" "$base_tree"
}

git_linux() { git -C "$patched_tree" "$@"; }

make_git() {
	local new=$build/linux.new
	if [ -d "$patched_tree/.git" ] && [ "$(git_linux log -1 --format=%s base 2>/dev/null)" = "$(base_id)" ]; then
		return 0
	fi
	[ ! -d "$patched_tree/.git" ] || keep_work
	say GIT "build/linux"
	rm -rf "$new" "$patched_tree" "$applied"
	cp -a --reflink=auto "$base_tree" "$new"
	rm -f "$new/.fastwalk-base"
	(
		cd "$new"
		git init -q -b fastwalk
		# Only for this tree: whoever submits the patches signs them off.
		git config user.name fastwalk
		git config user.email fastwalk@localhost
		git config gc.auto 0
		git config maintenance.auto false
		echo '/.obj-*/' >>.git/info/exclude
		git config core.compression 0
		git config core.untrackedCache true
		git config notes.rewriteRef refs/notes/topic
		git config commit.gpgSign false
	)
	logged "$logs/tree-git.log" git -C "$new" add -A -f
	GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
		git -C "$new" commit -q -m "$(base_id)"
	git -C "$new" tag base
	mv "$new" "$patched_tree"
}

# keep_work: stops if build/linux holds anything that patches/ does not.
keep_work() {
	[ "${FORCE:-0}" != 1 ] || return 0
	if [ -n "$(git_linux status --porcelain --untracked-files=no)" ]; then
		die "build/linux has uncommitted changes: commit them and 'make refresh', or throw them away with FORCE=1"
	fi
	if [ -f "$applied" ] && [ "$(git_linux rev-parse HEAD)" != "$(sed -n 2p "$applied")" ]; then
		die "build/linux has commits that patches/ does not: 'make refresh' writes them back, FORCE=1 throws them away"
	fi
}

apply_patches() {
	local topic patch hash
	hash=$(patches_hash)
	if [ -f "$applied" ] && [ "$(sed -n 1p "$applied")" = "$hash" ]; then
		return 0
	fi
	keep_work
	[ ! -d "$patched_tree/.git/rebase-apply" ] || git_linux am --abort
	rm -f "$applied"
	git_linux checkout -q -f -B fastwalk base
	git_linux clean -qfd
	git_linux update-ref -d refs/notes/topic
	for topic in "$root"/patches/*/; do
		topic=${topic%/}
		for patch in "$topic"/*.patch; do
			[ -e "$patch" ] || continue
			if ! git_linux am -q --committer-date-is-author-date "$patch" >"$logs/tree-am.log" 2>&1; then
				git_linux am --abort || true
				die "${patch#"$root"/} does not apply to $(base_id) (details: $logs/tree-am.log)"
			fi
			git_linux notes --ref topic add -m "${topic##*/}" HEAD
		done
	done
	say APPLY "$(git_linux rev-list --count base..HEAD) patches"
	{
		echo "$hash"
		git_linux rev-parse HEAD
	} >"$applied.new"
	mv "$applied.new" "$applied"
}

mkdir -p "$logs"
make_base
make_git
apply_patches
