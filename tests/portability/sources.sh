# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The sources of libraries, to build them for other systems: those of Debian's packages without its patches, in
# build/portability/sources. Sourced by tests/portability/run.

# shellcheck source=scripts/setup/debian.sh
. "$UNCORK_TOP/scripts/setup/debian.sh"

SOURCES=$UNCORK_TOP/build/portability/sources

# sources_ensure PACKAGE...: afterwards there is the folder SOURCES/PACKAGE of each, or sets SOURCES_WHY (one line) and
# fails.
sources_ensure() {
    local mirror suite
    SOURCES_WHY=''
    sources_are_there "$@" && return
    if ! mirror=$(debian_mirror) || ! suite=$(debian_suite); then
        SOURCES_WHY="the sources of $(listed "$@") are Debian's, and no mirror of Debian is among the sources of apt"
    elif ! logged sources sources_fetch "deb-src $mirror $suite main" "$@"; then
        # shellcheck disable=SC2034  # used by who asked
        SOURCES_WHY="the sources of $(listed "$@") could not be fetched from $mirror; log: $(short "$LOGS/sources.log")"
    fi
    [ -z "$SOURCES_WHY" ]
}

sources_are_there() {
    local package
    for package in "$@"; do
        [ -f "$SOURCES/$package/CMakeLists.txt" ] || return
    done
}

# sources_fetch LINE PACKAGE...: by the line of a sources.list, into SOURCES, which is there as a whole or not at all.
# What was built of older ones goes.
sources_fetch() {
    local top=${SOURCES%/*} new=${SOURCES%/*}.new package
    rm -rf "$new"
    debian_apt "$new" "$1" && cd "$new" || return
    shift
    limited 100 apt-get update && limited 100 apt-get source --download-only --tar-only "$@" || return
    for package in "$@"; do
        mkdir "$package" && tar -xf "$package"_*.orig.tar.* -C "$package" --strip-components 1 || return
        [ -f "$package/CMakeLists.txt" ] || return
    done
    rm -rf lists cache apt.conf sources.list ./*.tar.* "$top"
    mkdir -p "$top" && mv "$new" "$SOURCES"
}
