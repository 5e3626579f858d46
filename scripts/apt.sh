# shellcheck shell=bash disable=SC2154 # lib.sh comes first
# Sourced by packages.sh and fetch.sh: apt with sources of our own under build/apt, made from the mirrors that the
# machine already uses. The system's apt configuration is read, never written.

apt_dir=$build/apt

have_apt() { command -v apt-get >/dev/null && command -v dpkg >/dev/null; }

# The machine's own Debian sources, one "<uri> <suite>" a line.
machine_sources() {
	# shellcheck disable=SC2016 # apt's own placeholders
	apt-get indextargets --format '$(SITE) $(RELEASE) $(CREATED_BY)' |
		awk '$3 == "Packages" { print $1, $2 }' | sort -u | grep -E " $codename(-updates|-security)?\$" || true
}

# apt_root SUITE...: prepares build/apt for this release and SUITE..., and fetches the indexes once an hour at most.
apt_root() {
	local codename uri sources stamp keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	sources=$(machine_sources)
	uri=$(awk -v s="$codename" '$2 == s { print $1; exit }' <<<"$sources")
	[ -n "$uri" ] || die "apt knows no Debian mirror for '$codename': add one to its sources, or use KDIR=/path/to/linux"
	[ -r "$keyring" ] || die "$keyring is missing: install debian-archive-keyring"
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	cat >"$apt_dir/apt.conf" <<-EOF
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$apt_dir/lists";
		Dir::Cache "$apt_dir/cache";
		APT::Architectures { "amd64"; "arm64"; };
		APT::Sandbox::User "root";
		Acquire::Retries "3";
		Acquire::Languages "none";
	EOF
	{
		while read -r u s; do
			echo "deb [signed-by=$keyring] $u $s main"
		done <<<"$sources"
		for s in "$@"; do
			echo "deb [signed-by=$keyring] $uri $s main"
		done
	} | sort -u >"$apt_dir/sources.new"
	stamp=$apt_dir/updated
	export APT_CONFIG=$apt_dir/apt.conf
	if cmp -s "$apt_dir/sources.new" "$apt_dir/sources.list" && [ -n "$(find "$stamp" -mmin -60 2>/dev/null)" ]; then
		return 0
	fi
	mv "$apt_dir/sources.new" "$apt_dir/sources.list"
	rm -f "$stamp"
	say APT "indexes of $codename $*"
	logged "$logs/apt-update.log" apt-get -o APT::Update::Error-Mode=any update ||
		die "no package index could be fetched: is there a network? (or use KDIR=/path/to/linux)"
	touch "$stamp"
}
