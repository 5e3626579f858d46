#!/bin/bash
# selftests.sh ARCH TREE: builds the tree's kvm selftests, static, into build/st/<arch>-<tree>; and beside each
# test that the bench measures, a copy (<test>.count) linked with tools/guest/count_ioctl.c.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 2 ] || die "usage: selftests.sh arm64|x86 base|patched"
arch=$1 tree=$2
arch "$arch"
src=$(tree_dir "$tree")
[ -f "$src/Makefile" ] || die "there is no $src: run 'make tree' first"
# Inside the tree, so that ccache sees the same relative paths for both trees (see obj_dir).
obj=$src/.obj-st-$arch
out=$build/st/$arch-$tree
counted="dirty_log_perf_test"
guest=$root/tools/guest

now=$(
	fingerprint "$tree"
	cat "$guest"/*.c "$0"
)
[ "$(cat "$out/.fastwalk" 2>/dev/null)" != "$now" ] || exit 0
take_lock
need_space 1000
rm -rf "$out" "$out.new"
mkdir -p "$obj" "$out.new"
log=$logs/selftests-$arch-$tree.log
say STEST "$arch-$tree"

cc="$(command -v ccache) ${cross}gcc"
kmake() {
	env CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 make -C "$src" ARCH="$arch" CROSS_COMPILE="$cross" CC="$cc" "$@"
}
stmake() {
	kmake -C "$src/tools/testing/selftests/kvm" OUTPUT="$obj/kvm" abs_objdir="$obj" KHDR_INCLUDES="-isystem $obj/hdr/usr/include" "$@"
}
# Without debug information and the build id made from it, a test that both trees have comes out the same from both.
strip_test() { "${cross}strip" -R .note.gnu.build-id -o "$2" "$1" 2>/dev/null || cp "$1" "$2"; }

logged "$log" kmake O="$obj/hdr" headers || die "make headers failed for $arch $tree"
mkdir -p "$obj/kvm" "$obj/tools"
for test in $counted; do
	rm -f "$obj/kvm/$test"
done
logged "$log" stmake -j"$(nproc)" LDFLAGS=-static || die "the $arch $tree selftests do not build"
(cd "$obj/kvm" && find . -maxdepth 2 -type f -perm -u+x ! -name '*.o' ! -name '*.so') | while read -r test; do
	mkdir -p "$out.new/$(dirname "$test")"
	strip_test "$obj/kvm/$test" "$out.new/$test"
done

"${cross}gcc" -O2 -Wall -Wextra -Werror -isystem "$obj/hdr/usr/include" -c "$guest/count_ioctl.c" -o "$obj/count_ioctl.o" ||
	die "tools/guest/count_ioctl.c does not build"
for test in $counted; do
	rm -f "$obj/kvm/$test"
	logged "$log.count" stmake "LDFLAGS=-static -Wl,--wrap=ioctl $obj/count_ioctl.o" "$obj/kvm/$test" ||
		die "$test does not link with count_ioctl.o"
	strip_test "$obj/kvm/$test" "$out.new/$test.count"
	rm -f "$obj/kvm/$test"
done
printf '%s\n' "$now" >"$out.new/.fastwalk"
mv "$out.new" "$out"
say "" "$(find "$out" -type f -perm -u+x | wc -l) tests"
