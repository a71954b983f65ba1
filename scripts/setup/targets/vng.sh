# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: virtme-ng (PyPI), qemu, udev and kmod, for target=vng:IMAGE

# shellcheck source=scripts/setup/pypi.sh
. "$UNCORK_TOP/scripts/setup/pypi.sh"

VNG_VERSION=1.42

# Sets PYPI to the folder of virtme-ng.
target_ensure() {
    packages_try vng && pypi_ensure virtme-ng "$VNG_VERSION" && return
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY=${PACKAGES_WHY:-$PYPI_WHY}
    return 1
}
