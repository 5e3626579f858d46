#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# matrix.sh: runs the cells of matrix.cells on the base and on the patched kernel, and judges the difference as check-selftests.sh
# does, which runs them. What each cell came to is kept in build/results/matrix as soon as its boot has ended: the next run goes on.
#
#	ONLY    a regular expression: only the cells whose "<system>: <command>" it matches
#	BUDGET  minutes: no boot begins after that (0: no limit); what is left over is "not run"
#	BUILD   1: builds the kernels that are missing; otherwise their cells are "not run"
#	RETRY   1: also runs again what did not pass on both
#	BATCH   seconds that the tests of one boot may take together at most (900)
#
# A result is kept as long as the patches, the base, the tests and what matrix.cells says of the cell stay the same.
# Results: build/results/matrix.tsv (system command base patched result note), matrix.ktap. Fails if patched is worse than base.
# "matrix.sh list" shows the cells.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cells_file=$root/scripts/matrix.cells
kept=$build/results/matrix
BUDGET=${BUDGET:-0} BATCH=${BATCH:-900}
for number in BUDGET BATCH; do
	[[ ${!number} =~ ^[0-9]{1,6}$ ]] || die "$number='${!number}' is not a number"
done
case ${1:-} in "" | list) ;; *) die "usage: matrix.sh [list]" ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# systems: name, arch, mode, kernel command line, options of QEMU, fragments, proof. cells: system, seconds, command, known failure.
# One a line, separated by tabs; "-" for none. A line that is neither is an error, not one cell less.
awk -F'|' -v out="$work" -v archs=" $archs " '
	function wrong(why) { print FNR " " why >(out "/wrong"); bad = 1; exit 1 }
	/^#/ || /^[ \t]*$/ { next }
	{
		for (i = 1; i <= NF; i++) {
			gsub(/^[ \t]+|[ \t]+$/, "", $i)
			if ($i == "") wrong("column " i " is empty (use - for none)")
		}
	}
	$1 == "system" {
		if (NF != 8) wrong("has " NF " columns, not 8")
		if (index(archs, " " $3 " ") == 0) wrong("has the unknown architecture \"" $3 "\"")
		if ($2 in known) wrong("names the system " $2 " again")
		known[$2]
		system_name[++systems] = $2
		print $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 "\t" $7 "\t" $8 >(out "/systems")
		next
	}
	$1 == "cell" {
		if (NF != 5) wrong("has " NF " columns, not 5")
		if ($3 !~ /^[1-9][0-9]*$/) wrong("allows \"" $3 "\" seconds, which is no number")
		n = split($2, name, " ")
		for (i = 1; i <= n; i++) {
			prefix = name[i]
			all = sub(/\*$/, "", prefix)
			found = 0
			for (j = 1; j <= systems; j++)
				if (all ? index(system_name[j], prefix) == 1 : system_name[j] == prefix) {
					found = 1
					if (!seen[system_name[j], $4]++) print system_name[j] "\t" $3 "\t" $4 "\t" $5 >(out "/cells")
				}
			if (!found) wrong("is for the unknown system " name[i])
		}
		next
	}
	{ wrong("is neither a system nor a cell") }' "$cells_file" || die "scripts/matrix.cells: line $(cat "$work/wrong")"
# By system, in the order of the systems.
awk -F'\t' 'NR == FNR { order[$1] = FNR; next } { print order[$1] "\t" $0 }' "$work/systems" "$work/cells" | sort -s -n -k1,1 | cut -f2- |
	awk -F'\t' -v only="${ONLY:-.}" '$1 ": " $3 ~ only' >"$work/chosen"
[ -s "$work/chosen" ] || die "no cell of matrix.cells matches ONLY='${ONLY:-}'"
if [ "${1:-}" = list ]; then
	cat "$work/chosen"
	exit 0
fi

# of SYSTEM COLUMN: from its line; nothing for "-"
of() { awk -F'\t' -v s="$1" -v c="$2" '$1 == s && $c != "-" { print $c }' "$work/systems"; }

# key SYSTEM COMMAND: what a result is good for
key() {
	{
		cat "$work/inputs-$(of "$1" 2)"
		grep -P "^\Q$1\E\t" "$work/systems"
		awk -F'\t' -v s="$1" -v c="$2" '$1 == s && $3 == c' "$work/chosen"
	} | sha256sum | cut -c 1-32
}

# A kept result: "<base> <patched> <date>" and the line of check-selftests.sh.
result_file() { echo "$kept/cells/$(key "$1" "$2")"; }

# result B P KNOWN: what the exit statuses on base and patched come to
result() {
	case $1:$2 in
	0:0) echo same ;;
	4:4) echo skip ;;
	*:0 | *:4) if [ "$1" = 0 ]; then echo worse; else echo better; fi ;;
	0:* | 4:*) echo worse ;;
	*) if [ "$3" = - ]; then echo "fails on both"; else echo known; fi ;;
	esac
}

# missing SYSTEM: why its kernels cannot be booted; nothing if they can
missing() {
	local arch tree obj fragments now
	arch=$(of "$1" 2) fragments=$(of "$1" 6)
	for tree in base patched; do
		# shellcheck disable=SC2086 # a list of fragments
		obj=$(obj_dir "$arch" "$tree" $fragments)
		# shellcheck disable=SC2086
		now=$(kernel_stamp "$arch" "$tree" $fragments)
		[ -n "${KERNEL:-}" ] || [ "$(cat "$obj/.fastwalk" 2>/dev/null)" = "$now" ] ||
			echo "no $tree kernel for $arch${fragments:+ with $fragments} (BUILD=1 makes it)"
	done | sed -n 1p
}

# pending SYSTEM: its cells without a result, or with RETRY=1 with one that is not the best
pending() {
	local seconds command known file b p
	while IFS=$'\t' read -r _ seconds command known; do
		file=$(result_file "$1" "$command")
		if [ -f "$file" ]; then
			[ "${RETRY:-0}" = 1 ] || continue
			read -r b p _ <"$file"
			case $(result "$b" "$p" -) in same | skip) continue ;; esac
		fi
		printf '%s\t%s\t%s\n' "$seconds" "$command" "$known"
	done < <(awk -F'\t' -v s="$1" '$1 == s' "$work/chosen")
}

# run_batch SYSTEM: the cells of standard input, in one boot of each kernel; keeps what they came to
run_batch() {
	local system=$1 arch mode args options fragments proof lines="$work/lines" seconds command known b p line
	arch=$(of "$1" 2) mode=$(of "$1" 3) args=$(of "$1" 4) options=$(of "$1" 5) fragments=$(of "$1" 6) proof=$(of "$1" 7)
	cat >"$work/batch"
	awk -F'\t' -v arch="$arch" -v mode="$mode" '{ print arch " | " mode " | " $1 " | " $2 ($3 == "-" ? "" : " | " $3) }' "$work/batch" >"$work/list"
	say MATRIX "$system: $(wc -l <"$work/batch") cells, $(elapsed $((SECONDS - began)))"
	# shellcheck disable=SC2086 # a list of fragments
	LIST=$work/list NAME=matrix/$system ST=/st ARGS=$args QEMU_ARGS=$options PROOF=$proof AGAIN=1 TREES='' MODES='' SLOW='' \
		"$root/scripts/check-selftests.sh" "$arch" $fragments >"$lines" 2>"$lines.err" || die "$system: $(tail -n 1 "$lines.err")"
	while IFS=$'\t' read -r seconds command known; do
		IFS=$'\t' read -r b p < <(awk -F'\t' -v c="$command" '$2 == c { print $3 "\t" $4 }' "$kept/$system/statuses" | tail -n 1) || true
		line=$(grep -F ok "$lines" | grep -F -- "- $arch $mode: $command" | grep -vF -- "$command " | tail -n 1 || true)
		[ -n "$line" ] || line=$(grep -F -- "- $arch $mode: $command " "$lines" | tail -n 1 || true)
		printf '%s %s %s\n%s\n' "${b:--}" "${p:--}" "$(date -u +%F)" "$line" >"$work/result"
		mv "$work/result" "$(result_file "$system" "$command")"
		b='' p=''
	done <"$work/batch"
	awk '/^not ok/ { sub(/^/, "          "); print }' "$lines"
}

# batch: as many of the first lines of standard input as may be in one boot
batch() { awk -F'\t' -v most="$BATCH" '{ sum += $1 } NR == 1 || sum <= most { print; next } { exit }'; }

run_system() {
	local todo why
	why=$(missing "$1")
	if [ -n "$why" ] && [ "${BUILD:-0}" = 1 ]; then
		CONFIG=$(of "$1" 6) MODE=$(of "$1" 3) "$root/scripts/build.sh" "$(of "$1" 2)" base patched
		why=
	fi
	[ -z "$why" ] || return 0
	# The short ones first, as the time may be over.
	todo=$(pending "$1" | sort -s -n -k1,1)
	while [ -n "$todo" ] && ! over; do
		batch <<<"$todo" >"$work/now"
		run_batch "$1" <"$work/now"
		todo=$(tail -n "+$(($(wc -l <"$work/now") + 1))" <<<"$todo")
	done
}

over() { [ "$BUDGET" -gt 0 ] && [ $((SECONDS - began)) -ge $((BUDGET * 60)) ]; }

# status_text STATUS
status_text() {
	case $1 in
	0) echo pass ;;
	4) echo skip ;;
	124 | 137) echo "time limit" ;;
	-) echo "no result" ;;
	*) echo "fails ($1)" ;;
	esac
}

# rows: the table
rows() {
	local system seconds command known file b p what why='' last=
	printf 'system\tcommand\tbase\tpatched\tresult\tnote\n'
	while IFS=$'\t' read -r system seconds command known <&3; do
		file=$(result_file "$system" "$command")
		if [ ! -f "$file" ]; then
			[ "$system" = "$last" ] || why=$(missing "$system")
			last=$system
			printf '%s\t%s\t-\t-\tnot run\t%s\n' "$system" "$command" "${why:-the time was over}"
			continue
		fi
		read -r b p _ <"$file"
		what=$(result "$b" "$p" "$known")
		case $what in known) why=$known ;; *) why=- ;; esac
		printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$system" "$command" "$(status_text "$b")" "$(status_text "$p")" "$what" "$why"
		why='' last=
	done 3<"$work/chosen"
}

began=$SECONDS
mkdir -p "$kept/cells" "$logs"
take_lock
mapfile -t needed < <(cut -f1 "$work/chosen" | sort -u | while read -r system; do of "$system" 2; done | sort -u)
for arch in "${needed[@]}"; do
	CONFIG='' MODE='' VENDOR='' "$root/scripts/build.sh" "$arch" base patched
	{
		patches_hash
		cat "$build/initramfs/$arch.cpio.inputs" 2>/dev/null || true
		kernel_config "$arch"
	} >"$work/inputs-$arch"
done
for system in $(cut -f1 "$work/chosen" | uniq); do
	over || run_system "$system"
done

tsv=$build/results/matrix${ONLY:+-only}.tsv
{
	printf '# %s\n' "patches $(patches_hash | cut -c 1-16)" "date $(date -u +%F)" \
		"host QEMU $(qemu-system-x86_64 --version | awk 'NR == 1 { print $4 }'), TCG, 2 CPUs, 3 GiB" "tests those of the patched tree on both kernels"
	rows
} >"$tsv.new"
mv "$tsv.new" "$tsv"
awk -F'\t' 'BEGIN { print "KTAP version 1" }
	/^#/ || $1 == "system" { next }
	{
		name = $1 ": " $2
		if ($5 == "same" || $5 == "better") line[++n] = "ok " n " - " name
		else if ($5 == "skip") line[++n] = "ok " n " - " name " # SKIP the test skips itself on both kernels"
		else if ($5 == "known") line[++n] = "ok " n " - " name " # SKIP base " $3 ", patched " $4 ": " $6
		else if ($5 == "not run") line[++n] = "ok " n " - " name " # SKIP not run: " $6
		else line[++n] = "not ok " n " - " name " (base: " $3 ", patched: " $4 ")"
	}
	END { print "1.." n; for (i = 1; i <= n; i++) print line[i] }' "$tsv" >"${tsv%.tsv}.ktap"
awk -f "$root/scripts/matrix.awk" "$tsv"
say RESULTS "${tsv#"$root"/} ($(elapsed $((SECONDS - began))))"
worse=$(awk -F'\t' '$5 == "worse" { print $1 ": " $2 }' "$tsv")
[ -z "$worse" ] || die "patched is worse than base: ${worse//$'\n'/, }"
