#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rebase.sh: carries the series to the base in KDIR, as commits of build/linux, and writes it back to patches/. Each patch
# keeps its topic. Stops at a patch that does not fit, in a rebase of git's that one can work in; run again, it goes on.
# Until it has ended patches/ is as it was, and `make tree FORCE=1` throws all of it away.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock
applied=$build/linux.applied
log=$logs/rebase.log
mkdir -p "$logs"

# stopped: what to do about the patch at hand
stopped() {
	local files
	[ -d "$patched_tree/.git/rebase-merge" ] || die "git could not rebase build/linux: $(tail -n 1 "$log")"
	files=$(git_linux diff --name-only --diff-filter=U | xargs)
	echo "  In build/linux: mend ${files:-what is left of the patch}, 'git add' it, and run 'make rebase' again to go on."
	echo "  'git rebase --skip' there leaves the patch out; 'make tree FORCE=1' gives it all up."
	die "does not fit this base: $(git_linux notes --ref topic show REBASE_HEAD 2>/dev/null || true): $(git_linux log -1 --format=%s REBASE_HEAD)"
}

# words: what each patch does, wherever in its files that is
words() {
	(
		cd "$root/patches"
		for patch in */*.patch; do
			echo "$(sed '/^index /d; s/^@@ [^@]* @@.*/@@/' "$patch" | sha256sum | cut -c 1-16) $patch"
		done
	)
}

if [ "$(sed -n 2p "$applied" 2>/dev/null)" != rebase ]; then
	[ -n "${KDIR:-}" ] || die "no rebase is under way: KDIR=/path/to/linux says where to"
	# From the base that the patches are for. Nothing to do if build/linux has it.
	env -u KDIR "$root/scripts/fetch.sh"
	env -u KDIR "$root/scripts/tree.sh"
	"$root/scripts/tree.sh" base
fi
from=$(sed -n 3p "$applied")
if [ -d "$patched_tree/.git/rebase-merge" ]; then
	[ -z "$(git_linux diff --name-only --diff-filter=U)" ] || stopped
	say REBASE "goes on"
	GIT_EDITOR=: git_linux rebase --continue >"$log" 2>&1 || stopped
elif ! git_linux merge-base --is-ancestor base fastwalk; then
	say REBASE "$(git_linux rev-list --count "$from..fastwalk") patches to $(git_linux log -1 --format=%s base)"
	git_linux rebase --onto base "$from" fastwalk >"$log" 2>&1 || stopped
fi
before=$(words)
"$root/scripts/refresh.sh"
{ diff <(echo "$before") <(words) || true; } | sed -n 's/^>.* /  changed: patches\//p'
say "" "use this base with KDIR=, or name it in scripts/base.conf"
