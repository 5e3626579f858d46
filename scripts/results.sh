#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# results.sh [check]: makes the tables of the documents and the plots from Documentation/results/*.tsv; no figure in them is
# written by hand. With "check" nothing is written: what is not as it should be is named, with status 1.
#
#	ACCEPT  1: first takes the latest results of make bench, calls, migrate, nested and matrix (build/results) as the ones to
#		document and to compare with (make check PHASES=perf)
#
# A table stands between "<!-- results <name>[: <scenario>...] -->" and "<!-- end of results -->"; <name> is a TSV, and only the
# scenarios that are named are shown ("<word>*": all that begin so; "@density@" before them: ratios by density). Plots: <name>.svg,
# and <name>-sweep.svg of the density sweep, of which it leaves out random pages and the second flag of CLEAR.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

documents=$root/Documentation/results
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mode=${1:-}
[ -z "$mode" ] || [ "$mode" = check ] || die "usage: results.sh [check]"

# measured: the results in build/results, each with the name that it has in the documents. Of migrations only those that counted
# instructions on both kernels.
measured() {
	local tsv name
	for tsv in "$build"/results/*.tsv "$build"/results/migrate/*.tsv "$build"/results/nested/*.tsv; do
		name=${tsv##*/}
		case $tsv in
		*"*.tsv") continue ;;
		*/migrate/*)
			{ grep -qx '# metric insns' "$tsv" && ! grep -qP '\t-\t([^\t]+\t)?-$' "$tsv"; } || continue
			name=migrate-$name
			;;
		*/nested/*) name=nested-$name ;;
		esac
		echo "$tsv $name"
	done
}

# accept: not what was measured elsewhere (-here), as time or in part (calls-only); -perf is for make check to compare with
accept() {
	local tsv name now='' taken=''
	while read -r tsv name; do
		case ${name%.tsv} in *-here* | *-time* | *-only) continue ;; esac
		[ -n "$now" ] || now=$(patches_hash | cut -c 1-16)
		[ "$(sed -n 's/^# patches //p' "$tsv")" = "$now" ] ||
			die "${tsv#"$root"/} was measured with other patches than the present ones: run make bench again, or remove it"
		cp "$tsv" "$documents/$name"
		taken+=" $name"
	done < <(measured)
	[ -n "$taken" ] || die "there are no results in build/results: run make bench first"
	say ACCEPT "${taken# }"
}

# tables FILE: FILE with its tables made anew
tables() {
	local line name only end='<!-- end of results -->' inside=
	while IFS= read -r line; do
		case $line in
		"<!-- results "*" -->")
			[ -z "$inside" ] || die "${1#"$root"/}: a table begins before the one before it ends: $line"
			name=${line#<!-- results } name=${name% -->} only=
			case $name in *:*) only=${name#*:} name=${name%%:*} ;; esac
			[ -f "$documents/$name.tsv" ] || die "${1#"$root"/}: there is no Documentation/results/$name.tsv for: $line"
			printf '%s\n' "$line"
			awk -v markdown=1 -v only="$only" -f "$root/scripts/$([ "$name" = matrix ] && echo matrix || echo show).awk" "$documents/$name.tsv" ||
				die "${1#"$root"/}: this table cannot be made: $line"
			# The curves go with the table of the sweep, once there is one.
			case $only in *'sweep-*'*) [ -z "$(sweeps "$name")" ] || printf '\n![%s](results/%s-sweep.svg)\n' "$name-sweep" "$name" ;; esac
			inside=1
			;;
		"$end")
			[ -n "$inside" ] || die "${1#"$root"/}: a table ends that did not begin"
			printf '%s\n' "$line"
			inside=
			;;
		*) [ -n "$inside" ] || printf '%s\n' "$line" ;;
		esac
	done <"$1"
	[ -z "$inside" ] || die "${1#"$root"/}: the last table does not end ('$end')"
}

# stamp NAME PLOT: what a plot is made from. The drawing itself depends on the version of gnuplot.
stamp() {
	{
		cat "$documents/$1.tsv" "$root/scripts/$2.gp"
		sed -n '/^# bars NAME/,/^# plot NAME/p' "$root/scripts/results.sh"
	} | sha256sum | sed 's/^\(.\{16\}\).*/<!-- made from \1 -->/'
}

gp() { (cd "$work" && gnuplot "$@") || die "gnuplot could not draw this plot: $*"; }

# bars NAME: what is no figure of a sweep, and not the same on both kernels
bars() {
	awk -F'\t' '
		/^(#|scenario|sweep|slot)/ || $2 ~ /-(min|max)$/ || !($4 > 0 && $5 > 0) { next }
		$4 / $5 < 1.005 && $5 / $4 < 1.005 { next }
		{ x = $4 / $5; printf "\"%s\" %g \"%s×\"\n", $1, x, sprintf(x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x) }' \
		"$documents/$1.tsv" >"$work/bars"
	gp -e "in = 'bars'; out = 'plot.svg'; rows = $(wc -l <"$work/bars"); top = $(awk '$2 > m { m = $2 } END { print m + 0 }' "$work/bars"); \
		heading = '$1: $(unit "$1"), base / patched; more is better'" "$root/scripts/bars.gp"
}

unit() { [ "$(sed -n 's/^# metric //p' "$documents/$1.tsv")" = time ] && echo "wall time" || echo instructions; }

sweeps() { awk -F'\t' '/^sweep-/ { sub(/-[^-]*$/, "", $1); if (!seen[$1]++) print $1 }' "$documents/$1.tsv"; }

sweep() {
	local group groups=
	for group in $(sweeps "$1" | grep -v -e '-random$' -e '^sweep-clear1-'); do
		groups+=" ${group#sweep-}"
		awk -F'\t' -v group="$group-" '
			index($1, group) == 1 && $1 !~ /-(min|max)$/ {
				d = substr($1, length(group) + 1)
				if (d ~ /-/) next
				print d == "none" ? 3145728 : d == "one" ? 524288 : substr(d, 4), $4, $5
			}' "$documents/$1.tsv" | sort -n
		printf '\n\n'
	done >"$work/sweep"
	# The next line needs what the loop, in this shell, has put together.
	gp -e "in = 'sweep'; out = 'plot.svg'; groups = '${groups//_/ }'; columns = $(wc -w <<<"$groups" | awk '{ print $1 < 3 ? $1 : 3 }'); \
		heading = '$1: instructions of the ioctl with one dirty page in so many'" "$root/scripts/sweep.gp"
}

# plot NAME KIND OUT: draws it unless it is there, made from the same
plot() {
	local old=$documents/$3
	if [ -f "$old" ] && [ "$(tail -n 1 "$old")" = "$(stamp "$1" "$2")" ]; then
		return 0
	fi
	stale+=("$3")
	[ "$mode" != check ] || return 0
	"$root/scripts/packages.sh" plots
	if [ "$2" = bars ]; then bars "$1"; else sweep "$1"; fi
	{
		cat "$work/plot.svg"
		stamp "$1" "$2"
	} >"$old.new"
	mv "$old.new" "$old"
}

stale=()
[ "${ACCEPT:-0}" != 1 ] || accept
for file in README.md Documentation/{results,migrate,nested,matrix}.md; do
	tables "$root/$file" >"$work/document"
	if ! cmp -s "$work/document" "$root/$file"; then
		stale+=("$file")
		[ "$mode" = check ] || cp "$work/document" "$root/$file"
	fi
done
for tsv in "$documents"/*.tsv; do
	name=${tsv##*/}
	name=${name%.tsv}
	case $name in *-calls | *-perf | migrate-* | nested-* | matrix) continue ;; esac
	plot "$name" bars "$name.svg"
	[ -z "$(sweeps "$name")" ] || plot "$name" sweep "$name-sweep.svg"
done
[ ${#stale[@]} -gt 0 ] || exit 0
[ "$mode" != check ] || die "not made from Documentation/results/*.tsv: ${stale[*]}: run make results"
say RESULTS "${stale[*]}"
