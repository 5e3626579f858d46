#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh: boots one kernel under QEMU or Bochs, runs CMD in it, ends with CMD's status. All of it is set by variables:
#
#	ARCH    arm64 or x86			TREE    base or patched
#	CMD     shell command; empty: a shell	MODE    arm64: vhe nvhe hvhe protected nested; x86: svm, or in Bochs
#	VENDOR  intel: MODE=vmx unless set		vmx (with PML) vmx-nopml
#	SMP     CPUs (2)			MEM     memory (2G)
#	ICOUNT  1: one nanosecond of guest time is one instruction; implies SMP=1
#	TIMEOUT seconds until the run counts as hung (300)
#	APPEND  more kernel command line	CONFIG  the kernel's extra config fragments
#	OUT     a file that also gets CMD's output	CPU     more options of QEMU's CPU: lpa2=off limits arm64 to 48 bits;
#						MODE=nested+lpa2=off says the same
#
# Fails, with one line that says why, when CMD fails, and also when the kernel never starts, panics, hangs, comes up in
# another mode or logs a warning. The whole console is kept under build/logs/run.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=${ARCH:-arm64} TREE=${TREE:-patched} CMD=${CMD:-}
arch "$ARCH"
tree_dir "$TREE" >/dev/null
MODE=${MODE:-${modes%% *}}
case $MODE in *+*) CPU=${MODE#*+} MODE=${MODE%%+*} ;; esac
case " $modes " in
*" $MODE "*) ;;
*) die "unknown MODE '$MODE' for $ARCH: use one of $modes" ;;
esac
SMP=${SMP:-2}
[ "${ICOUNT:-0}" != 1 ] || SMP=1
limit=${TIMEOUT:-300}

# shellcheck disable=SC2206 # a list of fragments
fragments=(${CONFIG:-})
obj=$(obj_dir "$ARCH" "$TREE" "${fragments[@]}")
kernel=$obj/$image
initrd=$build/initramfs/$ARCH.cpio
# Not for make: kernels and archives from elsewhere; a TCG plugin with its arguments; and PROOF, what the kernel's log must say in
# place of what MODE stands for; QEMU_ARGS, more options of QEMU.
kernel=${KERNEL:-$kernel} initrd=${INITRD:-$initrd}
make_kernel="run 'make kernel ARCH=$ARCH TREE=$TREE${CONFIG:+ CONFIG=\"$CONFIG\"}' first"
[ -f "$kernel" ] || die "there is no kernel $kernel: $make_kernel"
if [ -z "${KERNEL:-}" ]; then
	now=$(kernel_stamp "$ARCH" "$TREE" "${fragments[@]}")
	[ "$(cat "$obj/.fastwalk" 2>/dev/null)" = "$now" ] || die "$kernel was not built from what is there now: $make_kernel"
fi
[ -f "$initrd" ] || die "there is no $initrd: run 'make initramfs ARCH=$ARCH' first"
bochs=$(mode_bochs "$MODE")
[ -n "$bochs" ] || command -v "$qemu" >/dev/null || die "$qemu is not installed: run 'make packages'"

[ -z "${CPU:-}" ] || machine[-1]+=,$CPU
args=("${machine[@]}" -m "${MEM:-2G}" -smp "$SMP" -display none -no-reboot -nodefaults -kernel "$kernel")
# With icount, and nothing random or of this day about the machine, a run repeats to the instruction.
[ "${ICOUNT:-0}" != 1 ] || args+=(-icount "shift=0,sleep=off" -seed 1 -rtc "base=2026-01-01,clock=vm")
# shellcheck disable=SC2206 # options
args+=(${QEMU_ARGS:-})
[ -z "${PLUGIN:-}" ] || args+=(-plugin "$PLUGIN")
append="console=$console rdinit=/init panic=-1 oops=panic printk.time=1 $(mode_args "$MODE") ${APPEND:-}"

if [ -z "$CMD" ]; then
	[ -z "$bochs" ] || die "Bochs has no console to type into: set CMD"
	exec "$qemu" "${args[@]}" -initrd "$initrd" -append "$append" -serial mon:stdio
fi

mkdir -p "$logs/run"
# The last fifty are enough. Another run may be removing some as well.
{ find "$logs/run" -name '*.log' -printf '%T@ %p\n' 2>/dev/null || true; } | sort -rn | sed -n '50,$s/^[^ ]* //p' | xargs -r -d '\n' rm -f
log=$logs/run/$ARCH-$TREE-$MODE-$(date +%H%M%S)-$$.log
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The command travels in a second archive behind the first: the kernel's command line would mangle its quotes.
# Always of one length: with icount, what it takes to read it counts.
nonce=$(printf '%08d-%05d' $$ $RANDOM)
mkdir "$work/root"
printf '%s\n' "$(mode_probe "$MODE")" "$CMD" >"$work/root/cmd"
echo "$nonce" >"$work/root/nonce"
if [ -n "$bochs" ]; then
	# Bochs reads all of the initrd through its BIOS: only what CMD names goes there.
	mkdir "$work/few"
	{ grep -oE '[A-Za-z0-9_./-]+' <<<"$CMD" || true; } | sed -E 's,^/(st(-base)?/),\1,; t; s,^,st/,' | sort -u >"$work/names"
	(
		cd "$work/few"
		mapfile -t names <"$work/names"
		cpio -id --quiet init 'bin/*' 'fw/*' "${names[@]}" <"$initrd"
		find . | cpio --quiet -o -H newc >"$work/few.cpio"
	)
	initrd=$work/few.cpio
fi
{
	cat "$initrd"
	(cd "$work/root" && printf '%s\n' cmd nonce | cpio --quiet -o -H newc)
} >"$work/initrd"

# What the kernel says begins with a time stamp. A test's output does not, even if it begins with a bracket.
kernel_line='^\[ *[0-9]+\.[0-9]+\]'

# Console lines: all into the log; between begin and end also to the user; the end mark carries CMD's status.
follow() {
	local line show=${V:-0} began=0
	while IFS= read -r line || [ -n "$line" ]; do
		line=${line%$'\r'}
		printf '%s\n' "$line" >&3
		case $line in
		"fastwalk-begin $nonce") began=1 ;;
		"fastwalk-end $nonce "*)
			began=0
			echo "${line##* }" >"$work/status"
			;;
		*)
			if [ "$began" = 1 ] && ! [[ $line =~ $kernel_line ]]; then
				printf '%s\n' "$line"
				[ -z "${OUT:-}" ] || printf '%s\n' "$line" >&4
			elif [ "$show" != 0 ]; then
				printf '%s\n' "$line"
			fi
			;;
		esac
	done
}

emulator=("$qemu" "${args[@]}" -initrd "$work/initrd" -append "$append" -serial stdio)
[ -z "$bochs" ] || emulator=("$root/scripts/bochs.sh" "$bochs" "$kernel" "$work/initrd" "$append")
rc=0
exec 3>"$log"
[ -z "${OUT:-}" ] || exec 4>"$OUT"
timeout --foreground -k 5 "$limit" "${emulator[@]}" </dev/null 2>&1 | follow || rc=${PIPESTATUS[0]}
exec 3>&-

fail() { die "$ARCH $TREE ($MODE): $1 (log: $log)" "${2:-1}"; }

# splats: what the kernel itself complained about
splats() {
	grep -aE "$kernel_line" "$log" | grep -aE \
		'WARNING: |BUG: |kernel BUG at|Oops|UBSAN: |KASAN: |possible .*(locking|deadlock)|rcu: INFO: .*stall|blocked for more than|soft lockup|hyp panic|Unhandled fault' |
		head -n 1
}

splat=$(splats || true)
if [ ! -f "$work/status" ]; then
	panic=$(grep -a -m1 'Kernel panic' "$log" || true)
	[ -z "$panic" ] || fail "the kernel panicked: ${splat:-$panic}" 3
	grep -aq 'Linux version' "$log" || fail "the kernel never started: $(tail -n 1 "$log" | cut -c 1-100)" 3
	[ "$rc" -ne 124 ] || fail "still running after $limit s, stopped; last line: $(tail -n 1 "$log" | cut -c 1-100)" 124
	fail "the machine stopped before the command ended" 3
fi
grep -aqE "${PROOF:-$(mode_proof "$MODE")}" "$log" || fail "KVM did not come up in mode $MODE" 3
[ -z "$splat" ] || fail "the kernel complained: $splat" 3
exit "$(cat "$work/status")"
