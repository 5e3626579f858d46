#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# initramfs.sh ARCH: packs busybox, /init and the guest tools, the patched tree's selftests (/st) and those of the base
# tree that `make check` runs (/st-base) into build/initramfs/<arch>.cpio, the same for both kernels.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

[ $# -eq 1 ] || die "usage: initramfs.sh arm64|x86"
arch=$1
arch "$arch"
out=$build/initramfs/$arch.cpio
guest=$root/tools/guest

for tree in base patched; do
	[ -f "$build/st/$arch-$tree/.fastwalk" ] || die "no selftests: run 'make selftests ARCH=$arch TREE=$tree' first"
done
inputs=$(
	cat "$build/st/$arch-patched/.fastwalk" "$build/st/$arch-base/.fastwalk" "$root/scripts/check.tests" "$0"
	find "$guest" -type f ! -name '*.c' -exec sha256sum {} +
)
[ "$(cat "$out.inputs" 2>/dev/null)" != "$inputs" ] || [ ! -f "$out" ] || exit 0
take_lock

# busybox, static, for the guest's architecture; the system's own stays as it is.
busybox=$build/busybox/$arch/bin/busybox
if [ ! -f "$busybox" ]; then
	have_apt || die "no apt to get a static busybox with: put one at $busybox"
	apt_root "$BASE_SUITE"
	rm -rf "$build/busybox/$arch"
	mkdir -p "$build/busybox/$arch"
	(
		cd "$build/busybox/$arch"
		logged "$logs/busybox.log" apt-get download "busybox-static:$debian_arch"
		dpkg-deb -x ./*.deb .
	) || die "could not download busybox-static:$debian_arch"
fi

stage=$build/initramfs/$arch.stage
rm -rf "$stage" "$out"
mkdir -p "$stage/bin" "$stage/fw"
cp "$busybox" "$stage/bin/"
ln -s busybox "$stage/bin/sh"
install -m 755 "$guest/init" "$stage/init"
find "$guest" -type f ! -name '*.c' ! -name init -exec install -m 755 -t "$stage/fw" {} +
cp -a "$build/st/$arch-patched" "$stage/st"
"$root/scripts/check-selftests.sh" list | awk -F'\t' '{ split($4, w, " "); print w[1] }' |
	sort -u | while read -r test; do
	[ ! -f "$build/st/$arch-base/$test" ] || install -D -m 755 "$build/st/$arch-base/$test" "$stage/st-base/$test"
done
(cd "$stage" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$out.new"
rm -rf "$stage"
mv "$out.new" "$out"
printf '%s\n' "$inputs" >"$out.inputs"
say INITRD "$arch.cpio, $(du -m "$out" | cut -f1) MiB"
