# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# An sshd for tests, in build/sshd, where the system has none. Its package is fetched and unpacked there and never
# installed: that would start and enable a service on this machine. Nothing starts it but a test, in namespaces of the
# test's own. Sourced after scripts/setup/python.

# shellcheck source=scripts/setup/packages.sh
. "$UNCORK_TOP/scripts/setup/packages.sh"

SSHD_FOLDER=$UNCORK_TOP/build/sshd

# sshd_ensure: afterwards tests have ssh and an sshd (tests/scripts/hosts.py), or sets SSHD_WHY (one line) and fails.
sshd_ensure() {
    SSHD_WHY=''
    if ! packages_try ssh; then
        SSHD_WHY=$PACKAGES_WHY
    elif PATH=$PATH:/usr/sbin:/sbin have sshd || [ -x "$SSHD_FOLDER/usr/sbin/sshd" ]; then
        return
    elif [ "$(id -u)" != 0 ] || ! have apt-get || ! have dpkg-deb; then
        SSHD_WHY="this machine has no sshd (package openssh-server)"
    elif ! logged sshd sshd_fetch; then
        SSHD_WHY="no sshd could be had from the package openssh-server; log: $(short "$LOGS/sshd.log")"
    fi
    [ -z "$SSHD_WHY" ]
}

# sshd_download FOLDER: the package and what it depends on and is not installed.
sshd_download() {
    limited 100 apt-get -o DPkg::Lock::Timeout=120 -o Dir::Cache::Archives="$1" -o APT::Sandbox::User=root \
        install -y --no-install-recommends --download-only openssh-server
}

# sshd_fetch: into build/sshd, which is there as a whole or not at all.
sshd_fetch() {
    local new=$SSHD_FOLDER.new package
    rm -rf "$new"
    mkdir -p "$new/packages/partial" || return
    sshd_download "$new/packages" || { limited 100 apt-get update && sshd_download "$new/packages"; } || return
    for package in "$new"/packages/*.deb; do
        dpkg-deb -x "$package" "$new" || return
    done
    rm -rf "$new/packages" "$SSHD_FOLDER"
    [ -x "$new/usr/sbin/sshd" ] && mv "$new" "$SSHD_FOLDER"
}
