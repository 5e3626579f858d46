#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel.sh ARCH TREE [FRAGMENT...]: builds a kernel in <tree>/.obj-<arch>[-<fragment>...].
#
# The config is allnoconfig plus arch/<arch>/configs/test.config plus each FRAGMENT of that directory. Base and patched
# always get the same. An option that a fragment asks for and Kconfig refuses ends the build.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: kernel.sh arm64|x86 base|patched [FRAGMENT...]"
arch=$1 tree=$2
shift 2
arch "$arch"
src=$(tree_dir "$tree")
[ -f "$src/Makefile" ] || die "there is no $src: run 'make tree' first"
obj=$(obj_dir "$arch" "$tree" "$@")
name=$arch-$tree${*:+ $*}
config=$(mktemp)
trap 'rm -f "$config"' EXIT
kernel_config "$arch" "$@" >"$config"

stamp=$obj/.fastwalk
now=$(kernel_stamp "$arch" "$tree" "$@")
if [ -f "$obj/$image" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$now" ]; then
	exit 0
fi
take_lock
need_space 2500
# A build that fails leaves nothing to boot.
rm -f "$stamp" "$obj/$image"
mkdir -p "$obj"

# The last word of each option in the fragments counts, as it does for Kconfig.
refused() {
	awk -F= '/^CONFIG_/ { last[$1] = $2 } END { for (o in last) print o "=" last[o] }' "$config" | sort |
		while IFS="=" read -r option value; do
			case $value in
			n) ! grep -q "^$option=" "$obj/.config" || echo "$option=n" ;;
			*) grep -q "^$option=$value\$" "$obj/.config" || echo "$option=$value" ;;
			esac
		done
}

log=$logs/kernel-${name// /-}.log
if ! cmp -s "$config" "$obj/.fragments"; then
	rm -f "$obj/.fragments"
	logged "$log" kmake "$arch" "$src" O="$obj" KCONFIG_ALLCONFIG="$config" allnoconfig || die "allnoconfig failed for $arch $tree"
	unmet=$(refused)
	if [ -n "$unmet" ]; then
		die "Kconfig does not take these options of arch/$arch/configs: $(echo "$unmet" | xargs)"
	fi
	cp "$config" "$obj/.fragments"
fi
say KERNEL "$name"
began=$SECONDS
logged "$log" kmake "$arch" "$src" O="$obj" -j"$(nproc)" "${image##*/}" || die "the $arch $tree kernel does not build"
[ -f "$obj/$image" ] || die "the build ended without $obj/$image"
printf '%s\n' "$now" >"$stamp"
say "" "$image in $(elapsed $((SECONDS - began)))"
