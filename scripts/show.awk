# SPDX-License-Identifier: GPL-2.0
# show.awk: a filter from a TSV of results, of make bench or make calls, to a table for people.
#
#	markdown	1: a Markdown table, else aligned text
#	only		names of scenarios, separated by blanks, that are shown, in that order; all if empty; "word*": all that begin with
#			word, which may be none. If the first one is @density@: of each sweep that the others match, a line of ratios, one
#			for each density
#
# A name in "only" that has no row is an error.

function commas(n,    s) {
	s = ""
	while (length(n) > 3 && n ~ /^[0-9]+$/) {
		s = "," substr(n, length(n) - 2) s
		n = substr(n, 1, length(n) - 3)
	}
	return n s
}

# Three places, or as many as it takes to show two digits.
function ratio(x, y,    r, places) {
	if (!(x + 0)) return y + 0 ? "inf" : "1.000"
	r = y / x
	for (places = 3; places < 9 && r > 0 && r < 0.95 * 10 ^ (1 - places); places += 2) ;
	return sprintf("%." places "f", r)
}

BEGIN { FS = "\t" }
/^#/ { next }
!columns {
	calls = $2 == "figure"
	for (columns = 1; columns <= NF; columns++) column[$columns] = columns
	next
}
!calls && $column["metric"] ~ /-(min|max)$/ {
	extreme[$1, $column["metric"]] = $column["base"] " " $column["patched"]
	next
}
{
	n++
	name[n] = $1
	base[n] = $column["base"]
	patched[n] = $column["patched"]
	unit[n] = calls ? $column["figure"] : $column["unit"]
	published[n] = calls ? $column["target"] : $column["published"]
}

function spread(i,    lo, hi) {
	if (!((name[i], "time-min") in extreme)) return ""
	split(extreme[name[i], "time-min"], lo, " ")
	split(extreme[name[i], "time-max"], hi, " ")
	return sprintf("  spread %.0f %% / %.0f %%", 100 * (hi[1] - lo[1]) / (base[i] + !base[i]), 100 * (hi[2] - lo[2]) / (patched[i] + !patched[i]))
}

function show(i,    extra) {
	if (calls) {
		printf "| `%s` | %s | %s | **%s** | %s |\n", name[i], unit[i], commas(base[i]), commas(patched[i]), commas(published[i])
		return
	}
	extra = unit[i] != "instructions" && unit[i] != "ns" ? unit[i] : ""
	if (markdown)
		printf "| `%s`%s | %s | %s | **%s** |\n", name[i], extra ? " (" extra ")" : "", commas(base[i]), commas(patched[i]), ratio(base[i], patched[i])
	else
		printf "%-28s %16s %16s %9s %10s%s%s%s\n", name[i], base[i], patched[i], ratio(base[i], patched[i]), published[i], extra ? "  " extra : "", spread(i),
		       (patched[i] > base[i] * 1.005 ? "  more than base" : "")
}

# named: whether a word of "only" names this
function named(word, scenario) {
	return sub(/\*$/, "", word) ? index(scenario, word) == 1 : scenario == word
}

# grid: a line for each sweep, a column for each density, of what has such a name; what is above 1.00 in bold
function grid(words, word,    i, w, d, sweep, density, nr_sweeps, nr_densities, sweeps, seen, cell, line, rule) {
	nr_densities = split("none one", d, " ")
	for (i = 1; i <= n; i++) {
		if (!match(name[i], /-(none|one|1in[0-9]+)$/)) continue
		sweep = substr(name[i], 1, RSTART - 1)
		density = substr(name[i], RSTART + 1)
		for (w = 2; w <= words; w++) {
			if (!named(word[w], sweep)) continue
			if (!(sweep in seen)) sweeps[++nr_sweeps] = sweep
			seen[sweep] = 1
			cell[sweep, density] = ratio(base[i], patched[i])
			if (patched[i] > base[i] * 1.0005) cell[sweep, density] = "**" cell[sweep, density] "**"
			if (density ~ /^1in/ && !(density in seen)) {
				seen[density] = 1
				for (w = ++nr_densities; w > 3 && substr(d[w - 1], 4) + 0 < substr(density, 4) + 0; w--) d[w] = d[w - 1]
				d[w] = density
			}
			break
		}
	}
	line = "| one page in |"
	rule = "|---|"
	for (w = 1; w <= nr_densities; w++) {
		density = d[w]
		sub(/^1in/, "", density)
		line = line " " density " |"
		rule = rule "---:|"
	}
	print line "\n" rule
	for (i = 1; i <= nr_sweeps; i++) {
		line = "| `" sweeps[i] "` |"
		for (w = 1; w <= nr_densities; w++) line = line " " cell[sweeps[i], d[w]] " |"
		print line
	}
}

END {
	words = split(only == "" ? "*" : only, word, " ")
	if (word[1] == "@density@") {
		grid(words, word)
		exit
	}
	if (calls)
		print "| scenario | figure | base | patched | target |\n|---|---|---:|---:|---:|"
	else if (markdown)
		print "| scenario | base | patched | ratio |\n|---|---:|---:|---:|"
	else
		printf "%-28s %16s %16s %9s %10s\n", "scenario", "base", "patched", "ratio", "published"
	for (w = 1; w <= words; w++) {
		found = 0
		for (i = 1; i <= n; i++)
			if (named(word[w], name[i])) {
				found = 1
				show(i)
			}
		if (!found && word[w] !~ /\*$/) {
			fflush()
			print "show: no row for " word[w] > "/dev/stderr"
			exit 1
		}
	}
}
