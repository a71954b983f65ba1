# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: runsc, for target=gvisor

target_ensure() {
    packages_try gvisor && return
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY=$PACKAGES_WHY
    return 1
}
