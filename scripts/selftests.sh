#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# selftests.sh ARCH TREE: builds the tree's kvm selftests, static, into build/st/<arch>-<tree>; beside those that the
# bench measures, a copy (<test>.count) linked with a wrapper from tools/guest; and the bench's own tools, which use
# the selftests' library.
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
# <test>:<wrapper>:<what it wraps>
counted="dirty_log_perf_test:count_ioctl:ioctl arm64/large_ipa_test:thread_clock:clock_gettime
	arm64/nested_dirty_log:thread_clock:clock_gettime"
own="dirty_sweep fault_count slot_count slot_race vm_churn"
# The bench runs the patched tree's tests on both kernels.
[ "$tree" = patched ] || counted='' own=''
guest=$root/tools/guest

now=$(
	fingerprint "$tree"
	cat "$guest"/*.[ch] "$0"
)
[ "$(cat "$out/.fastwalk" 2>/dev/null)" != "$now" ] || exit 0
take_lock
need_space 1000
rm -rf "$out" "$out.new"
mkdir -p "$obj" "$out.new"
log=$logs/selftests-$arch-$tree.log
say STEST "$arch-$tree"

stmake() {
	CCACHE_BASEDIR=$root kmake "$arch" "$src/tools/testing/selftests/kvm" OUTPUT="$obj/kvm" \
		abs_objdir="$obj" KHDR_INCLUDES="-isystem $obj/hdr/usr/include" "$@"
}
# Without debug information and the build id made from it, a test that both trees have comes out the same from both.
strip_test() { "${cross}strip" -R .note.gnu.build-id -o "$2" "$1" 2>/dev/null || cp "$1" "$2"; }

CCACHE_BASEDIR=$root logged "$log" kmake "$arch" "$src" O="$obj/hdr" headers || die "make headers failed for $arch $tree"
mkdir -p "$obj/kvm" "$obj/tools"
logged "$log" stmake -j"$(nproc)" LDFLAGS=-static || die "the $arch $tree selftests do not build"
(cd "$obj/kvm" && find . -maxdepth 2 -type f -perm -u+x ! -name '*.o' ! -name '*.so') | while read -r test; do
	mkdir -p "$out.new/$(dirname "$test")"
	strip_test "$obj/kvm/$test" "$out.new/$test"
done

for entry in $counted; do
	IFS=: read -r test wrapper function <<<"$entry"
	[ -f "$obj/kvm/$test" ] || continue
	"${cross}gcc" -O2 -Wall -Wextra -Werror -isystem "$obj/hdr/usr/include" -c "$guest/$wrapper.c" -o "$obj/$wrapper.o" ||
		die "tools/guest/$wrapper.c does not build"
	rm -f "$obj/kvm/$test"
	logged "$log.count" stmake "LDFLAGS=-static -Wl,--wrap=$function $obj/$wrapper.o" "$obj/kvm/$test" ||
		die "$test does not link with $wrapper.o"
	strip_test "$obj/kvm/$test" "$out.new/$test.count"
	rm -f "$obj/kvm/$test"
done
# The selftests' makefile finds our sources by VPATH; it warns less than we want to hear.
for test in $own; do
	logged "$log.own" stmake VPATH="$guest" LDFLAGS=-static TEST_GEN_PROGS_EXTENDED="$obj/kvm/$test" \
		EXTRA_CFLAGS="-Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-type-limits -Werror" "$obj/kvm/$test" ||
		die "tools/guest/$test.c does not build"
	strip_test "$obj/kvm/$test" "$out.new/$test"
done
printf '%s\n' "$now" >"$out.new/.fastwalk"
mv "$out.new" "$out"
say "" "$(find "$out" -type f -perm -u+x | wc -l) tests"
