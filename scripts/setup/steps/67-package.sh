# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: makes the packages, then installs, uses and removes them in a minimal root of this Debian
# long: yes
# seconds: 2400

# shellcheck source=scripts/setup/debian.sh
. "$UNCORK_TOP/scripts/setup/debian.sh"

root=$UNCORK_TOP/build/package-root

# package_check COMMAND...: runs one test and counts it.
package_check() {
    if "$@"; then count passed 1; else count failed 1; fi
}

{ [ "$(id -u)" = 0 ] && unshare --mount true; } ||
    skip "a minimal root needs the user root and mounts" 2
packages_try root || skip "$PACKAGES_WHY" 2
{ mirror=$(debian_mirror) && suite=$(debian_suite); } ||
    skip "no mirror of Debian is among the sources of apt" 2
rm -rf "$root"
debootstrap --variant=minbase "$suite" "$root" "$mirror" ||
    skip "debootstrap made no root of $suite from $mirror" 2
scripts/package || return
package_check lintian --allow-root --fail-on error,warning build/packages/*.deb
package_check tests/package/run "$root" build/packages
rm -rf "$root"
