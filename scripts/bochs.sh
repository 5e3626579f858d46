#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bochs.sh MODEL KERNEL INITRD APPEND: boots KERNEL under Bochs, which has what QEMU's TCG lacks: Intel VMX with EPT and,
# depending on the CPU model, page-modification logging. Prints the serial console; ends when the machine does.
#
# Its clocks count instructions: one is a nanosecond of guest time (ips, sync=none, and tsc_early_khz below).
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 4 ] || die "usage: bochs.sh MODEL KERNEL INITRD APPEND"
model=$1 kernel=$2 initrd=$3 append=$4
for tool in bochs grub-mkrescue xorriso mformat script; do
	command -v $tool >/dev/null || die "$tool is not installed: run 'scripts/packages.sh bochs'"
done
data=/usr/share/bochs

work=$(mktemp -d)
pid=
# shellcheck disable=SC2317 # called by the trap
finish() {
	# Bochs, and the pseudo-terminal around it.
	[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p "$work/iso/boot/grub"
cp "$kernel" "$work/iso/boot/kernel"
cp "$initrd" "$work/iso/boot/initrd"
# noxsave: the FPU set-up of this kernel does not get on with what Bochs says about XSAVE; clearcpuid=ht: nor does its
# topology code with a CPU that has the HT flag and one thread. tsc_early_khz: count instructions, not what CPUID claims.
# reboot=t: a triple fault ends Bochs. loglevel=6: what the kernel says must not get between the lines of a command.
cat >"$work/iso/boot/grub/grub.cfg" <<END
set timeout=0
menuentry kernel {
	linux /boot/kernel ${append/console=ttyS0/console=ttyS0,115200} noxsave clearcpuid=ht tsc_early_khz=1000000 reboot=t loglevel=6
	initrd /boot/initrd
}
END
grub-mkrescue -o "$work/boot.iso" "$work/iso" >"$work/mkrescue" 2>&1 || die "grub-mkrescue: $(tail -n 1 "$work/mkrescue")"

cat >"$work/bochsrc" <<END
config_interface: textconfig
display_library: term
memory: guest=1024, host=1024
romimage: file=$data/BIOS-bochs-latest
vgaromimage: file=$data/VGABIOS-lgpl-latest
cpu: model=$model, count=1, ips=1000000000, reset_on_triple_fault=0
clock: sync=none
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
log: $work/bochs.log
panic: action=fatal
error: action=report
info: action=ignore
debug: action=ignore
plugin_ctrl: speaker=0
END
# Debian's Bochs starts in its debugger, hence the rc file, and wants a terminal. setsid: one group to end.
echo c >"$work/rc"
: >"$work/serial"
TERM=xterm setsid script -qfc "bochs -q -f $work/bochsrc -rc $work/rc" "$work/tty" >"$work/out" 2>&1 </dev/null &
pid=$!
tail -n +1 -s 0.2 -f --pid="$pid" "$work/serial" &
wait "$pid" || true
wait
pid=
[ -s "$work/serial" ] || die "Bochs ended before the kernel began: $(tail -n 1 "$work/bochs.log" 2>/dev/null || tail -n 1 "$work/out")"
