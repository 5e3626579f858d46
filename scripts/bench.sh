#!/bin/bash
# bench.sh: runs the scenarios of bench.scenarios on the base and on the patched kernel and sets them side by side.
#
#	ARCH    arm64 or x86			BENCH   quick or full
#	VENDOR  intel: the scenarios for Intel VMX, in Bochs (x86)
#	METRIC  insns: instructions of the measuring thread under QEMU's TCG with icount (exact, repeatable)
#		time: wall time, REPEAT times each, median and spread
#	HERE    base or patched: measure time on the running kernel (real hardware, /dev/kvm), keep it under that name,
#		and print the table once both have been measured
#
# Results: build/results/<arch>[-<vendor>].tsv (scenario metric unit base patched ratio), a table and a plot beside it.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

ARCH=${ARCH:-arm64} BENCH=${BENCH:-quick} METRIC=${METRIC:-insns}
[ -z "${HERE:-}" ] || METRIC="time"
arch "$ARCH"
case $BENCH in quick | full) ;; *) die "unknown BENCH '$BENCH': use quick or full" ;; esac
case $METRIC in insns | time) ;; *) die "unknown METRIC '$METRIC': use insns or time" ;; esac
name=$ARCH${VENDOR:+-$VENDOR}
bochs=$(mode_bochs "${modes%% *}")
emulator="TCG with icount"
if [ -n "$bochs" ]; then
	[ "$METRIC" = insns ] || die "METRIC=$METRIC says nothing in Bochs: use insns"
	BENCH=$VENDOR emulator="Bochs ($bochs)"
fi
repeat=1
[ "$METRIC" = insns ] || repeat=${REPEAT:-5}
results=$build/results
began=$SECONDS

# scenarios: those of ARCH and BENCH, as scenario<TAB>mode<TAB>phase nth<TAB>command<TAB>published
scenarios() {
	awk -F'|' -v arch="$ARCH" -v bench="$BENCH" -v options="$bench_options" -v mode="${modes%% *}" '
		/^#/ || NF < 7 { next }
		{
			for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i)
			if ($3 != "both" && $3 != arch) next
			if ($2 != bench && ($2 != "quick" || bench != "full")) next
			if ($4 == "-") $4 = mode
			gsub(/ *@arch@/, options, $6)
			published = "-"
			n = split($7, p, " ")
			for (i = 1; i <= n; i++) if (index(p[i], arch "=") == 1) published = substr(p[i], length(arch) + 2)
			print $1 "\t" $4 "\t" $5 "\t" $6 "\t" published
		}' "$root/scripts/bench.scenarios"
}

# guest_script MODE DIR TOOLS: runs each distinct command of MODE and prints its output behind "run <command>". Tests
# are in DIR; "figures" and what it may be followed by are in TOOLS and DIR.
guest_script() {
	echo 'echo 64 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages'
	[ "$METRIC" = time ] || echo 'export COUNT_ALONE=1'
	scenarios | awk -F'\t' -v mode="$1" -v dir="$2" -v tools="$3" -v repeat="$repeat" '
		$2 == mode && !seen[$4]++ {
			command = dir "/" $4
			if (sub(/^figures /, "", $4)) command = tools "/figures " dir "/" $4
			for (i = 0; i < repeat; i++)
				printf "echo \"run %s\"; %s 2>&1; echo \"status $?\"\n", $4, command
		}'
}

# check_counts LABEL: a command that failed or printed nothing must not pass for a result.
check_counts() {
	local bad
	bad=$(awk '/^run / { run = $0 } /^status / && $2 != 0 { print run ": exit status " $2; exit }' "$1")
	[ -z "$bad" ] || die "$2: ${bad#run } (see $1)"
}

# measure_qemu TREE MODE: one boot.
measure_qemu() {
	local icount=0
	[ "$METRIC" = time ] || icount=1
	# 1 GiB pages cannot be made later, and cost nothing where they are not used.
	[ "$BENCH" != full ] || extra="hugepagesz=1G hugepages=2"
	CMD=$(guest_script "$2" /st /fw) TREE=$1 MODE=$2 CPU='' ICOUNT=$icount SMP=2 MEM=$([ "$BENCH" = full ] && echo 6G || echo 2G) \
		APPEND="${extra:-}" TIMEOUT=$((repeat * 900)) OUT=$results/$name-$1-$2.raw \
		CONFIG='' "$root/scripts/run.sh" >/dev/null
}

# progress: the last command that each boot has begun.
progress() {
	local tree raw
	for tree in base patched; do
		for raw in "$results/$name-$tree"-*.raw; do
			[ ! -f "$raw" ] || printf '          %s  %-8s%s of %s: %s\n' "$(elapsed $((SECONDS - began)))" "$tree" \
				"$(grep -ac '^run ' "$raw" || true)" "$commands" "$(grep -a '^run ' "$raw" | tail -n 1 | cut -c 5-90)"
		done
	done
}

measure_all_qemu() {
	local mode pids pid ticks commands
	commands=$(($(scenarios | cut -f4 | sort -u | wc -l) * repeat))
	rm -f "$results/$name"-*.raw
	for mode in $(scenarios | cut -f2 | sort -u); do
		say BENCH "$ARCH $mode: base and patched, $METRIC"
		pids=()
		for tree in base patched; do
			measure_qemu "$tree" "$mode" &
			pids+=($!)
			# Instructions do not depend on what else runs; times do.
			[ "$METRIC" = insns ] || wait "${pids[-1]}" || die "the $tree run failed"
		done
		ticks=0
		while kill -0 "${pids[@]}" 2>/dev/null; do
			sleep 1
			ticks=$((ticks + 1))
			[ $((ticks % 15)) -ne 0 ] || progress
		done
		for pid in "${pids[@]}"; do
			wait "$pid" || die "a run failed: no table (its message is above)"
		done
	done
	for tree in base patched; do
		cat "$results/$name-$tree"-*.raw >"$results/$name-$tree.counts"
		check_counts "$results/$name-$tree.counts" "$tree"
	done
}

# table: from both counts files to the TSV, the table and the plot.
table() {
	local tsv=$results/$name.tsv
	scenarios | awk -F'\t' -v metric="$METRIC" -v base="$results/$name-base.counts" -v patched="$results/$name-patched.counts" \
		-v text="$results/$name.txt" '
		function load(file, values, n,    line, run, words, f, k) {
			while ((getline line < file) > 0) {
				if (line ~ /^run /) { run = substr(line, 5); continue }
				words = split(line, f, " ")
				if (words < 5 || words > 6 || f[1] != "count") continue
				k = run SUBSEP f[2] " " f[3]
				if (words == 6) own_unit[k] = f[6]
				values[k, ++n[k]] = metric == "insns" ? f[4] : f[5]
			}
		}
		function sorted(values, n, k,    i, j, t) {
			for (i = 2; i <= n[k]; i++)
				for (j = i; j > 1 && values[k, j] + 0 < values[k, j - 1] + 0; j--) {
					t = values[k, j]; values[k, j] = values[k, j - 1]; values[k, j - 1] = t
				}
		}
		BEGIN {
			load(base, b, nb)
			load(patched, p, np)
			unit = metric == "insns" ? "instructions" : "ns"
			print "scenario\tmetric\tunit\tbase\tpatched\tratio"
			printf "%-22s %14s %14s %7s %10s\n", "scenario", "base", "patched", "ratio", "published" > text
		}
		{
			sub(/^figures /, "", $4)
			k = $4 SUBSEP $3
			if (!nb[k] || !np[k]) { print "no figure for " $1 " (" $3 ")" > "/dev/stderr"; bad = 1; next }
			sorted(b, nb, k)
			sorted(p, np, k)
			x = b[k, int((nb[k] + 1) / 2)]
			y = p[k, int((np[k] + 1) / 2)]
			printf "%s\t%s\t%s\t%.0f\t%.0f\t%.4f\n", $1, metric, k in own_unit ? own_unit[k] : unit, x, y, y / x
			spread = k in own_unit ? "  " own_unit[k] : ""
			if (metric == "time" && !(k in own_unit)) {
				printf "%s\ttime-min\tns\t%.0f\t%.0f\t%.4f\n", $1, b[k, 1], p[k, 1], p[k, 1] / b[k, 1]
				printf "%s\ttime-max\tns\t%.0f\t%.0f\t%.4f\n", $1, b[k, nb[k]], p[k, np[k]], p[k, np[k]] / b[k, nb[k]]
				spread = sprintf("  spread %.0f %% / %.0f %%", 100 * (b[k, nb[k]] - b[k, 1]) / x, 100 * (p[k, np[k]] - p[k, 1]) / y)
			}
			printf "%-22s %14.0f %14.0f %7" (y / x < 0.0095 ? ".5" : ".3") "f %10s%s\n", $1, x, y, y / x, $5, spread > text
		}
		END { exit bad }' >"$tsv.new" || die "the results are incomplete (raw output: $results/$name-*.counts)"
	mv "$tsv.new" "$tsv"
	plot "$tsv"
	echo
	if [ "$METRIC" = insns ]; then
		echo "$name, instructions of the calling thread (where no other unit is given), under $emulator; published: ratio of hardware time"
	else
		echo "$ARCH, wall time in ns, median of $repeat; published: ratio of hardware time"
	fi
	cat "$results/$name.txt"
	echo
	say RESULTS "${tsv#"$root"/} $name.txt $name.svg ($(elapsed $((SECONDS - began))))"
}

plot() {
	command -v gnuplot >/dev/null || return 0
	# From its folder: the plot must not carry the machine's paths.
	(cd "$results" && gnuplot) <<-EOF || warn "gnuplot could not draw $results/$name.svg"
		set terminal svg size 900,420 dynamic background "white"
		set output "$name.svg"
		set title "fastwalk, $name: patched / base ($METRIC); less is better"
		set style fill solid 0.8
		set boxwidth 0.7
		set yrange [0:1.2]
		set grid ytics
		set xtics rotate by -40
		set key off
		plot "< awk -F'\\\\t' '\$2 == \"$METRIC\"' ${1##*/}" using 0:6:xtic(1) with boxes, 1 with lines lc rgb "black"
	EOF
}

# measure_here: the running kernel, on this machine; HERE names it.
measure_here() {
	tree_dir "$HERE" >/dev/null
	[ -w /dev/kvm ] || die "no access to /dev/kvm: HERE= measures the running kernel on real hardware"
	"$root/scripts/selftests.sh" "$ARCH" patched
	say BENCH "$ARCH, here, as $HERE: $(uname -r)"
	guest_script "${modes%% *}" "$build/st/$ARCH-patched" "$root/tools/guest" | grep '^echo "run' | bash >"$results/$name-$HERE.counts.new"
	check_counts "$results/$name-$HERE.counts.new" "$HERE"
	mv "$results/$name-$HERE.counts.new" "$results/$name-$HERE.counts"
}

if [ "${1:-}" = list ]; then
	scenarios | awk -F'\t' '{ printf "%-20s %-8s %-10s %s\n", $1, $2, $3, $4 }'
	exit 0
fi

mkdir -p "$results"
"$root/scripts/packages.sh" fetch build boot bench ${bochs:+bochs}
take_lock
"$root/scripts/fetch.sh"
"$root/scripts/tree.sh"
if [ -n "${HERE:-}" ]; then
	measure_here
	if [ ! -f "$results/$name-base.counts" ] || [ ! -f "$results/$name-patched.counts" ]; then
		say "" "measured $HERE; boot the other kernel and run this again with its name to get the table"
		exit 0
	fi
else
	for tree in base patched; do
		CONFIG='' "$root/scripts/kernel.sh" "$ARCH" "$tree"
		"$root/scripts/selftests.sh" "$ARCH" "$tree"
	done
	"$root/scripts/initramfs.sh" "$ARCH"
	measure_all_qemu
fi
table
