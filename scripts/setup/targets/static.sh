# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: what static programs are linked from, and builds build/static, which other machines are given

target_ensure() {
    if [ ! -f "$UNCORK_TOP/CMakeLists.txt" ]; then
        TARGET_WHY="it is built in a checkout; a release has static programs (docs/install.md)"
        return 1
    fi
    # shellcheck source=scripts/setup/build.sh
    . "$UNCORK_TOP/scripts/setup/build.sh"
    if ! packages_try build static; then
        TARGET_WHY=$PACKAGES_WHY
        return 1
    fi
    logged build-static tree_build static && return
    log_tail "$LOGS/build-static.log"
    # shellcheck disable=SC2034  # said by scripts/setup/target
    TARGET_WHY="build/static could not be built; whole log: $(short "$LOGS/build-static.log")"
    return 1
}
