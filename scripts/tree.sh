#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tree.sh: makes build/linux-base (the base, untouched) and build/linux (the base as a git commit, then one commit a patch).
#
# Each patch's topic is kept as a git note on its commit, which git carries through amend and rebase; refresh.sh files
# commits by it. "tree.sh base" leaves out the commits of the patches: for rebase.sh. build/linux is rebuilt when patches/ changed, unless it holds work that refresh.sh has not written back.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock

applied=$build/linux.applied

# base_id: what the base is made of, to the last file: the Debian version that was fetched, or what KDIR holds right now. Where
# KDIR is does not matter.
base_id() {
	local version
	if [ -z "${KDIR:-}" ]; then
		cat "$build/fetch/pin"
	elif version=$(kernel_version "$KDIR") && kdir_is_git; then
		echo "KDIR $version $(git -C "$KDIR" rev-parse --short=12 HEAD)$(kdir_edits)"
	else
		echo "KDIR $version files $(cd "$KDIR" && find . -name .git -prune -o \( -type f -o -type l \) -printf '%P %s %T@ %l\n' | sort | sha256sum | cut -c 1-12)"
	fi
}

# A plain tree inside the checkout of something else is no git tree.
kdir_is_git() { [ -z "$(git -C "$KDIR" rev-parse --show-cdup 2>/dev/null)" ] && git -C "$KDIR" rev-parse -q --verify HEAD >/dev/null 2>&1; }

# kdir_edits: "+hash" of what git has not committed in KDIR; nothing if there is nothing
kdir_edits() {
	local edits
	edits=$(
		GIT_OPTIONAL_LOCKS=0 git -C "$KDIR" diff --no-ext-diff --no-textconv --no-color --binary HEAD
		untracked "$KDIR"
	)
	[ -z "$edits" ] || echo "+$(sha256sum <<<"$edits" | cut -c 1-12)"
}

kernel_version() { awk '$1 ~ /^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)$/ && $2 == "=" { f[$1] = $3 }
	END { print f["VERSION"] "." f["PATCHLEVEL"] "." f["SUBLEVEL"] f["EXTRAVERSION"] }' "$1/Makefile"; }

make_base() {
	local new=$build/linux-base.new id
	if [ -n "${KDIR:-}" ]; then
		[ -f "$KDIR/virt/kvm/kvm_main.c" ] ||
			die "KDIR=$KDIR is not a kernel tree: it has no virt/kvm/kvm_main.c"
	fi
	id=$(base_id)
	[ "$(cat "$base_tree/.fastwalk-base" 2>/dev/null)" != "$id" ] || return 0
	[ ! -d "$patched_tree/.git" ] || keep_work
	need_space 8000
	rm -rf "$new" "$base_tree"
	mkdir -p "$new"
	if [ -n "${KDIR:-}" ]; then
		say COPY "$KDIR"
		if kdir_is_git; then
			# Without what is deleted there but not committed.
			(cd "$KDIR" && git ls-files -z --cached --others --exclude-standard | sort -zu |
				perl -0 -ne 'chomp; print "$_\0" if -l || -f' | tar --null --verbatim-files-from -cf - -T -) | tar -xf - -C "$new"
		else
			logged "$logs/tree-base.log" rsync -a --exclude .git "$KDIR/" "$new/"
			logged "$logs/tree-base.log" make -C "$new" -s mrproper
		fi
	else
		say UNPACK "$(cat "$build/fetch/pin")"
		logged "$logs/tree-base.log" tar -xJf "$build/fetch/linux.tar.xz" --strip-components=1 -C "$new" ||
			die "could not unpack $build/fetch/linux.tar.xz: remove it and try again"
	fi
	[ "$id" = "$(base_id)" ] || die "KDIR=$KDIR changed while it was being copied: run this again"
	echo "$id" >"$new/.fastwalk-base"
	mv "$new" "$base_tree"
}

# make_git: the base as a commit with the tag "base" in build/linux. Earlier bases stay in there, for rebase.sh to merge with.
make_git() {
	local id tree commit link
	id=$(cat "$base_tree/.fastwalk-base")
	if [ -d "$patched_tree/.git" ]; then
		[ "$(git_linux log -1 --format=%s base 2>/dev/null)" != "$id" ] || return 0
		keep_work
	else
		rm -rf "$patched_tree"
		init_git
	fi
	say GIT "build/linux: $id"
	# What was built of another base, also in work trees (check-patches.sh has one), would only be in the way.
	rm -rf "$applied" "$patched_tree"/.obj-*
	for link in "$build"/*/.git; do
		[ ! -f "$link" ] || rm -rf "${link%/.git}"
	done
	logged "$logs/tree-git.log" import_base
	tree=$(GIT_INDEX_FILE=$build/linux.index git_linux write-tree)
	rm -f "$build/linux.index"
	commit=$(GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
		git_linux commit-tree -m "$id" "$tree")
	git_linux tag -f base "$commit" >/dev/null
}

init_git() {
	local new=$build/linux.new
	rm -rf "$new"
	mkdir -p "$new"
	env -u GIT_TEMPLATE_DIR GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null git init -q -b fastwalk "$new"
	(
		cd "$new"
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
	mv "$new" "$patched_tree"
}

# import_base: build/linux-base into an index of its own, not yet into the work tree.
import_base() {
	rm -f "$build/linux.index"
	GIT_INDEX_FILE=$build/linux.index git_linux --git-dir="$patched_tree/.git" --work-tree="$base_tree" -C "$base_tree" \
		-c core.untrackedCache=false add -A -f -- . ':!.fastwalk-base' ':!.obj-*'
}

# keep_work: stops if build/linux holds anything that patches/ does not.
keep_work() {
	if [ "${FORCE:-0}" = 1 ]; then
		[ ! -d "$patched_tree/.git/rebase-merge" ] || git_linux rebase --quit
		return 0
	fi
	[ "$(sed -n 2p "$applied" 2>/dev/null)" != rebase ] ||
		die "a rebase is under way in build/linux: 'make rebase' goes on with it, FORCE=1 throws it away"
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
	if [ "$(sed -n 1p "$applied" 2>/dev/null)" = "$hash" ] && [ "$(sed -n 2p "$applied")" != rebase ]; then
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
				die "${patch#"$root"/} does not apply to $(cat "$base_tree/.fastwalk-base") (details: $logs/tree-am.log): 'make rebase' carries the patches to another base"
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
if [ "${1:-}" = base ]; then
	from=$(git_linux rev-parse base)
	make_git
	printf '%s\n' "$(patches_hash)" rebase "$from" >"$applied"
else
	make_git
	apply_patches
fi
