#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# fetch.sh: brings the base kernel's sources to build/fetch/linux.tar.xz (nothing to do with KDIR).
# fetch.sh PACKAGE VERSION: brings another kernel's, unpacked to build/kernels/PACKAGE-VERSION, to use as KDIR.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

package=${1:-$BASE_PACKAGE} version=${2:-$BASE_VERSION}
out=$build/fetch
other=
case $# in
0)
	[ -z "${KDIR:-}" ] || exit 0
	if [ -f "$out/linux.tar.xz" ] && [ "$(cat "$out/pin" 2>/dev/null)" = "$package $version" ] &&
		[ "$(cat "$out/version" 2>/dev/null || echo "$version")" = "$version" ]; then
		exit 0
	fi
	;;
2)
	other=$build/kernels/$package-$version out=$build/kernels/fetch
	if [ -d "$other" ]; then
		say KDIR "${other#"$root"/}"
		exit 0
	fi
	;;
*) die "usage: fetch.sh [PACKAGE VERSION]" ;;
esac
take_lock
have_apt || die "no Debian mirror to fetch $package from on this system: use KDIR=/path/to/linux (a $BASE_TAG tree)"
need_space 2000

# versions PACKAGE: "<version> <suite>" for each that the indexes know, the newest last
versions() {
	apt-cache madison "$1" | awk -F'|' '{ gsub(/ /, "", $2); split($3, w, " "); sub(/\/.*/, "", w[2]); print $2, w[2] }' | sort -uV
}

has_version() { versions "$package" | grep -qF "$version "; }

# elsewhere: what to do when no suite has that version
elsewhere() {
	local found name=$package
	found=$(versions "$name" | tail -n 1)
	if [ -z "$found" ]; then
		name=$(apt-cache pkgnames linux-source- | grep -xE 'linux-source-[0-9.]+' | sort -V | tail -n 1 || true)
		[ -n "$name" ] || die "no package index that could be fetched has a linux-source: is there a network? (or use KDIR=/path/to/linux)"
		found=$(versions "$name" | tail -n 1)
	fi
	found=${found% *}
	die "$package $version has left the mirror: run 'scripts/fetch.sh $name $found' and use KDIR=build/kernels/$name-$found (its figures can't be compared with those in Documentation/), or KDIR=/path/to/linux with a $BASE_TAG tree"
}

mkdir -p "$logs"
if ! apt_update "$BASE_SUITE" || ! has_version; then
	# shellcheck disable=SC2086 # a list of suites
	apt_search $BASE_SUITE $OTHER_SUITES
	has_version || elsewhere
fi

say FETCH "$package $version ($(versions "$package" | awk -v v="$version" '$1 == v { print $2; exit }'))"
rm -rf "$out"
mkdir -p "$out"
cd "$out"
logged "$logs/fetch.log" apt-get download "$package=$version" || die "could not download $package $version"
dpkg-deb --fsys-tarfile ./*.deb | tar -xf - -O "./usr/src/$package.tar.xz" >linux.tar.xz.new ||
	die "$package $version does not hold usr/src/$package.tar.xz"
[ -s linux.tar.xz.new ] || die "$package $version holds an empty usr/src/$package.tar.xz"
rm -f ./*.deb
mv linux.tar.xz.new linux.tar.xz
echo "$package $version" >pin
[ -n "$other" ] || exit 0

say UNPACK "$package $version"
rm -rf "$other.new"
mkdir "$other.new"
logged "$logs/fetch.log" tar -xJf linux.tar.xz --strip-components=1 -C "$other.new" || die "could not unpack $package $version"
mv "$other.new" "$other"
rm -rf "$out"
say KDIR "${other#"$root"/}"
