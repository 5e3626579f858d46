# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the scripts use and set them
# vmm.sh: sourced by those that run a real VMM in the emulated host (migrate.sh, nested.sh): QEMU of a newer Debian for the guest's
# architecture, with what it needs, in an archive that is booted in place of the initramfs.
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

suite=trixie
# The firmware is found where -L says.
case $ARCH in
arm64) package=qemu-system-arm firmware='' ;;
x86) package=qemu-system-x86 firmware='seabios/bios-256k.bin qemu/linuxboot_dma.bin qemu/kvmvapic.bin' ;;
esac
vmm=$build/migrate/$debian_arch

# vmm_root: QEMU of a newer Debian for the guest's architecture, unpacked, with the libraries that it needs; the headers of the
# same kernel for count_ioctl.c; and busybox.
vmm_root() {
	local uri
	[ ! -f "$vmm/.fastwalk" ] || return 0
	have_apt || die "no apt on this system to fetch $package:$debian_arch with"
	uri=$(machine_sources | awk -v s="$codename" '$2 == s { print $1; exit }')
	[ -n "$uri" ] || die "apt knows no Debian mirror for '$codename': add one to its sources"
	need_space 500
	say FETCH "$package:$debian_arch of $suite-backports"
	rm -rf "$vmm"
	mkdir -p "$vmm"
	logged "$logs/migrate-vmm.log" mmdebstrap --arch="$debian_arch" --variant=extract --include="$package,busybox-static,linux-libc-dev" \
		--aptopt="APT::Default-Release \"$suite-backports\"" --aptopt='Acquire::Languages "none"' \
		"$suite" "$vmm" "deb $uri $suite main" "deb $uri $suite-backports main" ||
		die "could not fetch $package:$debian_arch of $suite-backports"
	echo "$package" >"$vmm/.fastwalk"
}

# closure FILE...: the shared libraries that they need, and those that these need
closure() {
	local todo=("$@") seen=' ' file lib path
	while [ ${#todo[@]} -gt 0 ]; do
		file=${todo[0]}
		todo=("${todo[@]:1}")
		while read -r lib; do
			[[ $seen != *" $lib "* ]] || continue
			seen+="$lib "
			path=$(find "$vmm/usr/lib" -maxdepth 2 -name "$lib" -print -quit)
			[ -n "$path" ] || die "$package:$debian_arch needs $lib, and it is in no package that came with it"
			echo "$path"
			todo+=("$path")
		done < <("${cross}readelf" -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	done
}

# stage_vmm DIR: busybox, /init, /lib with QEMU's libraries, and in /qemu QEMU, its firmware and the kernel of its guests: base
# for both hosts
stage_vmm() {
	local binary=$vmm/usr/bin/${qemu##*/} interpreter file
	mkdir -p "$1/bin" "$1/qemu" "$1/usr/lib"
	cp "$vmm/usr/bin/busybox" "$1/bin/"
	ln -s busybox "$1/bin/sh"
	ln -s usr/lib "$1/lib"
	ln -s usr/lib "$1/lib64"
	install -m 755 "$root/tools/guest/init" "$1/init"
	cp "$binary" "$1/qemu/qemu"
	cp "$(obj_dir "$ARCH" base)/$image" "$1/qemu/kernel"
	for file in $firmware; do
		cp "$vmm/usr/share/$file" "$1/qemu/"
	done
	closure "$binary" | while read -r file; do
		cp -L "$file" "$1/usr/lib/"
	done
	interpreter=$("${cross}readelf" -l "$binary" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
	[ -e "$1/usr/lib/${interpreter##*/}" ] || cp -L "$(find "$vmm/usr/lib" -name "${interpreter##*/}" -print -quit)" "$1/usr/lib/"
}

# make_cpio DIR FILE: all of DIR in an archive for the kernel
make_cpio() { (cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$2"; }

# provenance OUT SETTINGS: the first lines of a table: what was measured with what. OUT is the output of one of its boots.
provenance() {
	printf '# %s\n' "patches $(patches_hash | cut -c 1-16)" "arch $ARCH" "metric $([ "$ICOUNT" = 1 ] && echo insns || echo time)" \
		"date $(date -u +%F)" "host QEMU $("$qemu" --version | awk 'NR == 1 { print $4 }'), TCG$([ "$ICOUNT" = 0 ] || echo ' with icount')" \
		"vmm $(sed -n 's/^vmm QEMU emulator version //p' "$1" | tr -d '\r')" "settings $2"
}

# measure_trees WHAT [ARGUMENT...]: "measure <tree> ARGUMENT..." for each of TREES; ends if WHAT, one of them, failed
measure_trees() {
	local what=$1 tree pid pids=() rc=0
	shift
	for tree in $TREES; do
		measure "$tree" "$@" &
		pids+=($!)
		# Instructions do not depend on what else runs; times do.
		[ "$ICOUNT" = 1 ] || wait "${pids[-1]}" || die "no table: $tree failed (see above)"
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=$?
	done
	[ "$rc" -eq 0 ] || die "no table: a $what failed (see above)"
}
