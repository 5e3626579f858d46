#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.sh S2WALK: what says nothing about the walkers must not end well. Prints KTAP.
set -u

s2walk=$1 n=0 bad=0

# refused TEXT ARG...: ends with status 2 and says TEXT, in one line
refused()
{
	text=$1
	shift
	said=$("$s2walk" "$@" 2>&1 >/dev/null)
	status=$? n=$((n + 1))
	if [ $status -eq 2 ] && [ "$said" = "$text" ]; then
		echo "ok $n $text"
	else
		echo "not ok $n s2walk $*: status $status, '$said'"
		bad=$((bad + 1))
	fi
}

echo "KTAP version 1"
refused "s2walk: replay needs the file of a sequence" replay
refused "s2walk: no unit test is called 'nonesuch'" unit 4k nonesuch
refused "/nonesuch: No such file or directory" replay /nonesuch
echo "1..$n"
echo "# $((n - bad)) passed, $bad failed, 0 skipped"
[ $bad -eq 0 ]
