#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# sparse.sh: prints the path of a sparse that can read the base kernel: the system's, or else Debian unstable's,
# unpacked under build/ together with the C library that it needs. Fails if there is neither.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

# The kernel's own test of whether a sparse is new enough.
reads_kernel() { "$1" --version >/dev/null 2>&1 && [ "$(sh "$base_tree/scripts/checker-valid.sh" "$1")" = 1 ]; }

own=$build/sparse
for sparse in "$(command -v sparse || true)" "$own/sparse"; do
	if [ -x "$sparse" ] && reads_kernel "$sparse"; then
		echo "$sparse"
		exit 0
	fi
done
have_apt || die "no apt to get a newer sparse with"
apt_root "$BASE_SUITE" sid >&2
rm -rf "$own" "$own.new"
mkdir -p "$own.new"
cd "$own.new"
logged "$logs/sparse.log" apt-get download sparse:amd64/sid libc6:amd64/sid >&2 || die "could not download sparse"
for deb in *.deb; do
	dpkg-deb -x "$deb" .
done
cat >sparse <<-'EOF'
	#!/bin/sh
	here=$(dirname "$0")
	exec "$here"/usr/lib64/ld-linux-x86-64.so.2 --library-path "$here/usr/lib/x86_64-linux-gnu" "$here/usr/bin/sparse" "$@"
EOF
chmod +x sparse
mv "$own.new" "$own"
reads_kernel "$own/sparse" || die "Debian's newest sparse cannot read the base kernel either"
echo "$own/sparse"
