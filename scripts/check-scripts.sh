#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-scripts.sh: tests of our own scripts, in a small copy of the project with a toy kernel tree and a stand-in QEMU.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

toy=$(mktemp -d)
trap 'rm -rf "$toy"' EXIT
unset FASTWALK_TOP FASTWALK_LOCKED VENDOR KDIR FORCE CMD MODE ICOUNT SMP MEM TIMEOUT APPEND CONFIG OUT ARCH TREE BENCH METRIC HERE V PHASES TREES MODES SLOW
export GIT_AUTHOR_NAME=toy GIT_AUTHOR_EMAIL=toy@localhost GIT_COMMITTER_NAME=toy GIT_COMMITTER_EMAIL=toy@localhost

# A kernel tree of three files, and two topics of patches for it.
cp -r "$root/scripts" "$root/arch" "$root/tools" "$root/README.md" "$root/Documentation" "$toy/"
mkdir -p "$toy/linux/virt/kvm" "$toy/linux/scripts" "$toy/linux/arch/arm64/kvm" "$toy/linux/arch/x86/kvm" "$toy/bin" "$toy/patches"
printf 'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n' >"$toy/linux/Makefile"
seq 1 40 >"$toy/linux/virt/kvm/kvm_main.c"
cat >"$toy/linux/scripts/get_maintainer.pl" <<'EOF'
print "Keeper \"K\" One <one\@example.org> (maintainer:KVM (FOR TOYS))\nReader <two\@example.org> (reviewer:KVM)\nkvm\@example.org (open list:KVM)\n";
EOF
touch "$toy/linux/scripts/"{checkpatch.pl,const_structs.checkpatch,spelling.txt} "$toy/linux/arch/"{arm64,x86}/kvm/mmu.c
(
	cd "$toy/linux"
	git init -q
	git add -A
	git commit -q -m toy
	for n in 1 2 3; do
		sed -i "s/^${n}0\$/${n}0 walked/" virt/kvm/kvm_main.c
		git commit -qa -m "KVM: change number $n" -m "Walk it."
	done
	for n in 1 2 3; do
		topic=0$(((n + 1) / 2))-topic
		mkdir -p "$toy/patches/$topic"
		echo cover >"$toy/patches/$topic/cover-letter"
		echo - >"$toy/patches/$topic/needs"
		git format-patch -q -1 -N --zero-commit --no-signature --full-index -o "$toy/patches/$topic" "HEAD~$((3 - n))"
	done
	git reset -q --hard HEAD~3
)
mv "$toy/patches/01-topic/0001-KVM-change-number-2.patch" "$toy/patches/01-topic/0002-KVM-change-number-2.patch"
cp -r "$toy/patches" "$toy/patches.orig"

# expect NAME STATUS TEXT CMD...: CMD must end with STATUS and print TEXT (a regular expression) on its last line, or
# nothing at all where TEXT is empty.
expect() {
	local name=$1 status=$2 text=$3 rc=0
	shift 3
	[ ! -f "$toy/out" ] || mv "$toy/out" "$toy/out.before"
	"$@" >"$toy/out" 2>&1 || rc=$?
	if [ "$rc" -ne "$status" ]; then
		echo "not ok - $name: status $rc, not $status: $(tail -n 1 "$toy/out")"
	elif [ -z "$text" ] && [ -s "$toy/out" ]; then
		echo "not ok - $name: prints something: $(tail -n 1 "$toy/out")"
	elif [ -n "$text" ] && ! tail -n 1 "$toy/out" | grep -qE "$text"; then
		echo "not ok - $name: last line is not /$text/: $(tail -n 1 "$toy/out")"
	else
		echo "ok - $name"
	fi
}

same() { diff -r "$toy/patches" "$toy/patches.orig" && echo "same patches"; }
s=$toy/scripts

# Trees.
expect "tree: KDIR that is no kernel" 1 'is not a kernel tree' env KDIR="$toy/bin" "$s/tree.sh"
export KDIR=$toy/linux
expect "tree: applies all patches" 0 'APPLY +3 patches' "$s/tree.sh"
expect "tree: KDIR is left alone" 0 '' git -C "$toy/linux" diff --exit-code
expect "refresh: writes three patches" 0 'REFRESH +3 patches' "$s/refresh.sh"
expect "refresh: byte for byte the same" 0 'same patches' same
expect "refresh: keeps what is beside the patches" 0 'REFRESH' sh -c "touch '$toy/patches/01-topic/changes' && '$s/refresh.sh' && rm '$toy/patches/01-topic/changes'"
expect "tree: nothing to do the second time" 0 '' "$s/tree.sh"
edit() { (cd "$toy/build/linux" && sed -i 's/^35$/35 more/' virt/kvm/kvm_main.c && git commit -qa -m 'KVM: one more'); }
expect "tree: a new commit" 0 '' edit
echo >>"$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "tree: does not lose a commit that is not refreshed" 1 'commits that patches/ does not' "$s/tree.sh"
expect "refresh: does not undo a change of patches/" 1 'patches/ has changed' "$s/refresh.sh"
expect "tree: FORCE=1 throws it away" 0 'APPLY +3 patches' env FORCE=1 "$s/tree.sh"
expect "tree: a new commit again" 0 '' edit
expect "refresh: a new commit joins its parent's topic" 0 'REFRESH +4 patches' "$s/refresh.sh"
expect "refresh: in the right place" 0 '0002-KVM-one-more.patch' ls "$toy/patches/02-topic/0002-KVM-one-more.patch"
sed -i 's/^-20$/-2000/' "$toy/patches/01-topic/0002-KVM-change-number-2.patch"
expect "tree: a patch that does not fit is named" 1 '01-topic/0002-KVM-change-number-2.patch does not apply' "$s/tree.sh"
rm -rf "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
expect "tree: recovers from it" 0 'APPLY +3 patches' "$s/tree.sh"

# What the patches are called counts, not only what they say.
mv "$toy/patches/02-topic" "$toy/patches/03-topic"
expect "refresh: does not undo the renaming of a topic" 1 'patches/ has changed' "$s/refresh.sh"
expect "tree: notices it" 0 'APPLY +3 patches' "$s/tree.sh"
expect "refresh: keeps it" 0 'REFRESH +3 patches' "$s/refresh.sh"
expect "refresh: keeps it in place" 0 . ls -d "$toy/patches/03-topic"
mv "$toy/patches/03-topic" "$toy/patches/02-topic"
expect "tree: back again" 0 'APPLY +3 patches' "$s/tree.sh"
prints() { bash -c ". '$s/lib.sh'; $1"; }
changes() { local was; was=$(prints "$1"); eval "$2"; [ "$was" != "$(prints "$1")" ] && echo changed; }
echo 1 >"$toy/build/linux/virt/kvm/new.h"
expect "fingerprint: what an untracked file says counts" 0 changed \
	changes 'fingerprint patched' "echo 2 >'$toy/build/linux/virt/kvm/new.h'"
rm "$toy/build/linux/virt/kvm/new.h"

# What topics say that they need. The second one changes a line that the third takes for granted.
expect "topics: each applies with what it needs" 0 '^ok - 02-topic applies to the base with nothing else' "$s/topics.sh" check
expect "topics: one that needs nothing has nothing before it" 0 '' "$s/topics.sh" closure 02-topic
needs() { echo "$2" >"$toy/patches/$1/needs"; }
needs 02-topic 01-topic/KVM-change-number-2
expect "topics: a patch of another" 0 '/01-topic/0002-KVM-change-number-2.patch$' "$s/topics.sh" closure 02-topic
needs 02-topic 01-topic
expect "topics: another" 0 '/01-topic/0002-KVM-change-number-2.patch$' "$s/topics.sh" closure 02-topic
expect "topics: all of another" 0 '/01-topic/0001-KVM-change-number-1.patch$' head -n 1 "$toy/out.before"
needs 02-topic 01-topic/KVM-change
expect "topics: an ambiguous patch" 1 'more than one patch is called 01-topic/KVM-change' "$s/topics.sh" check
needs 02-topic 01-topic/nonesuch
expect "topics: no such patch" 1 'there is no patch 01-topic/nonesuch' "$s/topics.sh" check
needs 01-topic 02-topic
needs 02-topic -
expect "topics: one that comes later" 1 'patches/01-topic needs 02-topic, which comes after it' "$s/topics.sh" check
rm "$toy/patches/01-topic/needs"
expect "topics: one that says nothing" 1 'patches/01-topic does not say what it builds on' "$s/topics.sh" check
needs 01-topic -
sed -i 's/^-30$/-20 walked\n-30/; s/^@@ -27,7 +27,7 @@/@@ -20,11 +20,10 @@/' "$toy/patches/02-topic/0001-KVM-change-number-3.patch"
expect "topics: one that does not apply" 0 '^not ok - 02-topic does not apply to the base with nothing else: ' "$s/topics.sh" check
rm -rf "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"

# What goes to the lists.
cover() { printf '%s\n' "KVM: Walk toys" "" "${2:-It walks.}" >"$toy/patches/$1/cover-letter"; }
toy_git() { git -C "$toy" "$@"; }
toy_git init -q
printf '/build/\n/linux/\n/bin/\n' >"$toy/.gitignore"
toy_git add -A
toy_git commit -q -m toy
expect "series: a cover letter without a subsystem" 1 '^series.sh: error: 2 things that a list would send back' "$s/series.sh"
expect "series: which is named" 0 'build/series/v1/01-topic/0000-cover-letter.patch: the subject does not begin with' head -n 1 "$toy/out.before"
cover 01-topic
cover 02-topic
echo 01-topic >"$toy/patches/02-topic/needs"
expect "series: two topics" 0 'SERIES +build/series/v1/02-topic: 1 patches' "$s/series.sh"
expect "series: the subject" 0 '^Subject: .PATCH 0/2. KVM: Walk toys$' grep '^Subject:' "$toy/build/series/v1/01-topic/0000-cover-letter.patch"
expect "series: maintainers" 0 '^To: Keeper "K" One <one@example.org>$' grep '^To:' "$toy/build/series/v1/01-topic/0000-cover-letter.patch"
expect "series: reviewers and lists" 0 '^.kvm@example.org$' grep -A 1 '^Cc: Reader <two@example.org>,$' "$toy/build/series/v1/01-topic/0000-cover-letter.patch"
expect "series: the base" 0 "^base-commit: $(git -C "$toy/linux" rev-parse HEAD)\$" grep base-commit "$toy/build/series/v1/01-topic/0000-cover-letter.patch"
expect "series: what has to be applied before" 0 '^2$' grep -c '^prerequisite-patch-id: [0-9a-f]\{40\}$' "$toy/build/series/v1/02-topic/0000-cover-letter.patch"
expect "series: the same by name" 0 '^ - the series "KVM: Walk toys"$' grep -A 1 'Applies on top of' "$toy/build/series/v1/02-topic/0000-cover-letter.patch"
am() {
	rm -rf "$toy/am"
	git clone -q "$toy/linux" "$toy/am"
	git -C "$toy/am" am -q "$toy/build/series/v1/01-topic/01-topic.mbox" "$toy/build/series/v1/02-topic/02-topic.mbox"
	git -C "$toy/am" diff --stat HEAD~3 HEAD
	rm -rf "$toy/am"
}
expect "series: git am takes the mbox" 0 '1 file changed, 3 insertions' am
expect "series: no tag while something is not committed" 1 'has changes that are not committed' env SENT=1 "$s/series.sh"
toy_git commit -qam cover
expect "series: sent" 0 'TAG +series-v1' env SENT=1 "$s/series.sh"
sed -i 's/^+20 walked/+20 walked fast/' "$toy/patches/01-topic/0002-KVM-change-number-2.patch"
echo ' * faster' >"$toy/patches/01-topic/changes"
expect "series: the next version" 0 'SERIES +build/series/v2/02-topic' "$s/series.sh"
expect "series: its number" 0 '^Subject: .PATCH v2 2/2. KVM: change number 2$' grep '^Subject:' "$toy/build/series/v2/01-topic/v2-0002-KVM-change-number-2.patch"
expect "series: what has changed" 0 '^ . faster$' grep -A 1 '^Changes since v1:' "$toy/build/series/v2/01-topic/v2-0000-cover-letter.patch"
expect "series: to the line" 0 'walked fast$' grep '^ *[+]*+20 walked' "$toy/build/series/v2/01-topic/v2-0000-cover-letter.patch"
expect "series: in the patch that has" 0 ' ! .* KVM: change number 2$' grep '^2:' "$toy/build/series/v2/01-topic/v2-0000-cover-letter.patch"
expect "series: and not in others" 0 ' = .* KVM: change number 3$' grep '^1:' "$toy/build/series/v2/02-topic/v2-0000-cover-letter.patch"
sed -i 's/^Walk it\.$/Reviewed-by: Nobody <no@example.org>/' "$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "series: a trailer of someone" 0 'has a trailer that is not ours to give: Reviewed-by: Nobody' sh -c "'$s/series.sh' | grep trailer"
expect "series: no text" 0 '0001-KVM-change-number-1.patch: has nothing but a subject' sh -c "'$s/series.sh' | grep nothing"
sed -i "s/^Reviewed-by: .*/Walk it $(printf '%080d' 0)/" "$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "series: a line that is too long" 0 'line 1 of the text is longer than 75 columns' sh -c "'$s/series.sh' | grep columns"
sed -i 's/^Walk it .*/See fastwalk./' "$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "series: this project" 0 'names what a list knows nothing of: fastwalk' sh -c "'$s/series.sh' | grep names"
sed -i 's/^See .*/Walk it./' "$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "series: signed off" 0 '^Signed-off-by: toy <toy@localhost>$' sh -c "SIGNOFF=1 TOPIC=02-topic '$s/series.sh' >/dev/null && grep Signed '$toy'/build/series/v2/02-topic/v2-0001-*"
expect "series: no such topic" 1 "there is no topic 'nonesuch'" env TOPIC=nonesuch "$s/series.sh"
rm -rf "$toy/.git" "$toy/.gitignore" "$toy/patches" "$toy/build"
cp -r "$toy/patches.orig" "$toy/patches"

# A user's own configuration of git, of the kind that once changed what these write.
hostile() {
	printf '[%s]\n%s\n' format 'subjectPrefix = MINE' format 'signOff = true' format 'attach = true' format 'useAutoBase = true' \
		am 'messageid = true' am 'keepcr = true' am 'threeWay = true' apply 'whitespace = error' core 'autocrlf = true' core 'abbrev = 5' \
		color 'ui = always' commit 'gpgSign = true' diff 'noprefix = true' diff 'context = 9' diff 'external = /nonesuch' \
		diff 'suppressBlankEmpty = true' i18n 'logOutputEncoding = latin1' notes 'displayRef = refs/notes/*' >"$toy/home/.gitconfig"
	mkdir -p "$toy/home/.config/git"
	echo '* text=auto eol=crlf' >"$toy/home/.config/git/attributes"
	echo '*' >"$toy/home/.config/git/ignore"
	env -u XDG_CONFIG_HOME HOME="$toy/home" "$@"
}
mkdir -p "$toy/home"
rm -rf "$toy/build"
expect "tree: with another configuration of git" 0 'APPLY +3 patches' hostile "$s/tree.sh"
expect "refresh: with another configuration of git" 0 'REFRESH +3 patches' hostile "$s/refresh.sh"
expect "refresh: byte for byte the same all the same" 0 'same patches' same
rm -rf "${toy:?}/home"

# The base is what KDIR holds, wherever that is; a new one leaves no work tree of the old one behind.
base() { cat "$toy/build/linux-base/.fastwalk-base"; }
commit() { git -C "$toy/linux" rev-parse --short=12 HEAD; }
expect "tree: a base's name is its commit" 0 "^KDIR 7.3.4 $(commit)\$" base
git -C "$toy/build/linux" worktree add -q --detach "$toy/build/bisect" base
echo '/* new */' >>"$toy/linux/virt/kvm/kvm_main.c"
expect "tree: an edit in KDIR makes a new base" 0 'APPLY +3 patches' "$s/tree.sh"
expect "tree: whose name says so" 0 "^KDIR 7.3.4 $(commit)\+[0-9a-f]{12}\$" base
expect "tree: which has the edit" 0 'new' tail -n 1 "$toy/build/linux-base/virt/kvm/kvm_main.c"
expect "tree: which leaves no work tree of the one before" 2 'No such file' ls "$toy/build/bisect"
git -C "$toy/linux" commit -qam 'KVM: new'
expect "tree: a commit in KDIR makes a new base" 0 'APPLY +3 patches' "$s/tree.sh"
echo '/* untracked */' >"$toy/linux/virt/kvm/other.c"
expect "tree: and so does a file that git does not know" 0 'APPLY +3 patches' "$s/tree.sh"
expect "tree: which is copied" 0 'untracked' cat "$toy/build/linux-base/virt/kvm/other.c"
echo '/* UNTRACKED */' >"$toy/linux/virt/kvm/other.c"
expect "tree: and what it says" 0 'APPLY +3 patches' "$s/tree.sh"
rm "$toy/linux/virt/kvm/other.c"
git -C "$toy/linux" reset -q --hard HEAD^
expect "tree: back to the first base" 0 'APPLY +3 patches' "$s/tree.sh"
expect "tree: nothing to do for the same KDIR elsewhere" 0 '' sh -c "cp -r '$toy/linux' '$toy/else' && KDIR='$toy/else' '$s/tree.sh'"
# A plain tree, inside the checkout of something else.
rm -rf "$toy/else/.git"
git -C "$toy" init -q
printf 'mrproper:\n' >>"$toy/else/Makefile"
expect "tree: a KDIR without git" 0 'APPLY +3 patches' env KDIR="$toy/else" "$s/tree.sh"
expect "tree: nothing to do the second time there" 0 '' env KDIR="$toy/else" "$s/tree.sh"
touch -d 2001-01-01 "$toy/else/virt/kvm/kvm_main.c"
expect "tree: a file of it that changes makes a new base" 0 'APPLY +3 patches' env KDIR="$toy/else" "$s/tree.sh"
rm -rf "$toy/.git" "$toy/else"

mkdir -p "$toy/build/fetch" "$toy/build/bisect" "$toy/build/s2walk" "$toy/build/results"
expect "clean: says nothing" 0 '' "$s/clean.sh"
expect "clean: leaves what was downloaded" 0 '^fetch$' ls "$toy/build"
expect "clean: leaves nothing else" 0 '^ *1$' sh -c "ls '$toy/build' | wc -l"
expect "tree: from nothing after that" 0 'APPLY +3 patches' "$s/tree.sh"
mkdir -p "$toy/a b"
cp -r "$s" "$toy/arch" "$toy/a b/"
expect "a path with a blank is refused" 1 'move the checkout to a path without blanks' "$toy/a b/scripts/tree.sh"

# To another base: one that all patches fit; one where a patch does not fit, and what one does then.
rm -rf "$toy/build" "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
new_base() { rm -rf "$toy/new" && cp -r "$toy/linux" "$toy/new" && sed -i "$1" "$toy/new/virt/kvm/kvm_main.c" && git -C "$toy/new" commit -qam 'KVM: new base'; }
# The pinned base is the toy's own.
# shellcheck disable=SC2016 # for the shell that reads lib.sh
pinned() {
	mkdir -p "$toy/build/fetch"
	prints 'echo "$BASE_PACKAGE $BASE_VERSION"' >"$toy/build/fetch/pin"
	tar -C "$toy" -cJf "$toy/build/fetch/linux.tar.xz" --exclude .git linux
}
pinned
expect "rebase: needs to know where to" 1 'no rebase is under way: KDIR=' env -u KDIR "$s/rebase.sh"
expect "tree: the pinned base" 0 'APPLY +3 patches' env -u KDIR "$s/tree.sh"
new_base 's/^25$/25 new/; s/^5$/4b\n5/'
expect "rebase: a base that all patches fit" 0 'use this base' env KDIR="$toy/new" "$s/rebase.sh"
expect "rebase: which changes none of them" 1 '' grep changed: "$toy/out.before"
expect "rebase: keeps the topics" 0 '02-topic/0001-KVM-change-number-3.patch' ls "$toy/patches/02-topic/0001-KVM-change-number-3.patch"
expect "rebase: they apply to the new base then" 0 '' env KDIR="$toy/new" "$s/tree.sh"
expect "rebase: from nothing, too" 0 'APPLY +3 patches' sh -c "rm -rf '$toy/build/linux' && KDIR='$toy/new' '$s/tree.sh'"
rm -rf "$toy/build" "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
pinned
new_base 's/^22$/22 new/'
expect "rebase: a base that only git's merge makes them fit" 0 'use this base' env KDIR="$toy/new" "$s/rebase.sh"
expect "rebase: which says so" 0 '^  changed: patches/01-topic/0002-KVM-change-number-2.patch$' grep changed: "$toy/out.before"
rm -rf "$toy/build" "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
pinned
new_base 's/^20$/20 new/'
expect "rebase: a patch that does not fit is named" 1 'does not fit this base: 01-topic: KVM: change number 2' env KDIR="$toy/new" "$s/rebase.sh"
expect "rebase: patches/ is as it was" 0 'same patches' same
expect "tree: does not lose a rebase" 1 "a rebase is under way in build/linux: 'make rebase' goes on" env KDIR="$toy/new" "$s/tree.sh"
expect "tree: nor for another base" 1 "a rebase is under way" env -u KDIR "$s/tree.sh"
expect "refresh: not in the middle" 1 "a rebase is under way in build/linux" "$s/refresh.sh"
expect "rebase: not before it is mended" 1 'does not fit this base' env -u KDIR "$s/rebase.sh"
mend() { (cd "$toy/build/linux" && sed -i '/^[<=>|]\{7\}/d; /^20$/d; /^20 new$/d' virt/kvm/kvm_main.c && git add virt/kvm/kvm_main.c); }
expect "rebase: mended" 0 '' mend
expect "rebase: goes on" 0 'use this base' env -u KDIR "$s/rebase.sh"
expect "rebase: says what it changed" 0 '^  changed: patches/01-topic/0002-KVM-change-number-2.patch$' grep changed: "$toy/out.before"
expect "rebase: keeps the topics of what comes after" 0 '02-topic/0001-KVM-change-number-3.patch' \
	ls "$toy/patches/02-topic/0001-KVM-change-number-3.patch"
expect "rebase: no topic has more than it had" 0 '^3$' sh -c "ls '$toy'/patches/*/*.patch | wc -l"
expect "tree: the carried series applies to that base" 0 'APPLY +3 patches' sh -c "rm -rf '$toy/build/linux' && KDIR='$toy/new' '$s/tree.sh'"
rm -rf "$toy/build" "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
pinned
expect "rebase: stops again" 1 'does not fit this base' env KDIR="$toy/new" "$s/rebase.sh"
expect "tree: FORCE=1 throws it away" 0 'APPLY +3 patches' env -u KDIR FORCE=1 "$s/tree.sh"
expect "rebase: and leaves patches/ as it was" 0 'same patches' same
mkdir -p "$toy/Documentation"
expect "bases: writes a table" 0 'WRITE +Documentation/bases.md' env -u KDIR "$s/bases.sh" "$toy/new"
# shellcheck disable=SC2016 # Markdown
expect "bases: which tells what fits from what does not" 0 '^. `01-topic` . 1 as they are, by hand: 0002 .$' grep 01-topic "$toy/Documentation/bases.md"
# shellcheck disable=SC2016 # Markdown
expect "bases: also after that" 0 '^. `02-topic` . 1 as they are .$' grep 02-topic "$toy/Documentation/bases.md"
expect "bases: patches/ stays as it was" 0 'same patches' same
rm -rf "$toy/build/fetch"

expect "kernel: unknown ARCH" 1 "unknown ARCH 'mips'" "$s/kernel.sh" mips base
expect "kernel: unknown TREE" 1 "unknown TREE 'foo'" "$s/kernel.sh" arm64 foo
expect "kernel: unknown fragment" 1 'no config fragment' "$s/kernel.sh" arm64 base nonesuch
expect "bench: unknown BENCH" 1 "unknown BENCH 'slow'" env BENCH=slow "$s/bench.sh"
expect "bench: unknown METRIC" 1 "unknown METRIC 'cycles'" env METRIC=cycles "$s/bench.sh"
# malformed FILE LINE CMD...: with LINE at the end of FILE
malformed() {
	local file=$s/$1 line=$2 rc=0
	shift 2
	cp "$file" "$toy/saved"
	echo "$line" >>"$file"
	"$@" || rc=$?
	mv "$toy/saved" "$file"
	return "$rc"
}
# where FILE: the number of the line behind the last one, as a message has it
where() { echo "$1:$(($(wc -l <"$s/$1") + 1)):"; }
expect "bench: a line without all columns" 1 "$(where bench.scenarios) 5 columns" malformed bench.scenarios 'x | quick | both | - | get 1' "$s/bench.sh" list
expect "bench: a mistyped arch" 1 "$(where bench.scenarios) unknown arch .amr64." malformed bench.scenarios 'x | quick | amr64 | - | get 1 | c | -' "$s/bench.sh" list
expect "bench: a mistyped set" 1 "$(where bench.scenarios) unknown set" malformed bench.scenarios 'x | quik | both | - | get 1 | c | -' "$s/bench.sh" list
expect "bench: an unknown mode" 1 "$(where bench.scenarios) unknown mode" malformed bench.scenarios 'x | quick | both | warp | get 1 | c | -' "$s/bench.sh" list
expect "bench: a phase without number" 1 "$(where bench.scenarios) .get. is no phase" malformed bench.scenarios 'x | quick | both | - | get | c | -' "$s/bench.sh" list
expect "bench: a note that says nothing" 1 "$(where bench.scenarios) .foo. is no" malformed bench.scenarios 'x | quick | both | - | get 1 | c | foo' "$s/bench.sh" list
expect "bench: two scenarios of one name" 1 'two scenarios named get-4k' malformed bench.scenarios 'get-4k | quick | both | - | get 1 | c | -' "$s/bench.sh" list
expect "bench: densities without a list" 1 'without a list of densities' malformed bench.scenarios 'x-@density@ | quick | both | - | get 1 | c | -' "$s/bench.sh" list
expect "calls: a line without all columns" 1 "$(where calls.scenarios) 3 columns" malformed calls.scenarios 'x | - | total' "$s/calls.sh"
expect "calls: a target that is none" 1 "$(where calls.scenarios) the target" malformed calls.scenarios 'x | arm64 | - | total | 1 | longest | c | bsae' "$s/calls.sh"
expect "calls: a mistyped arch" 1 "$(where calls.scenarios) unknown arch .x68." malformed calls.scenarios 'x | x68 | - | total | 1 | longest | c | -' "$s/calls.sh"
expect "calls: no such scenario" 1 "no scenario of calls.scenarios has a name that matches ONLY='nonesuch' for ARCH=x86" env ARCH=x86 ONLY=nonesuch "$s/calls.sh"
expect "bench: no such scenario" 1 "no scenario for ARCH=x86 BENCH=quick ONLY='nonesuch'" env ARCH=x86 ONLY=nonesuch "$s/bench.sh" list
expect "bench: one density only" 0 '^sweep-get-4k-1in64 ' env ARCH=x86 ONLY='^sweep-get-4k-1in64$' "$s/bench.sh" list

expect "migrate: unknown BACKING" 1 "unknown BACKING '64k': use 4k, thp or hugetlb" env BACKING=64k "$s/migrate.sh"
expect "migrate: unknown DIRTY" 1 "unknown DIRTY 'often': use sparse or dense" env DIRTY=often "$s/migrate.sh"
expect "migrate: too many CPUs" 1 'SMP=99: the test kernel has 1 to 16 CPUs' env SMP=99 "$s/migrate.sh"
expect "migrate: a size that is no number" 1 "GUEST_MIB='much' is not a number" env GUEST_MIB=much "$s/migrate.sh"
expect "migrate: CONVERGE that is no number" 1 "CONVERGE='yes' is not a number" env CONVERGE=yes "$s/migrate.sh"
expect "nested: unknown TREES" 1 "unknown TREE 'foo'" env TREES=foo "$s/nested.sh"
expect "nested: no tries" 1 'TRIES=0 never boots' env TRIES=0 "$s/nested.sh"
expect "nested: a number that is none" 1 "LIMIT='long' is not a number" env LIMIT=long "$s/nested.sh"
expect "migrate: not in Bochs" 1 'no migrations in Bochs' env ARCH=x86 VENDOR=intel "$s/migrate.sh"

expect "check: unknown phase" 1 "unknown phase 'nonesuch'" env PHASES="lint nonesuch" "$s/check.sh"
expect "check: no fragment for another kernel" 1 'PHASES=config needs CONFIG=' env PHASES=config "$s/check.sh"
expect "selftests: a mode without tests" 1 "no tests for x86 in mode 'warp'" env MODES=warp "$s/check-selftests.sh" x86
expect "selftests: SLOW that is no number" 1 "SLOW='very' is not a number" env SLOW=very "$s/check-selftests.sh" x86
expect "selftests: nothing to judge" 1 "TREES='base' leaves nothing to judge" env TREES=base "$s/check-selftests.sh" x86
expect "selftests: unknown TREES" 1 "unknown TREE 'foo'" env TREES=foo "$s/check-selftests.sh" x86

expect "bench: unknown VENDOR" 1 "unknown VENDOR 'acme': use amd or intel" env ARCH=x86 VENDOR=acme "$s/bench.sh"
expect "bench: VENDOR without x86" 1 'VENDOR=intel is for ARCH=x86' env VENDOR=intel "$s/bench.sh"
expect "bench: no times from Bochs" 1 'METRIC=time says nothing in Bochs' env ARCH=x86 VENDOR=intel METRIC=time "$s/bench.sh"

# Two at once, a full disk, no network, no apt.
mkdir -p "$toy/build"
expect "lock: the second run says so" 1 'another run is working in .* \(pid 1234\)' \
	flock "$toy/build/.lock" bash -c "echo 1234 >'$toy/build/.lock'; exec '$s/tree.sh'"
printf '#!/bin/sh\necho header\necho "x 1 1 5 1 /"\n' >"$toy/bin/df"
chmod +x "$toy/bin/df"
rm -rf "$toy/build/linux-base"
expect "tree: a full disk" 1 'has 5 MiB free and this step needs' env PATH="$toy/bin:$PATH" "$s/tree.sh"
rm "$toy/bin/df"
# A stand-in apt: $HAS lists what the mirror has, "<package> <version> <suite>" a line; where that is empty there is no network.
cat >"$toy/bin/apt-get" <<-'EOF'
	#!/bin/bash
	case $* in
	*indextargets*) echo "Packages main http://mirror.invalid/debian $(. "$OS_RELEASE"; echo "$VERSION_CODENAME")" ;;
	*update*) [ -n "${HAS:-}" ] || { echo no route; exit 100; } ;;
	*download*) echo "${@: -1}" >package.deb ;;
	*install*) echo "installs $*" ;;
	esac
EOF
cat >"$toy/bin/apt-cache" <<-'EOF'
	#!/bin/bash
	# Only what build/apt/sources.list names.
	while read -r package version suite; do
		grep -q " $suite main" "${APT_CONFIG%/*}/sources.list" || continue
		case $1 in
		pkgnames) echo "$package" ;;
		madison) [ "$2" != "$package" ] || echo "$package | $version | http://mirror.invalid/debian $suite/main amd64 Packages" ;;
		esac
	done <<<"$HAS"
EOF
cat >"$toy/bin/dpkg-deb" <<-'EOF'
	#!/bin/bash
	deb=$PWD/package.deb work=$(mktemp -d)
	cd "$work"
	mkdir -p usr/src source/virt
	cp "$deb" source/virt/which
	tar -cJf "usr/src/$(cut -d= -f1 "$deb").tar.xz" source
	tar -cf - ./usr
	rm -rf "$work"
EOF
chmod +x "$toy/bin/apt-get" "$toy/bin/apt-cache" "$toy/bin/dpkg-deb"
# with_apt HAS CMD...
with_apt() { rm -f "$toy/build/apt/updated"; env -u KDIR PATH="$toy/bin:$PATH" OS_RELEASE="$toy/os-release" HAS="$1" "${@:2}"; }
printf 'ID=debian\nVERSION_CODENAME=bookworm\n' >"$toy/os-release"
# shellcheck disable=SC2016 # for the shell that reads lib.sh
pin=$(prints 'echo "$BASE_PACKAGE $BASE_VERSION"') re=${pin//+/\\+} suite=$(prints 'echo "$BASE_SUITE"')
other="${pin% *} 7.3.9-1"
expect "fetch: no network" 1 'is there a network' with_apt "" "$s/fetch.sh"
expect "fetch: the pinned version" 0 "FETCH +$re \\($suite\\)" with_apt "$pin $suite" "$s/fetch.sh"
expect "fetch: the pin says what was fetched" 0 "^$re\$" cat "$toy/build/fetch/pin"
expect "fetch: nothing to do the second time" 0 '' with_apt "" "$s/fetch.sh"
rm -rf "$toy/build/fetch"
expect "fetch: the pinned version, in another suite" 0 "FETCH +$re \\(sid\\)" with_apt "$other $suite
$pin sid" "$s/fetch.sh"
rm -rf "$toy/build/fetch"
gone="$re has left the mirror: run 'scripts/fetch.sh $other' and use KDIR=build/kernels/${other/ /-} "
expect "fetch: another version only" 1 "$gone" with_apt "$other $suite" "$s/fetch.sh"
expect "fetch: another version only, in another suite" 1 "$gone" with_apt "$other forky" "$s/fetch.sh"
expect "fetch: another package only" 1 "run 'scripts/fetch.sh linux-source-7.10 7.10.2-1' and use" with_apt "linux-source-7.9 7.9.1-1 sid
linux-source-7.10 7.10.2-1 sid" "$s/fetch.sh"
expect "fetch: none of it is taken for the base" 2 'No such file' ls "$toy/build/fetch"
# shellcheck disable=SC2086 # a package and its version
expect "fetch: another kernel" 0 "KDIR +build/kernels/${other/ /-}" with_apt "$other forky" "$s/fetch.sh" $other
expect "fetch: unpacked" 0 "^${other/ /=}\$" cat "$toy/build/kernels/${other/ /-}/virt/which"
rm -rf "$toy/build/kernels"

# Packages: a machine without some, and a user who is not root.
sed -i '1i x /nonesuch nonesuch-package\nx no-such-command nonesuch-command/backports\nx /usr/bin/en? nonesuch-env' "$s/packages.list"
expect "packages: still missing after installation" 1 'still missing .*: nonesuch-command nonesuch-package \(QEMU must be' \
	with_apt "$pin $suite" "$s/packages.sh" x
printf '#!/bin/sh\necho 1000\n' >"$toy/bin/id"
# shellcheck disable=SC2016 # for the stand-in
printf '#!/bin/sh\n[ "$1" != -n ] || exit 1\n[ "$1" != -v ] || exit 0\necho "sudo $*"\n' >"$toy/bin/sudo"
chmod +x "$toy/bin/id" "$toy/bin/sudo"
no_terminal() { with_apt "$pin $suite" "$s/packages.sh" x </dev/null; }
at_terminal() {
	with_apt "$pin $suite" script -qec "'$s/packages.sh' x" /dev/null </dev/null >"$toy/terminal" 2>&1 || true
	cat "$toy/build/logs/install.log"
}
expect "packages: no root and no terminal: the commands" 1 \
	"run as root 'export APT_CONFIG=.*; apt-get install -y .* -t bookworm .*nonesuch-package && apt-get install .* -t bookworm-backports .*nonesuch-command', then" \
	no_terminal
printf 'ID=debian\nVERSION_CODENAME=trixie\n' >"$toy/os-release"
expect "packages: backports are for bookworm" 1 "; apt-get install -y [^&]* -t trixie [^&]*nonesuch-package nonesuch-command', then" no_terminal
expect "packages: sudo may ask at a terminal" 0 'sudo env .* apt-get install .*nonesuch-package' at_terminal
rm "$toy/bin/id" "$toy/bin/sudo"
printf 'ID=fedora\nPRETTY_NAME="Fedora Linux 44"\n' >"$toy/os-release"
expect "packages: another system" 1 \
	'Fedora Linux 44 is no Debian: install what provides /nonesuch /usr/bin/no-such-command \(.*nonesuch-command nonesuch-package\)' \
	with_apt "" "$s/packages.sh" x
printf '#!/bin/sh\n' >"$toy/bin/dnf"
printf '#!/bin/sh\necho QEMU emulator version 8.2.1\n' >"$toy/bin/qemu-system-old"
printf '#!/bin/sh\necho "QEMU emulator version 10.0.2 (Debian)"\n' >"$toy/bin/qemu-system-new"
chmod +x "$toy/bin/dnf" "$toy/bin/qemu-system-old" "$toy/bin/qemu-system-new"
sed -i '1i old qemu-system-old qemu-old\nnew qemu-system-new qemu-new' "$s/packages.list"
expect "packages: another system that has dnf" 1 "'sudo dnf install /nonesuch /usr/bin/no-such-command' brings" with_apt "" "$s/packages.sh" x
expect "packages: QEMU too old" 1 "dnf install /usr/bin/qemu-system-old' brings" with_apt "" "$s/packages.sh" old
expect "packages: a QEMU that is new enough" 0 '' with_apt "" "$s/packages.sh" new
expect "fetch: another system" 1 'no Debian mirror to fetch .*: use KDIR=' with_apt "" "$s/fetch.sh"
rm "$toy/bin/apt-get" "$toy/bin/apt-cache" "$toy/bin/dpkg-deb" "$toy/bin/dnf"

# A stand-in QEMU: prints $CONSOLE, with @N@ replaced by the nonce of the run.
cat >"$toy/bin/qemu-system-aarch64" <<-'EOF'
	#!/bin/bash
	[ "$1" != --version ] || exec echo QEMU emulator version 10.0.2
	while [ "$1" != -initrd ]; do shift; done
	nonce=$(tr '\0' '\n' <"$2" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)
	printf "${CONSOLE//@N@/$nonce}"
	exec sleep "${LINGER:-0}"
EOF
chmod +x "$toy/bin/qemu-system-aarch64"
touch "$toy/kernel" "$toy/initrd"
boot="[    0.1] Linux version 7.3\n[    0.2] kvm [1]: VHE mode initialized successfully\n"
run() { env PATH="$toy/bin:$PATH" KERNEL="$toy/kernel" INITRD="$toy/initrd" CMD=true CONSOLE="$1" TIMEOUT=5 "${@:2}" "$s/run.sh"; }
good="${boot}fastwalk-begin @N@\nhello\nfastwalk-end @N@ 0\n"
expect "run: unknown ARCH" 1 "unknown ARCH 'mips'" run "$good" ARCH=mips
expect "run: unknown TREE" 1 "unknown TREE 'foo'" run "$good" TREE=foo
expect "run: unknown MODE" 1 "unknown MODE 'warp' for arm64: use one of" run "$good" MODE=warp
expect "run: no kernel" 1 'there is no kernel .*: run .make kernel' run "$good" KERNEL="$toy/nonesuch"
expect "run: a test's line in brackets" 0 '^\[PASS\] x$' run "${good/hello/[PASS] x}"
expect "run: success, and only the command's output" 0 '^hello$' run "$good"
old_logs() { touch -d 2001-01-01 "$toy"/build/logs/run/old{1..60}.log && run "$good" >/dev/null && find "$toy/build/logs/run" -type f | wc -l; }
expect "run: keeps fifty logs" 0 '^50$' old_logs
expect "run: ends with the command's status" 7 '^hello$' run "${good/@N@ 0/@N@ 7}"
expect "run: a warning fails a good command" 3 'the kernel complained: .*WARNING: at' run "[    0.3] WARNING: at mmu.c:1\n$good"
expect "run: a test that prints WARNING: does not" 0 'WARNING: slow' run "${good/hello/WARNING: slow}"
expect "run: a lockdep splat" 3 'the kernel complained: .*circular locking' run "[    0.3] WARNING: possible circular locking dependency\n$good"
expect "run: a panic" 3 'the kernel panicked: .*not syncing' run "${boot}[    0.4] Kernel panic - not syncing: x\n"
expect "run: an oops" 3 'the kernel panicked: .*Oops' run "${boot}[    0.3] Internal error: Oops: 1\n[    0.4] Kernel panic - not syncing: Oops: Fatal\n"
expect "run: never starts" 3 'the kernel never started' run "EFI stub error\n"
expect "run: stops early" 3 'stopped before the command ended' run "${boot}fastwalk-begin @N@\n"
expect "run: hangs" 124 'still running after 1 s' run "${boot}fastwalk-begin @N@\n" TIMEOUT=1 LINGER=20
mkdir "$toy/tmp"
expect "run: a shell" 0 'hello' run "hello" CMD= TMPDIR="$toy/tmp"
expect "run: a shell leaves no temporary folder" 0 '' ls -A "$toy/tmp"
# Ctrl-C reaches the process group; nothing may be left running.
interrupt() {
	CONSOLE=$boot LINGER=54321.$$ CMD=true KERNEL=$toy/kernel INITRD=$toy/initrd PATH=$toy/bin:$PATH TIMEOUT=60 \
		setsid env --default-signal=INT "$s/run.sh" &
	sleep 2
	kill -INT -- "-$!"
	wait "$!" || true
	sleep 0.5
	! pgrep -f "sleep 54321.$$"
}
expect "run: Ctrl-C leaves nothing running" 0 'interrupted: run the same command again' interrupt
expect "run: another mode than asked for" 3 'did not come up in mode nested' run "$good" MODE=nested
# A stand-in Bochs, which gets the same console.
cat >"$s/bochs.sh" <<-'EOF'
	#!/bin/bash
	echo "[    0.0] $1"
	cp "$3" "${0%/scripts/*}/few.cpio"
	printf "${CONSOLE//@N@/$(tr '\0' '\n' <"$3" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)}"
EOF
(mkdir "$toy/root" && cd "$toy/root" && mkdir -p st/arm64 && touch init st/plain st/slash st/not st/arm64/other && find init st -type f | cpio --quiet -o -H newc >"$toy/initrd.cpio")
bochs() { run "$1" ARCH=x86 VENDOR=intel INITRD="$toy/initrd.cpio" "${@:2}"; }
pml="[    0.1] Linux version 7.3\n[    0.2] kvm_intel: /ept:Y /pml:Y kvm/tdp_mmu:Y\nfastwalk-begin @N@\nhello\nfastwalk-end @N@ 5\n"
expect "run: Bochs, with the command's status" 5 '^hello$' bochs "$pml"
expect "run: Bochs, with PML off where it should be on" 3 'did not come up in mode vmx \(log' bochs "${pml/pml:Y/pml:N}"
expect "run: Bochs, with PML on where it should be off" 3 'did not come up in mode vmx-nopml' bochs "$pml" MODE=vmx-nopml
few() { bochs "$pml" CMD="$1; arm64/other -x" >/dev/null || true; cpio -it --quiet <"$toy/few.cpio" | grep '^st/' | sort | xargs; }
expect "run: Bochs gets the tests that the command names" 0 '^st/arm64 st/arm64/other st/plain st/slash$' few 'plain -m 0; /st/slash'
expect "run: Bochs has no shell" 1 'Bochs has no console to type into' bochs "$pml" CMD=
expect "run: a forged end mark" 3 'stopped before the command ended' run "${boot}fastwalk-end 1-1 0\n"

# From counts to results.
printf 'a\tvhe\tget 2\tcmd -x\t-\t0\nb\tnested\tclear 1\tfigures cmd -y\t0.5\t0\n' >"$toy/scenarios"
counts() {
	printf '# %s\n' "tree $1" 'metric insns' 'arch arm64' 'host QEMU' 'patches 1234' "boot $1"
	printf 'run cmd -x\nnoise\ncount get 1 5 6\ncount get 2 %s 7\nstatus 0\nrun cmd -y\ncount clear 1 %s 9\nstatus 0\n' "$2" "$3"
}
# table [SED FILE]...: with the counts edited
table() {
	counts base 1000 400 >"$toy/base"
	counts patched 250 300 >"$toy/patched"
	while [ $# -gt 0 ]; do
		sed -i "$1" "$toy/$2"
		shift 2
	done
	awk -v metric="${METRIC:-insns}" -v patches=1234 -v partial="${PARTIAL:-}" -v base="$toy/base" -v patched="$toy/patched" -f "$s/table.awk" "$toy/scenarios"
}
tab=$'\t'
expect "table: base, patched, ratio, noise, published" 0 "^b${tab}insns${tab}instructions${tab}400${tab}300${tab}0.7500${tab}0${tab}0.5\$" table
expect "table: a base of 0" 0 "${tab}0${tab}300${tab}inf${tab}" table 's/clear 1 400/clear 1 0/' base
expect "table: another unit" 0 "^b${tab}insns${tab}exits${tab}400" table 's/clear 1.*/& exits/' base 's/clear 1.*/& exits/' patched
sed 's/get 2/get min/' "$toy/scenarios" >"$toy/least"
least() { table >/dev/null && awk -v metric=insns -v patches=1234 -v base="$toy/base" -v patched="$toy/patched" -f "$s/table.awk" "$toy/least" | grep ^a; }
expect "table: the least of a run" 0 "^a${tab}insns${tab}instructions${tab}5${tab}5${tab}" least
expect "table: a missing figure" 1 'no figure for b \(clear 1, patched\)' table '/clear/d' patched
expect "table: two missing figures" 1 "no figure for a .*, b " table '/get 2/d' base '/clear/d' base
expect "table: a command that failed" 1 'base: cmd -x: exit status 3' table '0,/status 0/s//status 3/' base
expect "table: a command that did not end" 1 'patched: cmd -y: did not end' table "\$d" patched
expect "table: a count that is none" 1 'no count: count get 2 12x4 7' table 's/get 2 1000/get 2 12x4/' base
expect "table: base and patched mixed up" 1 'has counts of "patched", not of base' table 's/tree base/tree patched/' base
expect "table: times and instructions mixed up" 1 'different metrics: "time" and "insns"' table 's/metric insns/metric time/' base
expect "table: two hosts mixed up" 1 'different hosts: "QEMU" and "n1"' table 's/host QEMU/host n1/' patched
expect "table: other patches" 1 'different patches: "1234" and "5678"' table 's/patches 1234/patches 5678/' patched
expect "table: results of an older series" 1 'other patches than the present ones' table s/1234/5678/ base s/1234/5678/ patched
expect "table: two architectures mixed up" 1 'different architectures' table s/arm64/x86/ patched
time_metric() { METRIC='time' table 's/metric.*/metric time/' base 's/metric.*/metric time/' patched "$@"; }
expect "table: times have a spread" 0 "^b${tab}time-max${tab}ns${tab}9${tab}9" time_metric
expect "table: one kernel measured under both names" 1 'in one boot' time_metric 's/boot.*/boot 1/' base 's/boot.*/boot 1/' patched
part() { PARTIAL=1 table "/run cmd -y/,\$d" base "/run cmd -y/,\$d" patched "$@"; }
expect "table: what this mode cannot do is said" 0 'left out, as they need another mode than this one: b' part
half() { PARTIAL=1 table "/run cmd -y/,\$d" base; }
expect "table: what only one has is no result" 1 'no figure for b \(clear 1, base\)' half

# perf [SED]: what is committed, against an edited measurement
perf() {
	table >"$toy/committed.tsv"
	sed "$@" "$toy/committed.tsv" >"$toy/measured.tsv"
	awk -v name=arm64 -f "$s/perf.awk" "$toy/committed.tsv" "$toy/measured.tsv"
}
expect "perf: the same" 0 '^ok - arm64 b: 0.75, was 0.75' perf -e ''
expect "perf: a regression" 0 '^not ok - arm64 b: patched / base is 0.7625, .*more than 1 % worse' perf "s/400${tab}300/400${tab}305/"
expect "perf: less than 1 %" 0 '^ok - arm64 b: 0.755' perf "s/400${tab}300/400${tab}302/"
expect "perf: better" 0 '^ok - arm64 b: better: .*make results ACCEPT=1' perf "s/400${tab}300/400${tab}200/"
expect "perf: noise that the committed row states" 0 '^ok - arm64 b: 0.7875' env -i PATH="$PATH" bash -c "sed -i 's/0.7500${tab}0/0.7500${tab}0.06/' '$toy/committed.tsv'
	sed 's/400${tab}300/400${tab}315/' '$toy/committed.tsv' >'$toy/measured.tsv'; awk -v name=arm64 -f '$s/perf.awk' '$toy/committed.tsv' '$toy/measured.tsv'"
expect "perf: no committed figure" 0 '^not ok - arm64 c: no committed figure' perf s/^b/c/
expect "perf: nothing measured" 0 '^not ok - arm64: nothing was measured' perf /^[ab]/d
expect "perf: results of another architecture" 0 '^not ok - arm64: the committed results are of arm64' perf s/arm64/x86/

# Documents.
r=$toy/Documentation/results
table 's/get 2 250/get 2 1006/' patched >"$toy/more.tsv"
expect "show: says what is slower than base" 0 '^a +1000 +1006 +1.006 +- +more than base$' awk -v only=a -f "$s/show.awk" "$toy/more.tsv"
expect "show: says what a table lacks" 1 'no row for nonesuch' awk -v only='a nonesuch' -f "$s/show.awk" "$toy/more.tsv"
expect "show: a table of calls" 0 '^. .a. . longest . 1,234,567 . ..56.. . 1,000 .$' awk -v markdown=1 -f "$s/show.awk" - <<-EOF
	# patches 1
	scenario${tab}figure${tab}base${tab}patched${tab}target
	a${tab}longest${tab}1234567${tab}56${tab}1000
EOF
swept() {
	{
		printf 'scenario\tmetric\tunit\tbase\tpatched\n'; printf 'sweep-%s\tinsns\tinstructions\t1000\t%s\n' a-none 1000 a-1in8 200 a-1in64 1001 b-1in64 1
	} | awk -v markdown=1 -v only="@density@ $*" -f "$s/show.awk" | sed -n "${line}p"
}
line=1
expect "show: sweeps by density, the rarest first" 0 '^. one page in . none . one . 64 . 8 .$' swept 'sweep-*'
line=3
expect "show: in bold what is slower than base" 0 '^. .sweep-a. . 1.000 .  . [*][*]1.001[*][*] . 0.200 .$' swept 'sweep-*'
expect "show: only the sweeps that are named" 0 '^. .sweep-b. .  .  . 0.00100 .$' swept sweep-b
expect "results: all made from what is committed" 0 '' "$s/results.sh" check
sed -i 's/2,566,400/2,566,401/' "$toy/README.md"
expect "results: a figure changed by hand" 1 'not made from .*: README.md: run make results' "$s/results.sh" check
expect "results: puts it right" 0 'RESULTS +README.md$' "$s/results.sh"
sed -i "s/^nested-clear${tab}/nested-clean${tab}/" "$r/arm64.tsv"
expect "results: a scenario that is gone" 1 'this table cannot be made: <!-- results arm64' "$s/results.sh"
sed -i "s/^nested-clean${tab}/nested-clear${tab}/" "$r/arm64.tsv"
expect "results: nothing to accept" 1 'no results in build/results' env ACCEPT=1 "$s/results.sh"
mkdir -p "$toy/build/results" "$toy/build/linux-base"
echo toy >"$toy/build/linux-base/.fastwalk-base"
cp "$r/arm64.tsv" "$toy/build/results/"
expect "results: accepts nothing of other patches" 1 'arm64.tsv was measured with other patches' env ACCEPT=1 "$s/results.sh"
touch "$toy/counts"
expect "bench: HERE with counts of the other kernel" 1 'counts has no counts of base' env HERE=base COUNTS="$toy/counts" "$s/bench.sh"
expect "bench: HERE and VENDOR" 1 'VENDOR=intel is for Bochs' env HERE=base ARCH=x86 VENDOR=intel "$s/bench.sh"

# All of a bench but the builds, in the stand-in QEMU.
cp "$s/bench.scenarios" "$toy/saved.scenarios"
printf '#!/bin/sh\n' >"$s/build.sh"
printf 'a-@density@ | quick | arm64 | - | get-@density@ min | sweep -d one,64 | perf\nb | full | arm64 | - | get 1 | sweep -d one,64 | -\n' >"$s/bench.scenarios"
measured="$boot\nfastwalk-begin @N@\n# kernel 7.3\nrun sweep -d one,64\ncount get-one 1 7 7\ncount get-1in64 1 90 7\ncount get-1in64 2 80 7\nstatus 0\nfastwalk-end @N@ 0\n"
bench() { env PATH="$toy/bin:$PATH" KERNEL="$toy/kernel" INITRD="$toy/initrd" ARCH=arm64 CONSOLE="$1" "${@:2}" "$s/bench.sh"; }
expect "bench: from boots to a table" 0 'RESULTS +build/results/arm64.tsv' bench "$measured"
expect "bench: the table says with what" 0 '^# host QEMU 10.0.2, TCG with icount$' grep '^# host' "$toy/build/results/arm64.tsv"
expect "bench: the least of each density" 0 "^a-1in64${tab}insns${tab}instructions${tab}80${tab}80${tab}1.0000${tab}0${tab}-\$" tail -n 1 "$toy/build/results/arm64.tsv"
expect "bench: a missing count" 1 'no table \(see above' bench "${measured/count get-one 1 7 7/}"
expect "bench: no table is left of one that failed" 1 '' test -e "$toy/build/results/arm64.tsv"
expect "bench: a command that fails" 1 'no table \(see above' bench "${measured/status 0/status 254}"
expect "bench: a run that does not end" 1 'a run failed: no table' bench "${measured%%status*}"
rm -f "$r/arm64-perf.tsv"
expect "perf: measures and compares" 0 '^not ok - arm64: no committed figures' env PATH="$toy/bin:$PATH" KERNEL="$toy/kernel" INITRD="$toy/initrd" CONSOLE="$measured" "$s/check-perf.sh" arm64
printf 'scenario\tmetric\tunit\tbase\tpatched\tratio\tnoise\tpublished\n# arch arm64\n# metric insns\na-one\tinsns\tinstructions\t10\t7\t0.7\t0\t-\na-1in64\tinsns\tinstructions\t100\t50\t0.5\t0\t-\n' >"$r/arm64-perf.tsv"
expect "perf: a regression is not ok" 0 '^not ok - arm64 a-1in64: patched / base is 1, was 0.5' env PATH="$toy/bin:$PATH" KERNEL="$toy/kernel" INITRD="$toy/initrd" CONSOLE="$measured" "$s/check-perf.sh" arm64
mv "$toy/saved.scenarios" "$s/bench.scenarios"

# A stand-in make: "builds" a kernel, hangs, fails, or has a warning for each line of virt/kvm/kvm_main.c that asks for one.
cat >"$toy/bin/make" <<-'EOF'
	#!/bin/bash
	for arg; do case $arg in O=*) obj=${arg#O=} ;; KCONFIG_ALLCONFIG=*) config=${arg#*=} ;; esac; done
	case ${!#}:${BUILD:-good} in
	allnoconfig:*) grep -v '=n$' "$config" >"$obj/.config" ;;
	*:hangs)
		trap 'sleep 1; exit' TERM
		sleep "$NAP" &
		wait
		;;
	*:fails) exit 2 ;;
	arch/*/kvm/:*) sed -n -e '/warn/{=;p}' -e '/undocumented/{=;s/.*/kernel-doc/p}' "$obj/../virt/kvm/kvm_main.c" | paste - - |
		sed -E -e 's,^([0-9]*)\tkernel-doc,Warning: ../virt/kvm/kvm_main.c:\1 it has no kernel-doc,' \
			-e 's,^([0-9]*)\t,../virt/kvm/kvm_main.c:\1:9: warning: ,' ;;
	*) mkdir -p "$obj/arch/arm64/boot" "$obj/arch/x86/boot" && touch "$obj/arch/arm64/boot/Image" "$obj/arch/x86/boot/bzImage" ;;
	esac
	exit 0
EOF
chmod +x "$toy/bin/make"
PATH=$toy/bin:$PATH
# No other run has this.
export NAP=54322.$$

# No kernel but the one that was built from what is there.
expect "tree: once more" 0 'APPLY' "$s/tree.sh"
built() { env -u KERNEL TREE=patched INITRD="$toy/initrd" CMD=true CONSOLE="$good" "$s/run.sh"; }
change() { git -C "$toy/build/linux" checkout -q "$1"; }
expect "kernel: builds" 0 'Image in' "$s/kernel.sh" arm64 patched
expect "run: boots it" 0 '^hello$' built
expect "tree: another commit" 0 '' change HEAD^
expect "run: refuses a kernel that was built from something else" 1 'was not built from what is there now' built
expect "kernel: does not build" 1 'the arm64 patched kernel does not build' env BUILD=fails "$s/kernel.sh" arm64 patched
expect "run: has nothing to boot then" 1 'there is no kernel' built
expect "tree: the commit before" 0 '' change fastwalk

# A run that is told to stop: what it started ends, nothing else, and until then the lock is taken.
stop() {
	local pid rc=0 bystander free
	sleep 54323 &
	bystander=$!
	BUILD=hangs env --default-signal=INT "$s/kernel.sh" arm64 patched &
	pid=$!
	for _ in {1..100}; do
		! pgrep -f "sleep $NAP" >/dev/null || break
		sleep 0.1
	done
	kill "-$1" "$pid"
	sleep 0.3
	! flock -n "$toy/build/.lock" true || free=1
	wait "$pid" || rc=$?
	[ -z "${free:-}" ] || echo "the lock was free before all was over"
	! pgrep -f "sleep $NAP" || echo "it still runs"
	kill "$bystander" || echo "a bystander was killed"
	flock -n "$toy/build/.lock" true || echo "the lock is taken"
	return "$rc"
}
expect "kernel: SIGTERM" 143 'interrupted: run the same command again' stop TERM
expect "kernel: SIGINT, and no more than what it started" 130 'interrupted: run the same command again' setsid bash -c "$(declare -f stop); s=$s toy=$toy; stop INT"
# shellcheck disable=SC2016 # for the script
printf '. "$(dirname "$0")/lib.sh"\nsleep "$NAP" &\nexit 3\n' >"$s/orphan.sh"
orphan() {
	bash "$s/orphan.sh" || echo "status $?"
	! pgrep -f "sleep $NAP"
}
expect "a script that fails takes along what it left running" 0 'status 3' orphan

# What judges. A stand-in QEMU whose tests end, boot by boot, as the lines of status.base and status.patched say.
cat >"$toy/bin/qemu-system-aarch64" <<-'EOF'
	#!/bin/bash
	while [ "$1" != -initrd ]; do shift; done
	nonce=$(tr '\0' '\n' <"$2" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)
	printf '[    0.1] Linux version 7.3\n[    0.2] kvm [1]: VHE mode initialized successfully\nfastwalk-begin %s\n' "$nonce"
	read -r status <"$STATUS.$TREE"
	sed -i 1d "$STATUS.$TREE"
	# What the guest's script asks for, in its order; what comes behind a test that is "gone" does not run.
	tr '\0' '\n' <"$2" | grep -a '^turn [0-9]' | cut -d"'" -f2 | while IFS= read -r name; do
		[ "$name" = "toy_test -x" ] || { printf '# %s\nend 0 %s\n' "$name" "$name"; continue; }
		echo "# $name"
		[ "$status" != gone ] || exit
		[ "$status" = none ] || echo "end $status $name"
	done
	[ "$status" != gone ] || exit 0
	printf 'fastwalk-end %s 0\n' "$nonce"
EOF
# judged BASE PATCHED [VARIABLE...]: the exit statuses of toy_test
judged() {
	tr ' ' '\n' <<<"$1" >"$toy/status.base"
	tr ' ' '\n' <<<"$2" >"$toy/status.patched"
	env STATUS="$toy/status" KERNEL="$toy/kernel" INITRD="$toy/initrd" "${@:3}" "$s/check-selftests.sh" arm64
}
echo 'arm64 | vhe | 60 | toy_test -x' >"$s/check.tests"
expect "judge: passes on both" 0 '^ok - arm64 vhe: toy_test -x$' judged 0 0
expect "judge: fails on patched" 0 '^not ok - arm64 vhe: toy_test -x \(base passes, patched: 1' judged 0 1
expect "judge: fails on both" 0 '^not ok .*fails on both' judged 1 1
expect "judge: skips itself" 0 '^ok .*# SKIP the test skips itself on both' judged 4 4
expect "judge: skips itself on patched only" 0 '^not ok .*base passes, patched: 4' judged 0 4
expect "judge: hangs" 0 '^not ok .*hangs or has no result' judged 0 124
expect "judge: no result" 0 '^not ok .*hangs or has no result' judged 0 none
expect "judge: no result on base" 0 '^not ok .*no result on base' judged "none none" 0
expect "judge: no result on base the first time" 0 '^ok - arm64 vhe: toy_test -x$' judged "none 0" 0
expect "judge: hangs on base the first time" 0 '^ok - arm64 vhe: toy_test -x$' judged "124 0" 0
expect "judge: takes its machine with it" 0 '^not ok .*toy_test -x \(patched: hangs or has no result' judged 0 gone
expect "judge: which says so" 0 'the machine stopped before' grep '^not ok - arm64 vhe: patched: ' "$toy/out.before"
expect "judge: takes base's machine with it, and has a second try" 0 '^ok - arm64 vhe: toy_test -x$' judged "gone 0" 0
expect "judge: which says so too" 0 'the machine stopped before' grep '^# arm64 vhe: base hangs in toy_test -x: ' "$toy/out.before"
expect "judge: takes it with it twice" 0 '^not ok .*no result on base' judged "gone gone" 0
printf 'arm64 | vhe | 60 | %s\n' 'toy_test -x' toy_last >"$s/check.tests"
expect "judge: those behind it run in another machine" 0 '^ok - arm64 vhe: toy_last$' judged "gone 0 0" "gone 0"
expect "judge: and it fails" 0 'hangs or has no result' grep '^not ok - arm64 vhe: toy_test -x' "$toy/out.before"
echo 'arm64 | vhe | 60 | toy_test -x | a race' >"$s/check.tests"
expect "judge: known, passes" 0 '^ok - arm64 vhe: toy_test -x$' judged 0 0
expect "judge: known, passes the second time" 0 '^ok - arm64 vhe: toy_test -x$' judged "0 0" "1 0"
expect "judge: known, fails on base as well" 0 '^ok .*# SKIP base 1, patched 1: a race' judged "0 1" "1 1"
expect "judge: known, but fails on patched only" 0 '^not ok .*base passes, patched: 1' judged "0 0 0 0" "1 1 1 1"
expect "judge: known, but hangs" 0 '^not ok .*hangs or has no result' judged 1 124
expect "judge: known, but hangs the second time" 0 '^not ok .*hangs or has no result' judged "1 1" "1 124"
expect "judge: known, but has no result" 0 '^not ok .*hangs or has no result' judged 1 none
expect "judge: known, but hangs on base" 0 '^not ok .*base 124, patched 1' judged "124 124" 1
expect "judge: known, hangs on base only once" 0 '^ok .*# SKIP base 1, patched 1: a race' judged "124 1 1" "1 1"
expect "judge: known, but there is no base" 0 '^not ok .*patched: 1' judged - "1 1 1 1" TREES=patched
bad_test() {
	printf '# tests\n%s\n' "$2" >"$s/check.tests"
	expect "check.tests: $1" 1 "check.tests: line 2 $3" "$s/check-selftests.sh" list
}
bad_test "a column is missing" 'arm64 | 60 | toy_test' 'has 3 columns'
bad_test "a column too many" 'arm64 | vhe | 60 | toy_test | why | what' 'has 6 columns'
bad_test "no such architecture" 'amr64 | vhe | 60 | toy_test' "has the unknown architecture 'amr64'"
bad_test "no such mode" 'arm64 | svm | 60 | toy_test' "has the unknown mode 'svm' for arm64"
bad_test "no number" 'arm64 | vhe | 1m | toy_test' "allows '1m' seconds"
bad_test "no command" 'arm64 | vhe | 60 | ' 'has no command'
bad_test "known, but not why" 'arm64 | vhe | 60 | toy_test |' 'does not say why'

# The matrix, in the same stand-in.
printf '#!/bin/sh\n' >"$s/build.sh"
mkdir -p "$toy/build/initramfs"
echo toy >"$toy/build/initramfs/arm64.cpio.inputs"
system='system | toy | arm64 | vhe | - | - | - | -'
# matrix BASE PATCHED [VARIABLE...]: with cells for toy_test and toy_last
matrix() {
	tr ' ' '\n' <<<"$1" >"$toy/status.base"
	tr ' ' '\n' <<<"$2" >"$toy/status.patched"
	env STATUS="$toy/status" KERNEL="$toy/kernel" INITRD="$toy/initrd" "${@:3}" "$s/matrix.sh"
}
row() { sed -n "s/^toy${tab}$1${tab}//p" "$toy/build/results/matrix.tsv"; }
anew() { rm -rf "$toy/build/results/matrix" && matrix "$@"; }
printf '%s\n' "$system" 'cell | t* | 60 | toy_test -x | -' 'cell | toy | 60 | toy_last | -' >"$s/matrix.cells"
expect "matrix: passes on both" 0 'RESULTS +build/results/matrix.tsv' anew 0 0
expect "matrix: the row says so" 0 "^pass${tab}pass${tab}same${tab}-\$" row 'toy_test -x'
expect "matrix: and so does KTAP" 0 '^ok 2 - toy: toy_last$' tail -n 1 "$toy/build/results/matrix.ktap"
expect "matrix: what is known is not run again" 0 'RESULTS' matrix 1 1
expect "matrix: and keeps its result" 0 "^pass${tab}pass${tab}same${tab}-\$" row 'toy_test -x'
expect "matrix: worse than base" 1 'patched is worse than base: toy: toy_test -x$' anew 0 1
expect "matrix: is not forgotten" 1 'patched is worse than base: toy: toy_test -x$' matrix 0 0
expect "matrix: gets another try when asked for" 0 'RESULTS' matrix 0 0 RETRY=1
expect "matrix: hangs on patched only" 1 'patched is worse than base: toy: toy_test -x$' anew 0 124
expect "matrix: no result on patched" 1 'patched is worse than base: toy: toy_test -x$' anew 0 none
expect "matrix: fails on both" 0 'RESULTS' anew 1 1
expect "matrix: which is no success" 0 '^not ok 1 - toy: toy_test -x .base: fails .1., patched: fails .1..$' sed -n 3p "$toy/build/results/matrix.ktap"
expect "matrix: skips itself" 0 'RESULTS' anew 4 4
expect "matrix: the row says that" 0 "^skip${tab}skip${tab}skip${tab}-\$" row 'toy_test -x'
sed -i 's/| toy_test -x | -/| toy_test -x | a race/' "$s/matrix.cells"
expect "matrix: a known failure" 0 'RESULTS' matrix '1 1' '1 1'
expect "matrix: says why" 0 "^fails .1.${tab}fails .1.${tab}known${tab}a race\$" row 'toy_test -x'
echo 'cell | toy | 60 | toy_more | -' >>"$s/matrix.cells"
expect "matrix: only the new cell runs" 0 'RESULTS' matrix 1 1
expect "matrix: and passes" 0 "^pass${tab}pass${tab}same" row toy_more
expect "matrix: not without its kernel" 0 'RESULTS' env -u KERNEL STATUS="$toy/status" INITRD="$toy/initrd" "$s/matrix.sh"
expect "matrix: no such cell" 1 "no cell of matrix.cells matches ONLY='nonesuch'" env ONLY=nonesuch "$s/matrix.sh"
bad_cell() {
	printf '%s\n' "$system" "$2" >"$s/matrix.cells"
	expect "matrix.cells: $1" 1 "matrix.cells: line 2 $3" "$s/matrix.sh" list
}
bad_cell "a column is missing" 'cell | toy | toy_test | -' 'has 4 columns, not 5'
bad_cell "no such system" 'cell | yot | 60 | toy_test | -' 'is for the unknown system yot'
bad_cell "no number" 'cell | toy | 1m | toy_test | -' 'allows "1m" seconds'
bad_cell "an empty column" 'cell | toy | 60 | | -' 'column 4 is empty'
bad_cell "no such kind" 'sell | toy | 60 | toy_test | -' 'is neither a system nor a cell'
bad_cell "a system twice" "$system" 'names the system toy again'
bad_cell "no such architecture" 'system | yot | amr64 | vhe | - | - | - | -' 'has the unknown architecture "amr64"'

# A guest hypervisor, and a migration, in a stand-in QEMU that says what $CONSOLE does, and has a plugin.
cat >"$toy/bin/qemu-system-aarch64" <<-'EOF'
	#!/bin/bash
	[ "$1" != --version ] || exec echo QEMU emulator version 10.0.2
	for arg; do
		case $arg in *,out=*) out=${arg#*,out=} && printf '5 3 user_mem_abort\n7 0 [else]\n12 0 [total]\n' >"${out%%,*}" ;; esac
	done
	while [ "$1" != -initrd ]; do shift; done
	nonce=$(tr '\0' '\n' <"$2" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)
	printf '[    0.1] Linux version 7.3\n[    0.2] kvm [1]: VHE%s mode initialized successfully\nfastwalk-begin %s\n' "$NV2" "$nonce"
	printf '%b' "$CONSOLE"
	printf 'fastwalk-end %s %s\n' "$nonce" "${ENDS:-0}"
EOF
for tool in readelf nm gcc; do
	# shellcheck disable=SC2016 # for the stand-in
	printf '#!/bin/sh\nfor arg; do case $before in -o) touch "$arg" ;; esac; before=$arg; done\n' >"$toy/bin/aarch64-linux-gnu-$tool"
	chmod +x "$toy/bin/aarch64-linux-gnu-$tool"
done
cp "$s/packages.sh" "$s/kernel.sh" "$toy/"
printf '#!/bin/sh\n' | tee "$s/packages.sh" >"$s/kernel.sh"
mkdir -p "$toy/build/migrate/arm64/usr/bin" "$toy/build/migrate/arm64/usr/lib" "$toy/build/migrate/arm64/usr/include/aarch64-linux-gnu/asm" "$toy/build/st/arm64-patched"
for tree in linux-base linux; do
	mkdir -p "$toy/build/$tree/.obj-arm64/arch/arm64/boot"
	touch "$toy/build/$tree/.obj-arm64/"{arch/arm64/boot/Image,vmlinux,.fastwalk}
done
touch "$toy/build/migrate/arm64/"{.fastwalk,usr/bin/qemu-system-aarch64,usr/bin/busybox} "$toy/build/st/arm64-patched/"{.fastwalk,toy_test}
up='vmm QEMU emulator version 11.1.3\ntry 1 up\nnested: up 250\nnested: begin toy_test -x\nnested: end 0 12 toy_test -x\nnested: done\ndriven 1\n'
nested() { env KERNEL="$toy/kernel" NV2=+NV2 TESTS=' toy_test -x;' CONSOLE="$1" "${@:2}" "$s/nested.sh"; }
expect "nested: from boots to a table" 0 '^ +[0-9]+:[0-9][0-9]$' nested "$up"
expect "nested: a hundredth of a second is ten million instructions" 0 "^toy_test -x${tab}instructions${tab}120000000${tab}120000000${tab}1.000${tab}0/0\$" \
	grep '^toy_test' "$toy/build/results/nested/arm64.tsv"
expect "nested: all instructions of the machine" 0 "^host${tab}instructions${tab}12${tab}12${tab}1.000" grep '^host' "$toy/build/results/nested/arm64.tsv"
expect "nested: and where they go" 0 "^user_mem_abort${tab}instructions${tab}5${tab}5${tab}1.000\$" tail -n 1 "$toy/build/results/nested/arm64-functions.tsv"
expect "nested: a boot that stalls" 0 '.' nested "try 1 stalled: not up within 300 s\n$up"
expect "nested: is told" 0 'base: try 1 stalled' grep 'base: try' "$toy/out.before"
expect "nested: a test that fails" 1 'failed .base/patched.: toy_test -x .1/1.$' nested "${up/end 0/end 1}"
expect "nested: never comes up" 1 'no table: a boot failed' nested "drive: error: the guest hypervisor did not come up in 5 tries\n" ENDS=1
expect "nested: no such test" 1 'there is no selftest nonesuch' nested "$up" TESTS=nonesuch
moved='vmm QEMU emulator version 11.1.3\nfigure clear 4 100 50\nfigure there-rounds 6\nfigure back-rounds 6\n'
migrate() { env KERNEL="$toy/kernel" ARCH=arm64 NV2='' CONSOLE="$1" "${@:2}" "$s/migrate.sh"; }
migrated() { sed -n "/^$1${tab}/p" "$toy/build/results/migrate/arm64-4k-sparse.tsv"; }
expect "migrate: from boots to a table" 0 '^ +[0-9]+:[0-9][0-9]$' migrate "$moved"
expect "migrate: the calls" 0 "^clear-longest${tab}instructions${tab}50${tab}50${tab}1.000\$" migrated clear-longest
expect "migrate: the faults" 0 "^faults${tab}faults${tab}3${tab}3${tab}1.000\$" migrated faults
expect "migrate: a lost page" 1 'no table: a migration failed' migrate 'drive: error: pages were lost\n' ENDS=1
expect "migrate: leaves no table then" 2 'No such file' ls "$toy/build/results/migrate/arm64-4k-sparse.tsv"
mv "$toy/packages.sh" "$toy/kernel.sh" "$s/"

# Seeded faults.
rm "$toy/tools/faults/"* "$toy/tools/s2walk/faults/"*
printf '# Runs\ns/walk/run/\n' >"$toy/tools/s2walk/faults/runs.sed"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$SAYS"; exit 1\n' >"$toy/bin/finds"
chmod +x "$toy/bin/finds"
echo walk >"$toy/has.c"
echo stand >"$toy/hasnt.c"
# fault_line PATCHED.C BASE.C S2WALK: what faults.sh makes of its one fault
fault_line() { "$toy/tools/s2walk/faults.sh" "$toy/faults" true "$3" false "$toy/$1" "$toy/$2" | sed -n '/^\(not \)*ok/p' || true; }
export SAYS='# 4k random sequence, seed 1: wrong'
expect "faults: one that is found" 0 '^ok 1 fault runs caught$' fault_line has.c has.c finds
expect "faults: one that is not" 0 '^not ok 1 fault runs not caught' fault_line has.c has.c true
expect "faults: one that fits only base" 0 '^ok 1 fault runs caught, in base$' fault_line hasnt.c has.c finds
expect "faults: one that fits neither tree" 0 '^not ok 1 fault runs fits neither tree' fault_line hasnt.c hasnt.c finds

cp "$toy/bin/qemu-system-aarch64" "$toy/bin/qemu-system-x86_64"
cat >"$toy/bin/qemu-system-x86_64" <<-'EOF'
	#!/bin/bash
	while [ "$1" != -initrd ]; do shift; done
	nonce=$(tr '\0' '\n' <"$2" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)
	printf "[    0.1] Linux version 7.3 Nested Paging enabled\nfastwalk-begin $nonce\nrun twenty.diff\n$SAYS\nfastwalk-end $nonce 0\n"
EOF
chmod +x "$toy/bin/qemu-system-x86_64"
printf 'Test: toy_test\nSays: wrong\n--- a/virt/kvm/kvm_main.c\n+++ b/virt/kvm/kvm_main.c\n@@ -40,1 +40,1 @@\n-40\n+41\n' >"$toy/tools/faults/twenty.diff"
kernel_fault() { KERNEL="$toy/kernel" INITRD="$toy/initrd" SAYS=$1 "$s/check-faults.sh"; }
expect "kernel faults: one that is found" 0 "^ok - twenty: toy_test fails: 1 x 'wrong'" kernel_fault 'wrong\nstatus 1'
expect "kernel faults: one that is not" 0 '^not ok - twenty: toy_test does not notice it' kernel_fault 'status 0'
expect "kernel faults: fails for another reason" 0 "^not ok - twenty: toy_test fails, but does not say 'wrong'" kernel_fault 'status 127'
rm "$toy/initrd"
expect "kernel faults: no output of an earlier run" 0 '^not ok - twenty: toy_test did not end' kernel_fault 'wrong\nstatus 1'
touch "$toy/initrd"
sed -i 's/^-40/-99/' "$toy/tools/faults/twenty.diff"
expect "kernel faults: one that does not fit" 1 'twenty.diff does not fit build/linux any more' kernel_fault 'wrong\nstatus 1'
sed -i '/^Says/d' "$toy/tools/faults/twenty.diff"
expect "kernel faults: nothing that it must say" 1 "twenty.diff lacks a line" kernel_fault 'wrong\nstatus 1'

# Patch by patch.
printf '#!/bin/sh\necho no sparse; exit 1\n' >"$s/sparse.sh"
export XDG_CACHE_HOME=$toy/cache
by_patch() { "$s/check-patches.sh" | sort | sed -n "/$1/p"; }
commit() { (cd "$toy/build/linux" && sed -i "$1" virt/kvm/kvm_main.c && git commit -qa -m "KVM: $2"); }
expect "patches: each builds" 0 "^ok - build x86 'KVM: change number 3'" by_patch '^ok - build'
expect "patches: known to pass" 0 'x86: 5 patches and topics, 5 of them known to pass' by_patch 'x86.*known to pass'
expect "patches: does not build" 0 '' by_patch 'not ok'
commit 's/^7$/7 warn/' 'warn'
expect "patches: a new warning" 0 "^not ok - build x86 'KVM: warn': new warning: virt/kvm/kvm_main.c: warning: 7 warn" by_patch 'not ok'
expect "patches: is not forgotten" 0 "^not ok - build x86 'KVM: warn'" by_patch 'not ok'
(cd "$toy/build/linux" && git reset -q --hard HEAD^) && commit 's/^7$/7 undocumented/' 'undocumented'
expect "patches: no kernel-doc" 0 "^not ok - build x86 'KVM: undocumented': new warning: Warning: virt/kvm/kvm_main.c: it has no" by_patch 'not ok'
(cd "$toy/build/linux" && git reset -q --hard HEAD^) && commit 's/^7$/7 fine/' 'fine'
expect "patches: that does not build" 0 "^not ok - build x86 'KVM: fine'" env BUILD=fails bash -c "$(declare -f by_patch); s=$s; by_patch 'not ok'"
expect "patches: that builds" 0 "^ok - build x86 'KVM: fine'" by_patch 'fine'
expect "patches: one more" 0 'x86: 6 patches and topics, 6 of them known to pass' by_patch 'x86.*known to pass'
(cd "$toy/build/linux" && git reset -q --hard HEAD^)

# make check itself, with stand-ins for what it calls.
stand_in() { for name in $1; do printf '#!/bin/sh\n%s\n' "$2" >"$s/$name.sh"; done; }
check() { PHASES=$1 "$s/check.sh"; }
cp "$root/scripts/build.sh" "$s/"
stand_in "packages selftests initramfs" 'exit 0'
stand_in kernel 'echo does not build >&2; exit 1'
expect "check: a kernel that does not build" 1 '^0 passed, 2 failed, 0 skipped' check build
stand_in kernel 'exit 0'
expect "check: kernels that do" 0 '^2 passed, 0 failed, 0 skipped' check build
stand_in check-faults 'echo "ok - one"; exit 1'
expect "check: a phase that fails" 1 '^1 passed, 1 failed' check faults
stand_in check-faults 'exit 0'
expect "check: a phase without results" 1 '^0 passed, 1 failed' check faults
stand_in check-faults 'echo "not ok - one"'
expect "check: a test that fails" 1 '^0 passed, 1 failed' check faults
stand_in check-faults 'echo "ok - one"'
expect "check: the time of each phase" 0 'TIMES +faults 0:0[0-9]' sh -c "PHASES=faults '$s/check.sh' | grep TIMES"
