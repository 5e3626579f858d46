#!/bin/bash
# packages.sh PURPOSE...: installs what packages.list names for each PURPOSE and the machine does not have yet.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

# wanted PURPOSE...: the packages that are missing, one a line
wanted() {
	awk -v purposes=" $* " '$1 !~ /^#/ && NF == 3 && index(purposes, " " $1 " ") { print $2, $3 }' \
		"$root/scripts/packages.list" | while read -r proof package; do
		[ -e "$proof" ] && ! too_old "$proof" || echo "$package"
	done
}

# QEMU older than 8.2 has no FEAT_NV2.
too_old() {
	case $1 in
	*/qemu-system-*) ! "$1" --version | awk 'NR == 1 { split($4, v, "."); exit !(v[1] >= 9) }' ;;
	*) return 1 ;;
	esac
}

main() {
	local missing codename plain=() backports=() suites sudo=() p
	missing=$(wanted "$@")
	[ -n "$missing" ] || return 0
	if ! have_apt; then
		printf '%s\n' "$missing" >&2
		die "no apt on this system: install what provides the Debian packages above, then run this again"
	fi
	if [ "$(id -u)" -ne 0 ]; then
		sudo -n true 2>/dev/null || die "must install $(echo "$missing" | xargs): run as root, or allow sudo"
		sudo=(sudo -n "--preserve-env=APT_CONFIG,DEBIAN_FRONTEND")
	fi
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	take_lock
	for p in $missing; do
		case $codename:$p in
		bookworm:*/backports) backports+=("${p%/*}") ;;
		*) plain+=("${p%/*}") ;;
		esac
	done
	export DEBIAN_FRONTEND=noninteractive
	suites=("$BASE_SUITE")
	[ ${#backports[@]} -eq 0 ] || suites+=("$codename-backports")
	apt_root "${suites[@]}"
	install "$codename" "${plain[@]}"
	install "$codename-backports" "${backports[@]}"
	missing=$(wanted "$@")
	[ -z "$missing" ] || die "still missing or too old after installation: $(echo "$missing" | xargs)"
}

# install RELEASE PACKAGE...
install() {
	local release=$1
	shift
	[ $# -gt 0 ] || return 0
	say INSTALL "$*"
	logged "$logs/install.log" "${sudo[@]}" apt-get install -y --no-install-recommends -t "$release" \
		-o Dpkg::Options::=--force-confold -o Dpkg::Lock::Timeout=120 "$@" ||
		die "apt-get could not install $*"
}

[ $# -gt 0 ] || die "usage: packages.sh PURPOSE... (the first column of packages.list)"
main "$@"
