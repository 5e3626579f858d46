# SPDX-License-Identifier: GPL-2.0
# table.awk: a filter from counts to results. Input: scenarios, separated by tabs: name, mode, "phase nth" or "phase min" (the least of one run of the
# command), command, published ratio, noise. Output: a TSV with what was measured with what in its first lines.
#
#	base, patched	files of counts: what the commands printed, each between "run <command>" and "status <status>", and
#			"# <key> <value>" lines: tree, metric, arch, set, host, kernel, boot, patches, date
#	metric, patches	what both must have been measured with
#	partial		1: leave out the scenarios whose command was not run
#
# What does not match, failed or is missing ends with one line that says so and status 1.

function refuse(why) { print "table: " why > "/dev/stderr"; refused = 1; exit 1 }

function load(tree, file,    line, run, ended, words, f, k, key, n, figure, least) {
	ended = 1
	while ((n = (getline line < file)) > 0) {
		words = split(line, f, " ")
		if (f[1] == "#" && words > 2) {
			key = f[2]
			sub(/^# [^ ]+ /, "", line)
			header[tree, key] = line
		} else if (line ~ /^run /) {
			if (!ended) refuse(tree ": " run ": did not end")
			run = substr(line, 5)
			ended = 0
			ran[tree, run] = 1
		} else if (f[1] == "status") {
			ended = 1
			for (k in least) {
				value[tree, k, ++nr[tree, k]] = least[k]
				delete least[k]
			}
			if (f[2] != 0) refuse(tree ": " run ": exit status " f[2])
		} else if (f[1] == "count") {
			if (words < 5 || words > 6 || f[4] !~ /^-?[0-9]+$/ || f[5] !~ /^-?[0-9]+$/) refuse(tree ": " run ": no count: " line)
			k = run SUBSEP f[2] " " f[3]
			if (words == 6) own_unit[k] = f[6]
			figure = (metric == "time" ? f[5] : f[4]) + 0
			value[tree, k, ++nr[tree, k]] = figure
			k = run SUBSEP f[2] " min"
			if (words == 6) own_unit[k] = f[6]
			if (!(k in least) || figure < least[k]) least[k] = figure
		}
	}
	if (n < 0) refuse("cannot read " file)
	if (!ended) refuse(tree ": " run ": did not end")
	if (header[tree, "tree"] != tree) refuse(file " has counts of \"" header[tree, "tree"] "\", not of " tree)
}

function same(key, what) {
	if (header["base", key] != header["patched", key])
		refuse("base and patched were measured with different " what ": \"" header["base", key] "\" and \"" header["patched", key] "\"")
}

function sort(tree, k,    i, j, t) {
	for (i = 2; i <= nr[tree, k]; i++)
		for (j = i; j > 1 && value[tree, k, j] < value[tree, k, j - 1]; j--) {
			t = value[tree, k, j]
			value[tree, k, j] = value[tree, k, j - 1]
			value[tree, k, j - 1] = t
		}
}

function row(name, metric, unit, x, y, noise, published) {
	out[++rows] = sprintf("%s\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t%s", name, metric, unit, x, y, x ? sprintf("%.4f", y / x) : y ? "inf" : "1.0000", noise, published)
}

BEGIN {
	FS = "\t"
	load("base", base)
	load("patched", patched)
	same("metric", "metrics")
	same("arch", "architectures")
	same("host", "hosts")
	same("set", "sets of scenarios")
	same("mode", "modes of KVM")
	same("patches", "patches")
	if (header["base", "metric"] != metric) refuse("the counts are of metric \"" header["base", "metric"] "\", not " metric)
	if (header["base", "patches"] != patches) refuse("the counts are of other patches than the present ones: measure again")
	if (metric == "time" && header["base", "boot"] != "" && header["base", "boot"] == header["patched", "boot"])
		refuse("base and patched were measured in one boot, so on one kernel: boot the other one and measure again")
}

{
	command = $4
	sub(/^figures /, "", command)
	k = command SUBSEP $3
	if (partial && !(("base", command) in ran) && !(("patched", command) in ran)) {
		left_out = left_out " " $1
		next
	}
	if (!nr["base", k] || !nr["patched", k]) {
		missing = missing (missing ? ", " : "") $1 " (" $3 (nr["base", k] ? ", patched" : nr["patched", k] ? ", base" : "") ")"
		next
	}
	sort("base", k)
	sort("patched", k)
	nb = nr["base", k]
	np = nr["patched", k]
	row($1, metric, k in own_unit ? own_unit[k] : metric == "time" ? "ns" : "instructions",
	    value["base", k, int((nb + 1) / 2)], value["patched", k, int((np + 1) / 2)], $6, $5)
	if (metric == "time" && !(k in own_unit)) {
		row($1, "time-min", "ns", value["base", k, 1], value["patched", k, 1], $6, "-")
		row($1, "time-max", "ns", value["base", k, nb], value["patched", k, np], $6, "-")
	}
}

END {
	if (refused) exit 1
	if (missing != "") refuse("no figure for " missing)
	if (!rows) refuse("nothing was measured")
	n = split("arch set metric host mode patches", key, " ")
	for (i = 1; i <= n; i++) if (header["base", key[i]] != "") print "# " key[i] " " header["base", key[i]]
	n = split("kernel date", key, " ")
	for (i = 1; i <= n; i++) {
		print "# base-" key[i] " " header["base", key[i]]
		print "# patched-" key[i] " " header["patched", key[i]]
	}
	print "scenario\tmetric\tunit\tbase\tpatched\tratio\tnoise\tpublished"
	for (i = 1; i <= rows; i++) print out[i]
	fflush()
	if (left_out != "") print "table: left out, as they need another mode than this one:" left_out > "/dev/stderr"
}
