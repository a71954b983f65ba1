# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: what uncork itself needs: modules of Python, gnuplot, hyperfine, ip and tc

target_ensure() {
    packages_try run && return
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY=$PACKAGES_WHY
    return 1
}
