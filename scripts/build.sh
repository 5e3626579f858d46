#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build.sh ARCH [TREE...]: all that a boot of ARCH needs, from nothing: packages, sources, trees, the kernels of each TREE
# (with the fragments CONFIG), the selftests of both trees, the initramfs. What is up to date is passed over. VENDOR and
# MODE say whether Bochs is needed.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "usage: build.sh arm64|x86 [base|patched...]"
arch=$1
shift
arch "$arch"
for tree in "$@"; do tree_dir "$tree" >/dev/null; done
mode=${MODE:-${modes%% *}}
bochs=$(mode_bochs "${mode%%+*}")
"$root/scripts/packages.sh" fetch build boot ${bochs:+bochs}
take_lock
"$root/scripts/fetch.sh"
"$root/scripts/tree.sh"
for tree in "$@"; do
	# shellcheck disable=SC2086 # a list of fragments
	"$root/scripts/kernel.sh" "$arch" "$tree" ${CONFIG:-}
done
for tree in base patched; do
	"$root/scripts/selftests.sh" "$arch" "$tree"
done
"$root/scripts/initramfs.sh" "$arch"
