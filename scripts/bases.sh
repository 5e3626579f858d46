#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bases.sh KDIR...: carries the series to each of these kernels with rebase.sh, in a copy of the project that has only the
# folders which the patches touch, and writes to Documentation/bases.md which patches apply as they are. One that needs a hand
# is left out there, so that the rest is tried too. Nothing is built, and patches/ stays as it is.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || die "usage: bases.sh KDIR... (scripts/fetch.sh PACKAGE VERSION brings one)"
take_lock
[ -f "$base_tree/.fastwalk-base" ] || die "there is no build/linux-base: run 'make tree' first"
work=$build/bases
doc=$root/Documentation/bases.md
folders=$(sed -n 's,^--- a/\(.*\)/[^/]*$,\1,p' "$root"/patches/*/*.patch | sort -u)

# part FROM TO: what of a kernel the patches touch
part() {
	mkdir -p "$2"
	# shellcheck disable=SC2086 # a list of folders
	tar -C "$1" --ignore-failed-read -cf - Makefile virt/kvm $folders 2>/dev/null | tar -C "$2" -xf -
}

# words DIR: what each patch does, wherever in its files that is
words() { for patch in "$1"/*/*.patch; do sed '/^From /d; /^Subject: /d; /^index /d; s/^@@ [^@]* @@.*/@@/' "$patch" | sha256sum | cut -c 1-16; done; }

# carry KDIR: leaves the carried series in $work/patches, and the subjects of what did not fit in $work/by-hand
carry() {
	local tries=0 out=$work/out
	rm -rf "$work"
	mkdir -p "$work/build/fetch"
	cp -r "$root/scripts" "$root/arch" "$root/patches" "$work/"
	part "$base_tree" "$work/linux"
	tar -C "$work" -cJf "$work/build/fetch/linux.tar.xz" linux
	echo "$BASE_PACKAGE $BASE_VERSION" >"$work/build/fetch/pin"
	part "$1" "$work/kdir"
	git -C "$work/kdir" init -q
	git -C "$work/kdir" add -A -f
	git -C "$work/kdir" -c user.name=fastwalk -c user.email=fastwalk@localhost commit -q -m base
	: >"$work/by-hand"
	until env -u FASTWALK_LOCKED KDIR="$work/kdir" "$work/scripts/rebase.sh" >"$out" 2>&1 9>&-; do
		if ! grep -q 'does not fit this base' "$out" || [ $((tries += 1)) -gt 100 ]; then
			die "rebase.sh: $(tail -n 1 "$out")"
		fi
		sed -n 's/.*does not fit this base: [^:]*: //p' "$out" >>"$work/by-hand"
		git -C "$work/build/linux" rebase --skip >/dev/null 2>&1 || true
	done
}

declare -A cell=()
heads=
for kdir in "$@"; do
	[ -f "$kdir/virt/kvm/kvm_main.c" ] || die "KDIR=$kdir is not a kernel tree: it has no virt/kvm/kvm_main.c"
	name=${kdir%/}
	name=${name##*/}
	say CARRY "$name"
	carry "$kdir"
	heads+=" $name |"
	carried=$(words "$work/patches")
	for topic in "$root"/patches/*/; do
		topic=$(basename "$topic")
		same=0 merged=0 hand=''
		for patch in "$root/patches/$topic"/*.patch; do
			subject=$(cd "$root/patches/$topic" && git mailinfo /dev/null /dev/null <"$patch" | sed -n 's/^Subject: //p')
			if grep -qxF -- "$subject" "$work/by-hand"; then
				hand+="${hand:+, }$(basename "$patch" | cut -c 1-4)"
			elif grep -qxF "$(sed '/^From /d; /^Subject: /d; /^index /d; s/^@@ [^@]* @@.*/@@/' "$patch" | sha256sum | cut -c 1-16)" <<<"$carried"; then
				same=$((same + 1))
			else
				merged=$((merged + 1))
			fi
		done
		text="$same as they are"
		[ "$merged" -eq 0 ] || text+=", $merged by git's merge"
		[ -z "$hand" ] || text+=", by hand: $hand"
		cell[$topic]+=" $text |"
	done
done
{
	echo "# Other bases"
	echo
	echo "What becomes of the patches, made for $BASE_PACKAGE $BASE_VERSION, on other kernels. Written by \`scripts/bases.sh\`; by hand: the"
	echo "numbers of the patches at which \`make rebase\` stops; one that is left out here can be why a later one does not fit. Nothing was built."
	echo
	echo "| topic |$heads"
	echo "|---|$(printf -- '---|%.0s' "$@")"
	for topic in $(printf '%s\n' "${!cell[@]}" | sort); do
		echo "| \`$topic\` |${cell[$topic]}"
	done
	cat <<-'EOF'

		## Going to a new base

		    scripts/fetch.sh linux-source-7.4 7.4.1-1               # or any tree of yours
		    make rebase KDIR=build/kernels/linux-source-7.4-7.4.1-1

		brings the commits of `build/linux` to the new base with `git rebase` and writes `patches/`; topics stay. Where a patch does not
		fit it stops: mend the files that it names in `build/linux`, `git add` them, `make rebase` again. `make tree FORCE=1` gives up;
		until the end `patches/` is as it was. Then name the new base in `scripts/base.conf` (or go on with `KDIR=`), run `make check` and
		`make bench`, and `scripts/bases.sh` for this table.
	EOF
} >"$doc.new"
mv "$doc.new" "$doc"
rm -rf "$work"
say WRITE "${doc#"$root"/}"
