# SPDX-License-Identifier: GPL-2.0
# perf.awk: a filter from two TSVs of results, the committed one and one measured now, to "ok" and "not ok" lines.
#
#	awk -v name=NAME -f perf.awk COMMITTED MEASURED
#
# What counts is patched / base: more than 1 %, or the noise that the committed row states, above the committed one fails. A row that
# has no committed figure fails too: it compares nothing.

function ratio(x, y) { return x + 0 ? y / x : y + 0 ? 1e9 : 1 }
function fail(why) { print "not ok - " name (scenario ? " " scenario : "") ": " why; failed = 1 }

BEGIN { FS = "\t" }
FNR == 1 { file++ }
/^# / {
	key = substr($0, 3)
	sub(/ .*/, "", key)
	header[file, key] = substr($0, length(key) + 4)
	next
}
$1 == "scenario" { next }
file == 1 { base[$1] = $4; patched[$1] = $5; kind[$1] = $2 " in " $3; noise[$1] = $7; next }
!checked++ && (header[1, "arch"] != header[2, "arch"] || header[1, "metric"] != header[2, "metric"]) {
	fail("the committed results are of " header[1, "arch"] " (" header[1, "metric"] "), the measured ones of " header[2, "arch"] " (" header[2, "metric"] ")")
	exit
}
{
	scenario = $1
	rows++
	if (!($1 in base)) {
		fail("no committed figure to compare with: make check PHASES=perf, then make results ACCEPT=1")
		next
	}
	if (kind[$1] != $2 " in " $3) {
		fail("measured " $2 " in " $3 ", committed " kind[$1])
		next
	}
	allowed = noise[$1] > 0.01 ? noise[$1] : 0.01
	was = ratio(base[$1], patched[$1])
	is = ratio($4, $5)
	change = 100 * (is / (was ? was : 1) - 1)
	figures = sprintf("%.4g, was %.4g (%+.1f %%; base %s, was %s; patched %s, was %s)", is, was, change, $4, base[$1], $5, patched[$1])
	if (is > was * (1 + allowed) || (!was && is))
		fail("patched / base is " figures ": more than " 100 * allowed " % worse")
	else if (is < was * (1 - allowed))
		print "ok - " name " " $1 ": better: " figures ": make bench, then make results ACCEPT=1, commits it"
	else
		print "ok - " name " " $1 ": " figures
}
END {
	scenario = ""
	if (!rows && !failed) fail("nothing was measured")
}
