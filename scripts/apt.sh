# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # lib.sh comes first
# Sourced by packages.sh and fetch.sh: apt with sources of our own under build/apt, made from the mirrors that the
# machine already uses. The system's apt configuration is read, never written.

apt_dir=$build/apt
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
os_release=${OS_RELEASE:-/etc/os-release}
# shellcheck source=/dev/null
codename=$(. "$os_release" 2>/dev/null && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || codename=

# have_apt: whether this is a Debian; nothing else has the packages and the suites that are named here.
have_apt() { [ -n "$codename" ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; }

# machine_sources: the machine's own sources for this release, one "<uri> <suite>" a line.
machine_sources() {
	local all found
	# shellcheck disable=SC2016 # apt's own placeholders
	all=$(apt-get indextargets --format '$(CREATED_BY) $(COMPONENT) $(SITE) $(RELEASE) $(CODENAME)' |
		awk '$1 == "Packages" && $2 == "main" { print $3, $4, $5 }' | sort -u)
	# The sources may say "testing" for the codename; only fetched indexes know.
	found=$(awk -v c="$codename" '$2 ~ "^" c "(-updates|-security)?$" || $3 ~ "^" c "(-updates|-security)?$" { print $1, $2 }' <<<"$all")
	# Unstable goes by the codename of testing.
	[ -n "$found" ] || found=$(awk '$2 == "sid" || $2 == "unstable" { print $1, $2 }' <<<"$all")
	[ -z "$found" ] || echo "$found"
}

# apt_sources SUITE...: prepares build/apt for this release and SUITE....
apt_sources() {
	local uri sources
	sources=$(machine_sources)
	uri=$(awk '$2 !~ /-/ { print $1; exit }' <<<"$sources")
	[ -n "$uri" ] || die "apt knows no Debian mirror for '$codename': add one to its sources, or use KDIR=/path/to/linux"
	[ -r "$keyring" ] || die "$keyring is missing: install debian-archive-keyring"
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	cat >"$apt_dir/apt.conf" <<-EOC
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$apt_dir/lists";
		Dir::Cache "$apt_dir/cache";
		APT::Architectures { "amd64"; "arm64"; };
		APT::Sandbox::User "root";
		Acquire::Retries "3";
		Acquire::Languages "none";
	EOC
	{
		while read -r u s; do
			echo "deb [signed-by=$keyring] $u $s main"
		done <<<"$sources"
		for s in "$@"; do
			case $s in
			"$codename"-*) echo "deb [signed-by=$keyring] $uri $s main" ;;
			# Of other releases only sources and files are taken, by name and version: an old index does no harm.
			*) grep -qxF "$uri $s" <<<"$sources" || echo "deb [signed-by=$keyring check-valid-until=no] $uri $s main" ;;
			esac
		done
	} | sort -u >"$apt_dir/sources.new"
	export APT_CONFIG=$apt_dir/apt.conf
}

# apt_update SUITE...: fetches the indexes of this release and SUITE..., once an hour at most. Fails if one can't be had.
apt_update() {
	local stamp=$apt_dir/updated
	apt_sources "$@"
	if cmp -s "$apt_dir/sources.new" "$apt_dir/sources.list" && [ -n "$(find "$stamp" -mmin -60 2>/dev/null)" ]; then
		return 0
	fi
	mv "$apt_dir/sources.new" "$apt_dir/sources.list"
	rm -f "$stamp"
	say APT "indexes of $codename $*"
	logged "$logs/apt-update.log" apt-get -o APT::Update::Error-Mode=any update || return 1
	touch "$stamp"
}

apt_root() { apt_update "$@" || die "no package index could be fetched: is there a network? (or use KDIR=/path/to/linux)"; }

# apt_search SUITE...: the same for suites that the mirror may not have.
apt_search() {
	apt_sources "$@"
	mv "$apt_dir/sources.new" "$apt_dir/sources.list"
	rm -f "$apt_dir/updated"
	say APT "looks in $*"
	apt-get update >"$logs/apt-search.log" 2>&1 || true
}
