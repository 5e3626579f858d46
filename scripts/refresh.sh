#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# refresh.sh: writes the commits of build/linux back to patches/<topic>/NNNN-*.patch, byte for byte the same for the
# same commits. A commit without a topic note (see tree.sh) belongs to its parent's topic.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock
[ -d "$patched_tree/.git" ] || die "there is no build/linux to write back: run 'make tree' first"
[ ! -d "$patched_tree/.git/rebase-merge" ] || die "a rebase is under way in build/linux: finish it first ('make rebase' goes on)"
git_linux merge-base --is-ancestor base HEAD || die "the commits of build/linux are not on its base: 'make rebase' brings them there"
[ -z "$(git_linux status --porcelain --untracked-files=no)" ] || die "build/linux has uncommitted changes: commit them first"
if [ "${FORCE:-0}" != 1 ] && [ -f "$build/linux.applied" ] &&
	[ "$(sed -n 1p "$build/linux.applied")" != "$(patches_hash)" ]; then
	die "patches/ has changed since build/linux was made of it, and would lose that: FORCE=1 does it anyway, 'make tree FORCE=1' throws build/linux away instead"
fi

new=$build/patches.new
rm -rf "$new"
mkdir -p "$new"
topic=
for commit in $(git_linux rev-list --reverse base..HEAD); do
	topic=$(git_linux notes --ref topic show "$commit" 2>/dev/null || echo "$topic")
	[ -n "$topic" ] || die "the first commit has no topic: git notes --ref topic add -m NN-topic $commit"
	mkdir -p "$new/$topic"
	count=$(find "$new/$topic" -name '*.patch' | wc -l)
	git_linux format-patch -q -1 -N --start-number $((count + 1)) --zero-commit --no-signature --full-index --no-renames --no-base \
		--no-cover-letter --no-thread -o "$new/$topic" "$commit"
done
for dir in "$root"/patches/*/; do
	dir=${dir%/}
	for file in cover-letter needs changes; do
		[ ! -f "$dir/$file" ] || {
			mkdir -p "$new/${dir##*/}"
			cp "$dir/$file" "$new/${dir##*/}/"
		}
	done
done
for dir in "$new"/*/; do
	for file in cover-letter needs; do
		[ -f "$dir/$file" ] || warn "patches/$(basename "$dir") has no file '$file'"
	done
done
rsync -rc --delete "$new/" "$root/patches/"
rm -rf "$new"
{
	patches_hash
	git_linux rev-parse HEAD
} >"$build/linux.applied"
say REFRESH "$(git_linux rev-list --count base..HEAD) patches"
