# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: makes the packages, then installs, uses and removes them in a minimal root of this Debian
# long: yes
# seconds: 2400

# shellcheck source=scripts/setup/debian.sh
. "$UNCORK_TOP/scripts/setup/debian.sh"

root=$UNCORK_TOP/build/package-root

# root_make: makes a new root; sets WHY and fails if this machine cannot.
root_make() {
    local mirror suite
    WHY=''
    if [ "$(id -u)" != 0 ] || ! unshare --mount true; then
        WHY="a minimal root needs the user root and mounts"
    elif ! packages_try root; then
        WHY=$PACKAGES_WHY
    elif ! mirror=$(debian_mirror) || ! suite=$(debian_suite); then
        WHY="no mirror of Debian is among the sources of apt"
    else
        rm -rf "$root"
        debootstrap --variant=minbase "$suite" "$root" "$mirror" ||
            WHY="debootstrap made no root of $suite from $mirror"
    fi
    [ -z "$WHY" ]
}

# package_check COMMAND...: runs one test and counts it.
package_check() {
    if "$@"; then count passed 1; else count failed 1; fi
}

if ! root_make; then
    count skipped 2 "$WHY"
    return 0
fi
scripts/package || return
package_check lintian --allow-root --fail-on error,warning build/packages/*.deb
package_check tests/package/run "$root" build/packages
rm -rf "$root"
