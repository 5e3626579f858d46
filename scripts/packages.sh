#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages.sh PURPOSE...: installs what packages.list names for each PURPOSE and the machine does not have yet.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/apt.sh
. "$root/scripts/apt.sh"

# The first QEMU with FEAT_NV2, for KVM at EL2 in nested mode.
qemu_min=9.0

# wanted PURPOSE...: what is missing, "<proof> <package>" a line
wanted() {
	awk -v purposes=" $* " '$1 !~ /^#/ && NF == 3 && index(purposes, " " $1 " ") { print $2, $3 }' \
		"$root/scripts/packages.list" | while read -r proof package; do
		have "$proof" || echo "$proof $package"
	done
}

# have PROOF: a command, or a file (a pattern: any file that matches)
have() {
	local found
	case $1 in
	*/*) found=$(compgen -G "$1" | head -n 1) ;;
	*) found=$(command -v "$1") ;;
	esac
	[ -n "$found" ] || return 1
	case $found in
	*/qemu-system-*) "$found" --version | awk -v min="$qemu_min" 'NR == 1 { split($4, v, "."); split(min, m, ".")
		exit !(v[1] > m[1] || (v[1] == m[1] && v[2] >= m[2])) }' ;;
	esac
}

# other_system: the one line for systems that are no Debian
other_system() {
	local name tool files
	# shellcheck source=/dev/null
	name=$(. "$os_release" 2>/dev/null && echo "${PRETTY_NAME:-}")
	files=$(awk '{ print ($1 ~ "/" ? "" : "/usr/bin/") $1 }' <<<"$missing" | sort -u | xargs)
	for tool in "dnf install" "zypper install"; do
		! command -v "${tool% *}" >/dev/null || die "${name:-this system} is no Debian: 'sudo $tool $files' brings what it has of these; the rest by hand (QEMU $qemu_min or newer), and the kernel by KDIR=/path/to/linux ($BASE_TAG)"
	done
	die "${name:-this system} is no Debian: install what provides $files (QEMU $qemu_min or newer; Debian's packages: $(names)), and use KDIR=/path/to/linux ($BASE_TAG)"
}

names() { awk '{ sub(/\/backports$/, "", $2); print $2 }' <<<"$missing" | sort -u | xargs; }

# as_root: the words to put before a command that needs to be root; fails if it can't be one.
as_root() {
	[ "$(id -u)" -ne 0 ] || return 0
	if command -v sudo >/dev/null; then
		if sudo -n true 2>/dev/null; then
			sudo=(sudo -n)
			return 0
		elif [ -t 0 ] && sudo -v; then
			sudo=(sudo)
			return 0
		fi
	fi
	return 1
}

# apt_install RELEASE PACKAGE...: the words of a command
apt_install() {
	local release=$1
	shift
	echo "apt-get install -y --no-install-recommends${release:+ -t $release} -o Dpkg::Options::=--force-confold -o Dpkg::Lock::Timeout=120 $*"
}

# install RELEASE PACKAGE...
install() {
	[ $# -gt 1 ] || return 0
	say INSTALL "${*:2}"
	# shellcheck disable=SC2046 # words
	logged "$logs/install.log" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive ${APT_CONFIG:+"APT_CONFIG=$APT_CONFIG"} $(apt_install "$@") ||
		die "apt-get could not install ${*:2}"
}

main() {
	local missing plain=() backports=() suites sudo=() p by_hand
	missing=$(wanted "$@")
	[ -n "$missing" ] || return 0
	have_apt || other_system
	take_lock
	mkdir -p "$logs"
	while read -r _ p; do
		case $codename:$p in
		bookworm:*/backports) backports+=("${p%/*}") ;;
		*) plain+=("${p%/*}") ;;
		esac
	done <<<"$missing"
	# What the indexes below are checked with must come in a way that the system trusts already.
	if [ ! -r "$keyring" ]; then
		as_root || die "must install debian-archive-keyring: run 'apt-get install debian-archive-keyring' as root, then this again"
		logged "$logs/apt-update.log" "${sudo[@]}" apt-get update || die "the package indexes could not be fetched: is there a network?"
		install "" debian-archive-keyring
	fi
	suites=("$BASE_SUITE")
	[ ${#backports[@]} -eq 0 ] || suites+=("$codename-backports")
	apt_root "${suites[@]}"
	if ! as_root; then
		by_hand=
		[ ${#plain[@]} -eq 0 ] || by_hand="$(apt_install "$codename" "${plain[@]}")"
		[ ${#backports[@]} -eq 0 ] || by_hand+="${by_hand:+ && }$(apt_install "$codename-backports" "${backports[@]}")"
		die "must install packages and can't become root without a terminal to ask at: run as root 'export APT_CONFIG=$APT_CONFIG; $by_hand', then this again"
	fi
	install "$codename" "${plain[@]}"
	install "$codename-backports" "${backports[@]}"
	missing=$(wanted "$@")
	[ -z "$missing" ] || die "still missing or too old after installation: $(names) (QEMU must be $qemu_min or newer)"
}

[ $# -gt 0 ] || die "usage: packages.sh PURPOSE... (the first column of packages.list)"
main "$@"
