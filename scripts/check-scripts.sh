#!/bin/bash
# check-scripts.sh: tests of our own scripts, in a small copy of the project with a toy kernel tree and a stand-in QEMU.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

toy=$(mktemp -d)
trap 'rm -rf "$toy"' EXIT
unset FASTWALK_LOCKED VENDOR KDIR FORCE CMD MODE ICOUNT SMP MEM TIMEOUT APPEND CONFIG OUT ARCH TREE BENCH METRIC HERE V PHASES TREES MODES SLOW
export GIT_AUTHOR_NAME=toy GIT_AUTHOR_EMAIL=toy@localhost GIT_COMMITTER_NAME=toy GIT_COMMITTER_EMAIL=toy@localhost

# A kernel tree of three files, and two topics of patches for it.
cp -r "$root/scripts" "$root/arch" "$root/tools" "$toy/"
mkdir -p "$toy/linux/virt/kvm" "$toy/bin" "$toy/patches"
printf 'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n' >"$toy/linux/Makefile"
seq 1 40 >"$toy/linux/virt/kvm/kvm_main.c"
(
	cd "$toy/linux"
	git init -q
	git add -A
	git commit -q -m toy
	for n in 1 2 3; do
		sed -i "s/^${n}0\$/${n}0 walked/" virt/kvm/kvm_main.c
		git commit -qa -m "KVM: change number $n"
	done
	for n in 1 2 3; do
		topic=0$(((n + 1) / 2))-topic
		mkdir -p "$toy/patches/$topic"
		echo cover >"$toy/patches/$topic/cover-letter"
		git format-patch -q -1 -N --zero-commit --no-signature --full-index -o "$toy/patches/$topic" "HEAD~$((3 - n))"
	done
	git reset -q --hard HEAD~3
)
mv "$toy/patches/01-topic/0001-KVM-change-number-2.patch" "$toy/patches/01-topic/0002-KVM-change-number-2.patch"
cp -r "$toy/patches" "$toy/patches.orig"

# expect NAME STATUS TEXT CMD...: CMD must end with STATUS and print TEXT (a regular expression) on its last line, or
# nothing at all where TEXT is empty.
expect() {
	local name=$1 status=$2 text=$3 rc=0
	shift 3
	"$@" >"$toy/out" 2>&1 || rc=$?
	if [ "$rc" -ne "$status" ]; then
		echo "not ok - $name: status $rc, not $status: $(tail -n 1 "$toy/out")"
	elif [ -z "$text" ] && [ -s "$toy/out" ]; then
		echo "not ok - $name: prints something: $(tail -n 1 "$toy/out")"
	elif [ -n "$text" ] && ! tail -n 1 "$toy/out" | grep -qE "$text"; then
		echo "not ok - $name: last line is not /$text/: $(tail -n 1 "$toy/out")"
	else
		echo "ok - $name"
	fi
}

same() { diff -r "$toy/patches" "$toy/patches.orig" && echo "same patches"; }
s=$toy/scripts

# Trees.
expect "tree: KDIR that is no kernel" 1 'is not a kernel tree' env KDIR="$toy/bin" "$s/tree.sh"
export KDIR=$toy/linux
expect "tree: applies all patches" 0 'APPLY +3 patches' "$s/tree.sh"
expect "tree: KDIR is left alone" 0 '' git -C "$toy/linux" diff --exit-code
expect "refresh: writes three patches" 0 'REFRESH +3 patches' "$s/refresh.sh"
expect "refresh: byte for byte the same" 0 'same patches' same
expect "tree: nothing to do the second time" 0 '' "$s/tree.sh"
edit() { (cd "$toy/build/linux" && sed -i 's/^35$/35 more/' virt/kvm/kvm_main.c && git commit -qa -m 'KVM: one more'); }
expect "tree: a new commit" 0 '' edit
echo >>"$toy/patches/01-topic/0001-KVM-change-number-1.patch"
expect "tree: does not lose a commit that is not refreshed" 1 'commits that patches/ does not' "$s/tree.sh"
expect "refresh: does not undo a change of patches/" 1 'patches/ has changed' "$s/refresh.sh"
expect "tree: FORCE=1 throws it away" 0 'APPLY +3 patches' env FORCE=1 "$s/tree.sh"
expect "tree: a new commit again" 0 '' edit
expect "refresh: a new commit joins its parent's topic" 0 'REFRESH +4 patches' "$s/refresh.sh"
expect "refresh: in the right place" 0 '0002-KVM-one-more.patch' ls "$toy/patches/02-topic/0002-KVM-one-more.patch"
sed -i 's/^-20$/-2000/' "$toy/patches/01-topic/0002-KVM-change-number-2.patch"
expect "tree: a patch that does not fit is named" 1 '01-topic/0002-KVM-change-number-2.patch does not apply' "$s/tree.sh"
rm -rf "$toy/patches"
cp -r "$toy/patches.orig" "$toy/patches"
expect "tree: recovers from it" 0 'APPLY +3 patches' "$s/tree.sh"
expect "kernel: unknown ARCH" 1 "unknown ARCH 'mips'" "$s/kernel.sh" mips base
expect "kernel: unknown TREE" 1 "unknown TREE 'foo'" "$s/kernel.sh" arm64 foo
expect "kernel: unknown fragment" 1 'no config fragment' "$s/kernel.sh" arm64 base nonesuch
expect "bench: unknown BENCH" 1 "unknown BENCH 'slow'" env BENCH=slow "$s/bench.sh"
expect "bench: unknown METRIC" 1 "unknown METRIC 'cycles'" env METRIC=cycles "$s/bench.sh"
expect "calls: no such scenario" 1 "no scenario of calls.scenarios has a name that matches ONLY='nonesuch'" env ONLY=nonesuch "$s/calls.sh"

expect "check: unknown phase" 1 "unknown phase 'nonesuch'" env PHASES="lint nonesuch" "$s/check.sh"
expect "check: no fragment for another kernel" 1 'PHASES=config needs CONFIG=' env PHASES=config "$s/check.sh"
expect "selftests: a mode without tests" 1 "no tests for x86 in mode 'warp'" env MODES=warp "$s/check-selftests.sh" x86
expect "selftests: SLOW that is no number" 1 "SLOW='very' is not a number" env SLOW=very "$s/check-selftests.sh" x86
expect "selftests: nothing to judge" 1 "TREES='base' leaves nothing to judge" env TREES=base "$s/check-selftests.sh" x86
expect "selftests: unknown TREES" 1 "unknown TREE 'foo'" env TREES=foo "$s/check-selftests.sh" x86

expect "bench: unknown VENDOR" 1 "unknown VENDOR 'acme': use amd or intel" env ARCH=x86 VENDOR=acme "$s/bench.sh"
expect "bench: VENDOR without x86" 1 'VENDOR=intel is for ARCH=x86' env VENDOR=intel "$s/bench.sh"
expect "bench: no times from Bochs" 1 'METRIC=time says nothing in Bochs' env ARCH=x86 VENDOR=intel METRIC=time "$s/bench.sh"

# Two at once, a full disk, no network, no apt.
mkdir -p "$toy/build"
expect "lock: the second run says so" 1 'another run is working in .* \(pid 1234\)' \
	flock "$toy/build/.lock" bash -c "echo 1234 >'$toy/build/.lock'; exec '$s/tree.sh'"
printf '#!/bin/sh\necho header\necho "x 1 1 5 1 /"\n' >"$toy/bin/df"
chmod +x "$toy/bin/df"
rm -rf "$toy/build/linux-base"
expect "tree: a full disk" 1 'has 5 MiB free and this step needs' env PATH="$toy/bin:$PATH" "$s/tree.sh"
rm "$toy/bin/df"
printf '#!/bin/sh\ncase "$*" in *indextargets*) exec /usr/bin/apt-get "$@";; esac\necho no route; exit 100\n' >"$toy/bin/apt-get"
chmod +x "$toy/bin/apt-get"
expect "fetch: no network" 1 'no package index could be fetched' env -u KDIR PATH="$toy/bin:$PATH" "$s/fetch.sh"
rm "$toy/bin/apt-get"
for tool in bash dirname env cat awk grep sort xargs tail printf id mkdir sed head tr; do
	ln -s "$(command -v $tool)" "$toy/bin/"
done
echo 'build /nonesuch nonesuch-package' >>"$s/packages.list"
expect "packages: no apt" 1 'no apt on this system' env PATH="$toy/bin" "$s/packages.sh" build
expect "packages: names what is missing" 0 nonesuch-package sh -c "PATH='$toy/bin' '$s/packages.sh' build 2>&1 | head -n 1"

printf '#!/bin/sh\necho QEMU emulator version 7.2.0\n' >"$toy/bin/qemu-system-old"
chmod +x "$toy/bin/qemu-system-old"
echo "old $toy/bin/qemu-system-old qemu-from-backports/backports" >>"$s/packages.list"
expect "packages: QEMU too old" 0 qemu-from-backports sh -c "PATH='$toy/bin' '$s/packages.sh' old 2>&1 | head -n 1"

# A stand-in QEMU: prints $CONSOLE, with @N@ replaced by the nonce of the run.
cat >"$toy/bin/qemu-system-aarch64" <<-'EOF'
	#!/bin/bash
	while [ "$1" != -initrd ]; do shift; done
	nonce=$(tr '\0' '\n' <"$2" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)
	printf "${CONSOLE//@N@/$nonce}"
	exec sleep "${LINGER:-0}"
EOF
chmod +x "$toy/bin/qemu-system-aarch64"
touch "$toy/kernel" "$toy/initrd"
boot="[    0.1] Linux version 7.3\n[    0.2] kvm [1]: VHE mode initialized successfully\n"
run() { env PATH="$toy/bin:$PATH" KERNEL="$toy/kernel" INITRD="$toy/initrd" CMD=true CONSOLE="$1" TIMEOUT=5 "${@:2}" "$s/run.sh"; }
good="${boot}fastwalk-begin @N@\nhello\nfastwalk-end @N@ 0\n"
expect "run: unknown ARCH" 1 "unknown ARCH 'mips'" run "$good" ARCH=mips
expect "run: unknown TREE" 1 "unknown TREE 'foo'" run "$good" TREE=foo
expect "run: unknown MODE" 1 "unknown MODE 'warp' for arm64: use one of" run "$good" MODE=warp
expect "run: no kernel" 1 'there is no kernel .*: run .make kernel' run "$good" KERNEL="$toy/nonesuch"
expect "run: success, and only the command's output" 0 '^hello$' run "$good"
expect "run: ends with the command's status" 7 '^hello$' run "${good/@N@ 0/@N@ 7}"
expect "run: a warning fails a good command" 3 'the kernel complained: .*WARNING: at' run "[    0.3] WARNING: at mmu.c:1\n$good"
expect "run: a test that prints WARNING: does not" 0 'WARNING: slow' run "${good/hello/WARNING: slow}"
expect "run: a lockdep splat" 3 'the kernel complained: .*circular locking' run "[    0.3] WARNING: possible circular locking dependency\n$good"
expect "run: a panic" 3 'the kernel panicked: .*not syncing' run "${boot}[    0.4] Kernel panic - not syncing: x\n"
expect "run: an oops" 3 'the kernel panicked: .*Oops' run "${boot}[    0.3] Internal error: Oops: 1\n[    0.4] Kernel panic - not syncing: Oops: Fatal\n"
expect "run: never starts" 3 'the kernel never started' run "EFI stub error\n"
expect "run: stops early" 3 'stopped before the command ended' run "${boot}fastwalk-begin @N@\n"
expect "run: hangs" 124 'still running after 1 s' run "${boot}fastwalk-begin @N@\n" TIMEOUT=1 LINGER=20
# Ctrl-C reaches the process group; nothing may be left running.
interrupt() {
	CONSOLE=$boot LINGER=54321 CMD=true KERNEL=$toy/kernel INITRD=$toy/initrd PATH=$toy/bin:$PATH TIMEOUT=60 \
		setsid env --default-signal=INT "$s/run.sh" &
	sleep 2
	kill -INT -- "-$!"
	wait "$!" || true
	sleep 0.5
	! pgrep -f 'sleep 54321'
}
expect "run: Ctrl-C leaves nothing running" 0 'interrupted: run the same command again' interrupt
expect "run: another mode than asked for" 3 'did not come up in mode nested' run "$good" MODE=nested
# A stand-in Bochs, which gets the same console.
cat >"$s/bochs.sh" <<-'EOF'
	#!/bin/bash
	echo "[    0.0] $1"
	printf "${CONSOLE//@N@/$(tr '\0' '\n' <"$3" | grep -aE '^[0-9]+-[0-9]+$' | tail -n 1)}"
EOF
(mkdir "$toy/root" && cd "$toy/root" && touch init && echo init | cpio --quiet -o -H newc >"$toy/initrd.cpio")
bochs() { run "$1" ARCH=x86 VENDOR=intel INITRD="$toy/initrd.cpio" "${@:2}"; }
pml="[    0.1] Linux version 7.3\n[    0.2] kvm_intel: /ept:Y /pml:Y kvm/tdp_mmu:Y\nfastwalk-begin @N@\nhello\nfastwalk-end @N@ 5\n"
expect "run: Bochs, with the command's status" 5 '^hello$' bochs "$pml"
expect "run: Bochs, with PML off where it should be on" 3 'did not come up in mode vmx \(log' bochs "${pml/pml:Y/pml:N}"
expect "run: Bochs, with PML on where it should be off" 3 'did not come up in mode vmx-nopml' bochs "$pml" MODE=vmx-nopml
expect "run: Bochs has no shell" 1 'Bochs has no console to type into' bochs "$pml" CMD=
expect "run: a forged end mark" 3 'stopped before the command ended' run "${boot}fastwalk-end 1-1 0\n"
