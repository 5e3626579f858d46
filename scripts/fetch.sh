#!/bin/bash
# fetch.sh: brings the base kernel's sources to build/fetch/linux.tar.xz (nothing to do with KDIR).
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

out=$build/fetch
tarball=$out/linux.tar.xz

[ -z "${KDIR:-}" ] || exit 0
[ ! -f "$tarball" ] || [ "$(cat "$out/pin" 2>/dev/null)" != "$BASE_PACKAGE $BASE_VERSION" ] || exit 0
take_lock
have_apt || die "no apt on this system to fetch $BASE_PACKAGE with: use KDIR=/path/to/linux (a $BASE_TAG tree)"
need_space 2000
apt_root "$BASE_SUITE"

version=$BASE_VERSION
available=$(apt-cache madison "$BASE_PACKAGE" | awk -F'|' '{ gsub(/ /, ""); print $2 }' | sort -Vu)
if ! grep -qxF "$version" <<<"$available"; then
	version=$(tail -n 1 <<<"$available")
	[ -n "$version" ] || die "the mirror has no $BASE_PACKAGE in $BASE_SUITE: use KDIR=/path/to/linux"
	warn "$BASE_PACKAGE $BASE_VERSION is gone from $BASE_SUITE: using $version; figures may differ slightly"
fi

say FETCH "$BASE_PACKAGE $version"
rm -rf "$out"
mkdir -p "$out"
cd "$out"
logged "$logs/fetch.log" apt-get download "$BASE_PACKAGE=$version" || die "could not download $BASE_PACKAGE $version"
dpkg-deb --fsys-tarfile ./*.deb | tar -xf - -O "./usr/src/$BASE_PACKAGE.tar.xz" >linux.tar.xz.new ||
	die "$BASE_PACKAGE $version does not hold usr/src/$BASE_PACKAGE.tar.xz"
[ -s linux.tar.xz.new ] || die "$BASE_PACKAGE $version holds an empty usr/src/$BASE_PACKAGE.tar.xz"
rm -f ./*.deb
mv linux.tar.xz.new linux.tar.xz
echo "$version" >version
echo "$BASE_PACKAGE $BASE_VERSION" >pin
