#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# migrate.sh: live migrations by a real VMM: boots the kernel, starts QEMU with KVM in it, and migrates a guest that checks its own
# memory there, half-way and back (tools/migrate/drive). Base and patched side by side; the guest's kernel is base for both.
#
#	ARCH     arm64 or x86				TREES    those to run (base patched)
#	BACKING  of the guest: 4k, thp or hugetlb (4k)	DIRTY    sparse: every sixteenth page is written in a round, or dense:
#	SMP      CPUs of host and guest (1)			 a sixteenth in one piece (sparse)
#	ICOUNT   1 (if SMP=1) or 0: times are numbers	REPEAT   boots per tree (ICOUNT=1: 1, otherwise 3); the table has
#		 of instructions, or nanoseconds			 the medians
#	GUEST_MIB memory of the guest (256), of which it	PAUSE    milliseconds between two rounds of its writes (200)
#		 writes to three quarters		ROUNDS   of QEMU, after which the guest may be stopped for as
#	RING     entries of the dirty rings (0: none)		 long as it takes (6)
#	MODE     of KVM, as for make run			TIMEOUT  seconds for one boot (1800), a third of it for one step
#	CONVERGE 1: QEMU slows the guest down when it
#		 does not get ahead (auto-converge)
#
# Results: build/results/migrate/<arch>-<backing>-<dirty>[-ring][-converge][-smp<n>].tsv (figure unit base patched ratio), and a
# table. `make results ACCEPT=1` takes those of instructions and both kernels into the documents.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=${ARCH:-arm64} TREES=${TREES:-base patched} BACKING=${BACKING:-4k} DIRTY=${DIRTY:-sparse} SMP=${SMP:-1} RING=${RING:-0}
GUEST_MIB=${GUEST_MIB:-256} PAUSE=${PAUSE:-200} ROUNDS=${ROUNDS:-6} TIMEOUT=${TIMEOUT:-1800} CONVERGE=${CONVERGE:-0}
ICOUNT=${ICOUNT:-$([ "$SMP" = 1 ] && echo 1 || echo 0)}
REPEAT=${REPEAT:-$([ "$ICOUNT" = 1 ] && echo 1 || echo 3)}
arch "$ARCH"
for tree in $TREES; do
	tree_dir "$tree" >/dev/null
done
[ -z "$(mode_bochs "${MODE:-${modes%% *}}")" ] || die "no migrations in Bochs: leave out VENDOR and MODE"
for number in SMP RING REPEAT GUEST_MIB PAUSE ROUNDS TIMEOUT CONVERGE; do
	[[ ${!number} =~ ^[0-9]{1,7}$ ]] || die "$number='${!number}' is not a number"
done
[ "$REPEAT" -gt 0 ] || die "REPEAT=0 measures nothing"
[ "$GUEST_MIB" -ge 96 ] || die "GUEST_MIB=$GUEST_MIB is too little: the guest is Linux, give it 96 or more"
((SMP >= 1 && SMP <= 16)) || die "SMP=$SMP: the test kernel has 1 to 16 CPUs"
case $ICOUNT:$SMP in
0:* | 1:1) ;;
*) die "ICOUNT=$ICOUNT SMP=$SMP: instructions are counted (ICOUNT=1) on one CPU only" ;;
esac
case $BACKING in
4k) setup='echo never >/sys/kernel/mm/transparent_hugepage/enabled' memory='' ;;
thp) setup='echo madvise >/sys/kernel/mm/transparent_hugepage/enabled' memory='' ;;
# two VMMs at a time, and one that is about to end
hugetlb) setup="echo $((GUEST_MIB * 3 / 2)) >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages" memory='-mem-path /dev/hugepages' ;;
*) die "unknown BACKING '$BACKING': use 4k, thp or hugetlb" ;;
esac
case $DIRTY in
sparse) dense=0 ;;
dense) dense=1 ;;
*) die "unknown DIRTY '$DIRTY': use sparse or dense" ;;
esac

# shellcheck source=scripts/vmm.sh
. "$root/scripts/vmm.sh"

# What the emulated host runs.
case $ARCH in
arm64)
	fault_function=user_mem_abort
	options="-M virt,gic-version=3 -accel kvm,eager-split-size=2M,dirty-ring-size=$RING -cpu host"
	;;
x86)
	fault_function=kvm_tdp_page_fault
	# The test kernel has no IOAPIC of its own.
	options="-M q35 -accel kvm,kernel-irqchip=split,dirty-ring-size=$RING -cpu host -L /qemu"
	;;
esac
archive=$build/migrate/$ARCH.cpio
name=$ARCH-$BACKING-$DIRTY
[ "$RING" = 0 ] || name+=-ring
[ "$CONVERGE" = 0 ] || name+=-converge
[ "$SMP" = 1 ] || name+=-smp$SMP
results=$build/results/migrate

# pack: the archive for the emulated host
pack() {
	local stage=$build/migrate/$ARCH.stage inputs kernel cc=("${cross}gcc" -O2 -Wall -Wextra -Werror)
	kernel=$(obj_dir "$ARCH" base)
	inputs=$(
		cat "$kernel/.fastwalk"
		sha256sum "$0" "$root/scripts/vmm.sh" "$vmm/.fastwalk" "$root"/tools/migrate/* "$root/tools/guest/init" "$root/tools/guest/count_ioctl.c"
	)
	[ "$(cat "$archive.inputs" 2>/dev/null)" != "$inputs" ] || [ ! -f "$archive" ] || return 0
	rm -rf "$stage" "$archive" "$archive.inputs"
	mkdir -p "$stage/guest"
	stage_vmm "$stage/root"
	"${cc[@]}" -static -pthread -o "$stage/guest/init" "$root/tools/migrate/guest.c" || die "tools/migrate/guest.c does not build"
	"${cc[@]}" -isystem "$vmm/usr/include" -isystem "$(dirname "$vmm"/usr/include/*-linux-gnu*/asm)" -DPRELOAD -fPIC -shared \
		-o "$stage/root/qemu/count_ioctl.so" "$root/tools/guest/count_ioctl.c" || die "tools/guest/count_ioctl.c does not build"
	make_cpio "$stage/guest" "$stage/root/qemu/guest.cpio"
	install -m 755 "$root/tools/migrate/drive" "$stage/root/qemu/drive"
	make_cpio "$stage/root" "$archive.new"
	rm -rf "$stage"
	mv "$archive.new" "$archive"
	printf '%s\n' "$inputs" >"$archive.inputs"
	say INITRD "migrate/$ARCH.cpio, $(du -m "$archive" | cut -f1) MiB"
}

# measure TREE NTH: one boot
measure() {
	local out=$results/$name-$1-$2.out plugin='' cmd append="console=$console rdinit=/init panic=-1 quiet fw_dense=$dense fw_pause=$PAUSE fw_seed=$2"
	# The boot's console arguments, as the guest has the same kind of console; the kernel takes what is meant for it.
	append+=" $(mode_args "${modes%% *}")"
	say MIGRATE "$name $1, $2 of $REPEAT"
	[ "$ICOUNT" = 0 ] || plugin=$(profiler "$ARCH" "$1" "$out.functions")
	cmd="$setup; export QEMU_OPTIONS='$options $memory' GUEST_MIB=$GUEST_MIB PATTERN_MIB=$((GUEST_MIB * 3 / 4)) VCPUS=$SMP"
	cmd+=" BANDWIDTH=$((64 << 20)) ROUNDS=$ROUNDS CONVERGE=$CONVERGE LIMIT=$((TIMEOUT / 3)) APPEND='$append'; /qemu/drive"
	CMD=$cmd TREE=$1 MEM=$((GUEST_MIB * 3 + 1536))M TIMEOUT=$TIMEOUT CONFIG='' INITRD=$archive SMP=$SMP ICOUNT=$ICOUNT PLUGIN=$plugin \
		"$root/scripts/run.sh" >"$out" || die "$1: $(grep -a '^drive: error' "$out" || echo 'the boot failed') (all of it: $out)"
	# How often the host's kernel was entered because of a stage-2 fault on memory, by all of the guest's lives together.
	[ "$ICOUNT" = 0 ] || awk -v function_name="$fault_function" '$3 == function_name { print "figure faults", $2 }' "$out.functions" >>"$out"
	[ "${V:-0}" = 0 ] || cat "$out"
}

# figures TREE: "<figure> <unit> <median>" of all boots
figures() {
	cat "$results/$name-$1"-[0-9]*.out | tr -d '\r' | awk -v repeat="$REPEAT" -v time="$([ "$ICOUNT" = 1 ] && echo instructions || echo ns)" '
		function median(name, unit, list,  v, n, i, j, t) {
			n = split(list, v, " ")
			if (n != repeat) return
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
			printf "%s %s %.0f\n", name, unit, n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		$1 != "figure" { next }
		NF == 3 { one[$2] = one[$2] " " $3 }
		NF == 5 { calls[$2] = calls[$2] " " $3; total[$2] = total[$2] " " $4; longest[$2] = longest[$2] " " $5 }
		END {
			n = split("enable get clear reset disable", phase, " ")
			for (i = 1; i <= n; i++) {
				median(phase[i] "-calls", "calls", calls[phase[i]])
				median(phase[i] "-total", time, total[phase[i]])
				median(phase[i] "-longest", time, longest[phase[i]])
			}
			median("faults", "faults", one["faults"])
			n = split("there back", way, " ")
			for (i = 1; i <= n; i++) {
				median(way[i] "-rounds", "rounds", one[way[i] "-rounds"])
				median(way[i] "-downtime", "ms", one[way[i] "-downtime"])
				median(way[i] "-total", "ms", one[way[i] "-total"])
			}
		}'
}

table() {
	local tsv=$results/$name.tsv
	for tree in base patched; do
		: >"$results/$name-$tree.figures"
		[ ! -f "$results/$name-$tree-1.out" ] || figures "$tree" >"$results/$name-$tree.figures"
	done
	{
		provenance "$results/$name-${TREES%% *}-1.out" \
			"SMP=$SMP RING=$RING GUEST_MIB=$GUEST_MIB PAUSE=$PAUSE ROUNDS=$ROUNDS CONVERGE=$CONVERGE REPEAT=$REPEAT MODE=${MODE:-${modes%% *}}"
		joined
	} >"$tsv.new"
	mv "$tsv.new" "$tsv"
	grep -v '^#' "$tsv" | column -t -s $'\t'
	say RESULTS "${tsv#"$root"/}"
}

# joined: the figures of both kernels in one table
joined() {
	awk 'BEGIN { OFS = "\t"; print "figure", "unit", "base", "patched", "ratio" }
		FILENAME ~ /-base.figures$/ { base[$1] = $3 }
		FILENAME ~ /-patched.figures$/ { patched[$1] = $3 }
		!seen[$1]++ { order[++n] = $1; unit[$1] = $2 }
		END {
			for (i = 1; i <= n; i++) {
				f = order[i]
				ratio = (f in base) && (f in patched) && base[f] > 0 ? sprintf("%.3f", patched[f] / base[f]) : "-"
				print f, unit[f], (f in base) ? base[f] : "-", (f in patched) ? patched[f] : "-", ratio
			}
		}' "$results/$name-base.figures" "$results/$name-patched.figures"
}

began=$SECONDS
mkdir -p "$results" "$logs"
"$root/scripts/packages.sh" fetch build boot migrate
take_lock
"$root/scripts/fetch.sh"
"$root/scripts/tree.sh"
for tree in base $TREES; do
	CONFIG='' "$root/scripts/kernel.sh" "$ARCH" "$tree"
done
vmm_root
pack
rm -f "$results/$name"-{base,patched}* "$results/$name.tsv"
for nth in $(seq "$REPEAT"); do
	measure_trees migration "$nth"
done
table
say "" "$(elapsed $((SECONDS - began)))"
