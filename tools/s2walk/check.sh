#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh LOGDIR NAME COMMAND [NAME COMMAND]...: run each test program, show a
# line for each and everything about those that fail, and add up the results.
set -u

logs=$1
shift
passed=0 failed=0 skipped=0 number=0 programs=$(($# / 2))
mkdir -p "$logs"

while [ $# -ge 2 ]; do
	name=$1 command=$2 start=$(date +%s)
	shift 2
	log=$logs/$name.log
	number=$((number + 1))
	printf '  %-7s %s (%d of %d)\n' RUN "$name" "$number" "$programs"
	[ "${V:-0}" = 1 ] && echo "  $command"
	sh -c "$command" > "$log" 2>&1
	status=$?
	# The last line that counts is the program's own sum
	set -- "$(sed -n 's/^# \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
		"$log" | tail -n 1)" "$@"
	sum=$1
	shift
	# A program without a sum is one test
	if [ -z "$sum" ] && [ "$status" -eq 0 ]; then
		sum="1 0 0"
	elif [ -z "$sum" ]; then
		sum="0 1 0"
		echo "# $name: exit status $status" >> "$log"
	fi
	p=${sum%% *} s=${sum##* } f=${sum#* }
	f=${f% *}
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '  %-7s %-10s %4d passed, %d failed, %d skipped  (%d s)\n' \
		"$([ "$f" -eq 0 ] && echo TEST || echo FAIL)" "$name" "$p" "$f" "$s" \
		$(($(date +%s) - start))
	if [ "$f" -ne 0 ]; then
		grep -v '^ok ' "$log" | tail -n 60
		echo "  log: $log"
	elif [ "${V:-0}" = 1 ]; then
		cat "$log"
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
