# SPDX-License-Identifier: GPL-2.0
# show.awk: a filter from a TSV of results, of make bench or make calls, to a table for people.
#
#	markdown	1: a Markdown table, else aligned text
#	only		names of scenarios, separated by blanks, that are shown, in that order; all if empty; "word*": all that begin with
#			word, which may be none
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

END {
	if (calls)
		print "| scenario | figure | base | patched | target |\n|---|---|---:|---:|---:|"
	else if (markdown)
		print "| scenario | base | patched | ratio |\n|---|---:|---:|---:|"
	else
		printf "%-28s %16s %16s %9s %10s\n", "scenario", "base", "patched", "ratio", "published"
	words = split(only == "" ? "*" : only, word, " ")
	for (w = 1; w <= words; w++) {
		found = 0
		prefix = word[w]
		all = sub(/\*$/, "", prefix)
		for (i = 1; i <= n; i++)
			if (all ? index(name[i], prefix) == 1 : name[i] == prefix) {
				found = 1
				show(i)
			}
		if (!found && !all) {
			fflush()
			print "show: no row for " word[w] > "/dev/stderr"
			exit 1
		}
	}
}
