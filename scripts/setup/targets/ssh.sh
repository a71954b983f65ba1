# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: ssh, for target=ssh:HOST

target_ensure() {
    packages_try ssh && return
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY=$PACKAGES_WHY
    return 1
}
