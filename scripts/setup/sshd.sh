# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Fetches an sshd for tests into build/sshd, if the system has none. Its package is unpacked there
# and never installed: an installation would start and enable a service on this machine. Only tests
# start it, in their own namespaces. Sourced after scripts/setup/packages.sh.

SSHD_FOLDER=$UNCORK_TOP/build/sshd

# sshd_ensure: provides ssh and an sshd for tests (tests/scripts/hosts.py); else sets SSHD_WHY (one
# line) and fails.
sshd_ensure() {
    SSHD_WHY=''
    if ! packages_try ssh; then
        SSHD_WHY=$PACKAGES_WHY
    elif PATH=$PATH:/usr/sbin:/sbin have sshd || [ -x "$SSHD_FOLDER/usr/sbin/sshd" ]; then
        return
    elif [ "$(id -u)" != 0 ] || ! have apt-get || ! have dpkg-deb; then
        SSHD_WHY="this machine has no sshd (package openssh-server)"
    elif ! logged sshd sshd_fetch; then
        SSHD_WHY="no sshd could be fetched from the package openssh-server; log: $(short "$LOGS/sshd.log")"
    fi
    [ -z "$SSHD_WHY" ]
}

# sshd_download FOLDER: downloads the package, and its dependencies that are not installed.
sshd_download() {
    limited 100 apt-get -o DPkg::Lock::Timeout=120 -o Dir::Cache::Archives="$1" -o APT::Sandbox::User=root \
        install -y --no-install-recommends --download-only openssh-server
}

# sshd_fetch: fetches into build/sshd, which exists only when it is complete.
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
