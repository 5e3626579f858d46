# SPDX-License-Identifier: GPL-2.0-only
#
# awk -v want="NAME ?NAME..." -f extract.awk FILE: print the definitions of these
# functions, structures and macros from a C file in kernel style, in the order of
# the file, each after a #line. A name with a question mark may be missing, as
# not every tree has it.

BEGIN {
	n = split(want, names, " ")
	for (i = 1; i <= n; i++)
		wanted[names[i] ~ /^\?/ ? substr(names[i], 2) : names[i]] = 1
}

function emit(name)
{
	if (!(name in wanted) || name in done)
		return
	done[name] = 1
	printf "#line %d \"%s\"\n%s", start, FILENAME, text
}

# What the head of a definition defines: the word before its first parenthesis
function name_of(head)
{
	if (match(head, /^struct [a-z0-9_]+ \{/))
		return substr(head, 8, RLENGTH - 9)
	sub(/\(.*/, "", head)
	sub(/[ \t\n]+$/, "", head)
	sub(/^(.|\n)*[^A-Za-z0-9_]/, "", head)
	return head
}

# Comments at the top level
!inside && /^\/\*/ { comment = 1 }
comment { if (/\*\//) comment = 0; next }

!inside && /^#define / {
	inside = 1
	macro = 1
	start = FNR
	text = ""
	macro_name = $2
	sub(/\(.*/, "", macro_name)
}
macro {
	text = text $0 "\n"
	if (!/\\$/) {
		emit(macro_name)
		inside = macro = 0
	}
	next
}

!inside && /^[A-Za-z_]/ {
	inside = 1
	body = 0
	start = FNR
	text = head = ""
}
inside {
	text = text $0 "\n"
	if (!body)
		head = head $0 "\n"
	if (/\{$/)
		body = 1
	if (body ? /^\}/ : /\{.*\}$/) {
		emit(name_of(head))
		inside = 0
	} else if (!body && /;$/) {
		inside = 0
	}
}

END {
	for (i = 1; i <= n; i++) {
		name = names[i]
		if (name !~ /^\?/ && !(name in done)) {
			printf "extract: %s has no %s\n", FILENAME, name > "/dev/stderr"
			bad = 1
		}
	}
	exit bad
}
