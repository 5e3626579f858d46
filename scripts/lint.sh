#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lint.sh shell [OPTION...]|c: shellcheck for every script, wherever it is; checkpatch for our C, without what only makes sense in a kernel.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$root"
case ${1:-} in
shell)
	mapfile -t files < <({
		grep -rIlE '^#!/bin/(ba)?sh' --exclude-dir=.git --exclude-dir=build .
		printf '%s\n' ./scripts/*.sh ./scripts/base.conf ./arch/*/arch.conf
	} | sort -u)
	shellcheck -x -P . "${@:2}" "${files[@]}"
	;;
c)
	checkpatch=$base_tree/scripts/checkpatch.pl
	[ -f "$checkpatch" ] || {
		"$root/scripts/fetch.sh"
		"$root/scripts/tree.sh"
	}
	find tools -name '*.[ch]' -exec perl "$checkpatch" --no-tree --strict --terse --no-summary --show-types --max-line-length=125 --ignore "$(printf '%s,' \
		ARRAY_SIZE AVOID_EXTERNS BIT_MACRO CAMELCASE COMPLEX_MACRO EMBEDDED_FUNCTION_NAME IS_ENABLED_CONFIG LONG_LINE_STRING \
		MACRO_ARG_PRECEDENCE MACRO_ARG_REUSE MACRO_ARG_UNUSED MACRO_WITH_FLOW_CONTROL MEMORY_BARRIER MULTIPLE_ASSIGNMENTS \
		NEW_TYPEDEFS PREFER_DEFINED_ATTRIBUTE_MACRO PREFER_FALLTHROUGH SPACING TRAILING_SEMICOLON VOLATILE)" \
		-f {} +
	;;
*) die "usage: lint.sh shell [OPTION...]|c" ;;
esac
