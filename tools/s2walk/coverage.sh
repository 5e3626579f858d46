#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh DIR PGTABLE.C PAIR...: after the coverage build in DIR has run,
# print how many lines of pgtable.c each patched walker has executed, and which
# lines none has.
set -eu

dir=$1 source=$2
shift 2
cd "$dir"
rm -f ./*.gcov

for pair; do
	name=patched-$pair
	# Under another name for each walker: the source file is the same
	gcov -o "$dir" "walker-$name.gcno" > "$name.summary" 2>&1
	mv pgtable.c.gcov "$name.gcov"
	grep -A1 "^File '.*/pgtable.c'" "$name.summary" |
		sed -n "s/^Lines executed/$name: pgtable.c lines executed/p"
done
rm -f ./*.c.gcov ./*.h.gcov

# gcov: "count:line:text"; "#####" is never, "-" is no code
awk -F: -v source="$source" '
	{
		gsub(/ /, "", $1)
		line = $2 + 0
		if (!line || $1 == "-")
			next
		code[line] = 1
		if ($1 != "#####" && $1 != "=====")
			hit[line] = 1
		if (!(line in text)) {
			t = $0
			sub(/^[^:]*:[^:]*:/, "", t)
			text[line] = t
			if (line > last)
				last = line
		}
	}
	END {
		for (i = 1; i <= last; i++)
			if (code[i]) {
				n++
				if (hit[i])
					h++
			}
		printf "all patched walkers together: %d of %d lines, %.1f%%\n", h, n, 100 * h / n
		if (h < n)
			print "never executed in " source ":"
		for (i = 1; i <= last; i++)
			if (code[i] && !hit[i])
				printf "%5d:%s\n", i, text[i]
	}' patched-*.gcov
