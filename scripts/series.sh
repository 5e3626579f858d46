#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# series.sh: what goes to the mailing lists. For each topic (TOPIC=... for one) build/series/vN/TOPIC/ holds the cover letter, with To and
# Cc by get_maintainer.pl, and the patches, made for the base with no more than the topic needs, for `git send-email`; and TOPIC.mbox with
# the patches alone, for `git am` and `b4 shazam -m`. What a list would send back for its form is an error.
#
# N is one more than that of the last tag series-vN, or VERSION. From v2 on the cover letter has a range-diff against the tag before, and
# the lines of patches/TOPIC/changes, if there is such a file, under "Changes since". SENT=1 sets the tag. SIGNOFF=1 signs off the
# patches with the identity that git has here: without, they cannot be sent.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

take_lock
index=$build/series.index
wrong=0

# complain FILE WHAT
complain() {
	echo "  ${1#"$root"/}: $2"
	wrong=$((wrong + 1))
}

# last: the number of the last version before this one that has a tag, 0 if there is none
last() {
	git -C "$root" tag -l 'series-v*' | sed -n 's/^series-v\([0-9]\{1,\}\)$/\1/p' | awk -v limit="${VERSION:-1000000}" '
		$1 < limit && $1 > n { n = $1 } END { print n + 0 }'
}

# files TOPIC DIR: its patches in a folder like patches/
files() { find "$2/$1" -name '*.patch' | sort; }

# to_index PATCH...: applies them
to_index() { GIT_INDEX_FILE=$index git_linux apply --cached "$@"; }
tree_of_index() { GIT_INDEX_FILE=$index git_linux write-tree; }

# start DIR: the index holds what the patches in DIR touch of the base, which is quick
start() {
	local paths
	mapfile -t paths < <(cat "$1"/*/*.patch | sed -n 's|^--- a/||p' | sort -u)
	rm -f "$index"
	git_linux ls-tree -r base -- "${paths[@]}" | GIT_INDEX_FILE=$index git_linux update-index --index-info
}

# commit_patch PARENT PATCH: applies PATCH to the index; its commit
commit_patch() {
	local info=$build/series.info
	to_index "$2"
	git_linux mailinfo -k "$info.msg" /dev/null <"$2" >"$info"
	{
		# Without "[PATCH] "
		sed -n 's/^Subject: \(\[PATCH[^]]*\] \)\?//p' "$info"
		echo
		cat "$info.msg"
	} >"$info.log"
	GIT_AUTHOR_NAME=$(sed -n 's/^Author: //p' "$info") GIT_AUTHOR_EMAIL=$(sed -n 's/^Email: //p' "$info") \
		GIT_AUTHOR_DATE=$(sed -n 's/^Date: //p' "$info") GIT_COMMITTER_DATE=2026-01-01T00:00:00Z \
		git_linux commit-tree -p "$1" -F "$info.log" "$(tree_of_index)"
	rm -f "$info" "$info.msg" "$info.log"
}

# chain TOPIC DIR: commits of the patches of DIR/TOPIC on one commit with all that comes before; the range
chain() {
	local before commit patch needed
	start "$2"
	commit=$(GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
		git_linux commit-tree -m base "$(tree_of_index)")
	needed=$(FASTWALK_PATCHES=$2 "$root/scripts/topics.sh" closure "$1")
	if [ -n "$needed" ]; then
		# shellcheck disable=SC2086 # no blanks in those names
		to_index $needed
		commit=$(GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
			git_linux commit-tree -m prerequisites -p "$commit" "$(tree_of_index)")
	fi
	before=$commit
	for patch in $(files "$1" "$2"); do
		commit=$(commit_patch "$commit" "$patch")
	done
	echo "$before..$commit"
}

# trailers TOPIC: what the patches are for
trailers() {
	local base patch needed
	read -ra base <"$base_tree/.fastwalk-base"
	if [ "${base[0]}" = KDIR ] && [ -n "${KDIR:-}" ] && [[ ${base[2]} =~ ^[0-9a-f]{12}$ ]]; then
		echo "base-commit: $(git -C "$KDIR" rev-parse "${base[2]}^{commit}")"
	elif [ "${base[0]}" = KDIR ]; then
		echo "Based on Linux ${base[1]}."
	else
		echo "Based on $BASE_TAG."
	fi
	needed=$("$root/scripts/topics.sh" closure "$1")
	for patch in $needed; do
		echo "prerequisite-patch-id: $(git patch-id --stable <"$patch" | cut -d' ' -f1)"
	done
}

# needs_words TOPIC: the same for people: titles of the series and patches that have to be applied before
needs_words() {
	local word words title
	words=$(tr -s ' ' '\n' <"$root/patches/$1/needs" | { grep -v '^-\?$' || true; })
	[ -n "$words" ] || return 0
	echo "Applies on top of:"
	for word in $words; do
		if [ "$word" = "${word%%/*}" ]; then
			title=$(sed -n '1s/^Subject: //; 1p' "$root/patches/$word/cover-letter")
			echo " - the series \"$title\""
		else
			title=$(sed -n '/^Subject: /,/^$/p' "$root/patches/${word%%/*}"/[0-9]*-"${word#*/}"*.patch | tr -d '\n' | sed 's/^Subject: \[PATCH\] //')
			echo " - the patch \"$title\""
		fi
	done
	echo
}

# people TOPIC: who is to get it, a line each: "To Name <address>" for maintainers, "Cc ..." for reviewers and lists
people() {
	local patches
	mapfile -t patches < <(files "$1" "$root/patches")
	(cd "$patched_tree" && perl scripts/get_maintainer.pl --no-git --no-git-fallback --no-fixes --no-rolestats --roles "${patches[@]}") |
		sed -n 's/^\(.*\) (\(maintainer\|supporter\)[^()]*\(([^()]*)[^()]*\)*)$/To \1/p; t; s/^\([^(]*[^( ]\) (.*$/Cc \1/p' | sort -u
}

# header NAME: the people of one kind as a header, if there are any
header() { sed -n "s/^$1 //p" "$build/series.people" | paste -sd, | sed -n "s/,/,\n\t/g; /./s/^/$1: /p"; }

# cover TOPIC RANGE FILE: fills in the template that git made
cover() {
	local topic=$1 text=$root/patches/$1/cover-letter name
	people "$topic" >"$build/series.people"
	for name in To Cc; do header "$name"; done >"$build/series.header"
	{
		sed -n '1s/^Subject: //; 1p' "$text" >"$build/series.subject"
		sed '1d' "$text" | sed '1{/^$/d}'
		echo
		needs_words "$topic"
		changes "$topic" "$2"
	} >"$build/series.blurb"
	[ -s "$build/series.subject" ] || complain "$text" "has no subject"
	awk -v header="$build/series.header" -v subject="$build/series.subject" -v blurb="$build/series.blurb" -v trailers="$build/series.trailers" '
		!body && /^Subject: / { getline line <subject; sub(/\*\*\* SUBJECT HERE \*\*\*/, line) }
		!body && /^$/ {
			body = 1
			while ((getline line <header) > 0) print line
		}
		body && $0 == "*** BLURB HERE ***" { while ((getline line <blurb) > 0) print line; next }
		{ print }
		END { print ""; while ((getline line <trailers) > 0) print line }' "$3" >"$3.new"
	mv "$3.new" "$3"
	rm -f "$build"/series.{people,header,subject,blurb,trailers}
}

# changes TOPIC RANGE: since the version that was sent last
changes() {
	local old
	[ "$before" -gt 0 ] || return 0
	[ -d "$build/series.old/$1" ] || {
		printf 'New in v%s.\n\n' "$version"
		return 0
	}
	printf 'Changes since v%s:\n' "$before"
	[ ! -f "$root/patches/$1/changes" ] || cat "$root/patches/$1/changes"
	old=$(chain "$1" "$build/series.old")
	printf '\nRange-diff against v%s:\n' "$before"
	git_linux range-diff --no-color "$old" "$2"
	echo
}

# check_mail FILE COVER: what `b4 prep --check` and a maintainer's eyes would find
check_mail() {
	local file=$1 body=$build/series.body rest
	awk '/^$/ { exit } /^[^ \t]/ { on = /^Subject: / } on { printf "%s", $0 }' "$file" | grep -qE "^Subject: \[PATCH$prefix [0-9]+/[0-9]+\] [^ ]+: " ||
		complain "$file" "the subject does not begin with \"[PATCH$prefix n/m] subsystem: \""
	sed -e '1,/^$/d' "$file" | sed -e '/^---$/,$d' -e '/^base-commit: /,$d' -e '/^Based on /,$d' -e '/^Range-diff /,$d' >"$body"
	grep -qvE '^($|[A-Z][A-Za-z-]*(-by|es): )' "$body" || complain "$file" "has nothing but a subject"
	# Quotations, tables, links and tags may be as long as they are.
	rest=$(awk -v limit="$2" 'length($0) > limit && !/^[ \t>]/ && !/https?:\/\// && !/^(Fixes|Link|Closes): / { print NR; exit }' "$body")
	[ -z "$rest" ] || complain "$file" "line $rest of the text is longer than $2 columns"
	rest=$(grep -m 1 -oE '^(Signed-off|Reviewed|Acked|Tested|Suggested|Reported|Co-developed)-by: .*' "$body" || true)
	if [ -n "$rest" ] && { [ "${SIGNOFF:-0}" != 1 ] || [ "$rest" != "Signed-off-by: $me" ]; }; then
		complain "$file" "has a trailer that is not ours to give: $rest"
	fi
	rest=$(grep -m 1 -oiwE "fastwalk|make (bench|check|run|calls|results)|tools/faults/[a-z-]*|this repository" "$body" || true)
	[ -z "$rest" ] || complain "$file" "names what a list knows nothing of: $rest"
	[ "$(tail -c 1 "$file" | wc -l)" -eq 1 ] || complain "$file" "does not end with a newline"
	rm -f "$body"
}

make_topic() {
	local topic=$1 out=$build/series/v$version/$1 range tree file args=() mails
	rm -rf "$out"
	mkdir -p "$out"
	range=$(chain "$topic" "$root/patches")
	trailers "$topic" >"$build/series.trailers"
	[ "$version" -eq 1 ] || args+=(-v "$version")
	[ "${SIGNOFF:-0}" != 1 ] || args+=(-s)
	git_linux format-patch -q -n --cover-letter --thread=shallow --no-signature --no-base --full-index --no-renames "${args[@]}" -o "$out" "$range"
	mails=("$out"/*.patch)
	cover "$topic" "$range" "${mails[0]}"
	check_mail "${mails[0]}" 80
	for file in "${mails[@]:1}"; do
		check_mail "$file" 75
	done
	# What the mails say is what the topic does.
	GIT_INDEX_FILE=$index git_linux read-tree "${range%..*}"
	to_index "${mails[@]:1}"
	tree=$(tree_of_index)
	[ "$tree" = "$(git_linux rev-parse "${range#*..}^{tree}")" ] || complain "$out" "the mails do not make the topic's tree"
	for file in "${mails[@]:1}"; do
		sed '1s/^From [0-9a-f]* /From git@z /' "$file"
		echo
	done >"$out/$topic.mbox"
	say SERIES "${out#"$root"/}: $((${#mails[@]} - 1)) patches"
}

"$root/scripts/tree.sh"
before=$(last)
version=${VERSION:-$((before + 1))}
[[ $version =~ ^[1-9][0-9]*$ ]] || die "VERSION is '$version', and must be a number"
# "Name <address>" of who is going to send it
me=$(git -C "$root" var GIT_COMMITTER_IDENT 2>/dev/null | sed 's/ [0-9]* [-+][0-9]*$//' || true)
if [ -n "$me" ]; then
	GIT_COMMITTER_NAME=${me% <*} GIT_COMMITTER_EMAIL=${me##*<}
	GIT_COMMITTER_EMAIL=${GIT_COMMITTER_EMAIL%>}
	export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
elif [ "${SIGNOFF:-0}" = 1 ]; then
	die "git knows no name and address to sign off with: git config user.name and user.email"
fi
prefix=
[ "$version" -eq 1 ] || prefix=" v$version"
rm -rf "$build/series.old"
if [ "$before" -gt 0 ]; then
	mkdir -p "$build/series.old"
	git -C "$root" archive "series-v$before" patches | tar -x -C "$build/series.old" --strip-components=1
fi
topics=$(cd "$root/patches" && printf '%s\n' */ | sed 's|/$||' | { grep -x "${TOPIC:-.*}" || true; })
[ -n "$topics" ] || die "there is no topic '$TOPIC' in patches/"
for topic in $topics; do
	make_topic "$topic"
done
rm -rf "$build/series.old" "$index"
[ "$wrong" -eq 0 ] || die "$wrong things that a list would send back, named above"
if [ "${SENT:-0}" = 1 ]; then
	[ -z "${TOPIC:-}" ] || die "SENT=1 is for all topics at once"
	[ -z "$(git -C "$root" status --porcelain -- patches)" ] || die "patches/ has changes that are not committed: a tag would not have them"
	git -C "$root" tag -a -m "patches/ as sent, version $version" "series-v$version"
	say TAG "series-v$version"
fi
