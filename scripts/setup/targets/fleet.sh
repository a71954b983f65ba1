# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: ansible-core and ansible-runner, for hosts=INVENTORY

# shellcheck source=scripts/setup/pypi.sh
. "$UNCORK_TOP/scripts/setup/pypi.sh"

target_ensure() {
    packages_try ssh && pypi_ensure ansible-runner 2.4.3 ansible-core==2.19.14 && return
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY=${PACKAGES_WHY:-$PYPI_WHY}
    return 1
}
