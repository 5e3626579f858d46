# SPDX-License-Identifier: GPL-2.0
# matrix.awk: a filter from the TSV of make matrix to a table of its systems, and one of the cells that are not the same on both.
#
#	markdown	1: Markdown, else aligned text

BEGIN {
	FS = "\t"
	n_kinds = split("same|skip|known|better|fails on both|worse|not run", kind, "|")
}
/^#/ { next }
!header++ { next }
!($1 in cells) { system_name[++systems] = $1 }
{
	cells[$1]++
	count[$1, $5]++
	total[$5]++
	all++
}
$5 != "same" && $5 != "skip" && $5 != "not run" { rest[++n_rest] = $0 }
$5 == "not run" && !(($1, $6) in told) {
	told[$1, $6]
	not_run[++n_not] = $1 "\t" $6
}

function number(what, where) { return where == "" ? total[what] + 0 : count[where, what] + 0 }

# row NAME N SYSTEM: of all systems together if that is empty
function row(name, n, where,    i, line) {
	line = markdown ? "| " name " | " n : sprintf("%-18s %6d", name, n)
	for (i = 1; i <= n_kinds; i++) {
		if (markdown)
			line = line " | " number(kind[i], where)
		else
			line = line sprintf(" %*d", length(kind[i]) > 6 ? length(kind[i]) : 6, number(kind[i], where))
	}
	print line (markdown ? " |" : "")
}

END {
	line = markdown ? "| system | cells" : sprintf("%-18s %6s", "system", "cells")
	under = "|---|---:"
	for (i = 1; i <= n_kinds; i++) {
		line = line (markdown ? " | " kind[i] : sprintf(" %6s", kind[i]))
		under = under "|---:"
	}
	print line (markdown ? " |\n" under "|" : "")
	for (s = 1; s <= systems; s++)
		row(markdown ? "`" system_name[s] "`" : system_name[s], cells[system_name[s]], system_name[s])
	row("all", all, "")
	if (n_rest) print markdown ? "\n| system | command | base | patched | result | note |\n|---|---|---|---|---|---|" : ""
	for (i = 1; i <= n_rest; i++) {
		split(rest[i], c, "\t")
		printf markdown ? "| `%s` | `%s` | %s | %s | %s | %s |\n" : "%s: %s: base %s, patched %s: %s: %s\n", c[1], c[2], c[3], c[4], c[5], c[6]
	}
	if (n_not) print markdown ? "\n| not run | why |\n|---|---|" : ""
	for (i = 1; i <= n_not; i++) {
		split(not_run[i], c, "\t")
		printf markdown ? "| `%s` | %s |\n" : "%s: not run: %s\n", c[1], c[2]
	}
}
