# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Fetches Debian packages without installing them, by an apt with its own configuration, lists and
# cache in a folder of uncork. It needs no root. Sourced after scripts/setup/lib.sh.

# debian_mirror: prints the Debian mirror among this system's sources of apt, or fails.
debian_mirror() {
    # shellcheck disable=SC2016  # apt-get replaces it
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/*$'
}

# debian_suite: prints the suite of this system on that mirror, such as bookworm, or fails.
debian_suite() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 2>/dev/null |
        sed -n 's|.*/debian/* \([a-z]*\)$|\1|p' | head -n 1 | grep .
}

# debian_apt FOLDER LINE...: makes an apt in FOLDER with these lines of sources.list; apt-get and
# apt-cache in this shell then use it. A line begins with deb or deb-src and has no options.
debian_apt() {
    local folder=$1 line
    shift
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" || return
    for line in "$@"; do
        echo "${line%% *} [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${line#* }"
    done >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONFIGURATION
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::State::Status "/dev/null";
Dir::Cache "$folder/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONFIGURATION
    export APT_CONFIG=$folder/apt.conf
}
