#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# topics.sh check|commits|closure TOPIC: what each topic of patches/ needs, and whether that is so.
#
# patches/TOPIC/needs has one line: the topics that TOPIC builds on, "TOPIC/NAME" for the one patch of TOPIC whose file is called
# NNNN-NAME..., or "-". What those need, it needs as well; of a single patch, nothing but itself is needed.
#   check    applies each topic to the base with only that; no file is written but an index
#   commits  the same, as a commit for each topic that changes KVM's sources, for check-patches.sh to build: "COMMIT TOPIC"
#   closure  the patches that go before TOPIC, in order
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

index=$build/topics.index
# Or that of another version, for series.sh
from=${FASTWALK_PATCHES:-$root/patches}

# needs TOPIC: its words, one a line
needs() {
	local file=$from/$1/needs
	[ -f "$file" ] || die "patches/$1 does not say what it builds on: write the topics into patches/$1/needs, or \"-\""
	[ "$(wc -l <"$file")" -eq 1 ] || die "patches/$1/needs has more than one line, or less"
	tr -s ' ' '\n' <"$file" | { grep -v '^-\?$' || true; }
}

# files WORD: the patches of a topic, or the one that WORD names
files() {
	local topic=${1%%/*} found
	if [ "$topic" = "$1" ]; then
		found=("$from/$topic"/*.patch)
	else
		found=("$from/$topic"/[0-9]*-"${1#*/}"*.patch)
		[ "${#found[@]}" -eq 1 ] || die "more than one patch is called $1"
	fi
	[ -f "${found[0]}" ] || die "there is no patch $1"
	printf '%s\n' "${found[@]}"
}

# before TOPIC: all patches that it builds on, in no order
before() {
	local word words
	words=$(needs "$1")
	for word in $words; do
		[[ $word < $1 ]] || die "patches/$1 needs $word, which comes after it"
		files "$word"
		[ "$word" != "${word%%/*}" ] || before "$word"
	done
}
closure() { before "$1" | sort -u; }

# paths: the files of the base that any patch touches
paths() { cat "$from"/*/*.patch | sed -n 's|^--- a/||p' | sort -u; }

# apply FILE...: to the index
apply() { GIT_INDEX_FILE=$index git_linux apply --cached "$@"; }

# begin: the index holds what patches touch of the base
begin() {
	rm -f "$index"
	GIT_INDEX_FILE=$index git_linux update-index --index-info <"$index.paths"
}

topics() { (cd "$from" && printf '%s\n' */) | sed 's|/$||'; }

check() {
	local topic list patches
	mapfile -t patches < <(paths)
	git_linux ls-tree -r base -- "${patches[@]}" >"$index.paths"
	list=$(topics)
	for topic in $list; do
		mapfile -t patches < <(closure "$topic"; files "$topic")
		wait $! || exit 1
		begin
		if apply "${patches[@]}" 2>"$index.err"; then
			echo "ok - $topic applies to the base with $(needs "$topic" | xargs | sed 's/^$/nothing else/')"
		else
			echo "not ok - $topic does not apply to the base with $(needs "$topic" | xargs | sed 's/^$/nothing else/'): $(head -n 1 "$index.err")"
		fi
	done
	rm -f "$index" "$index.paths" "$index.err"
}

commits() {
	local topic list patches tree
	list=$(topics)
	for topic in $list; do
		mapfile -t patches < <(closure "$topic"; files "$topic")
		wait $! || exit 1
		grep -qE '^\+\+\+ b/(arch/[a-z0-9]*/(kvm|include)|virt/kvm|include)/' "${patches[@]}" || continue
		GIT_INDEX_FILE=$index git_linux read-tree base
		apply "${patches[@]}" 2>"$index.err" || die "$topic does not apply to the base with what it says it needs"
		tree=$(GIT_INDEX_FILE=$index git_linux write-tree)
		echo "$(GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
			git_linux commit-tree -p base -m "$topic, with no more than it needs" "$tree") $topic"
	done
	rm -f "$index" "$index.err"
}

case ${1:-} in
check | commits) "$1" ;;
closure) closure "$2" ;;
*) die "usage: topics.sh check|commits|closure TOPIC" ;;
esac
