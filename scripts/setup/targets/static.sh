# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# installs: what static programs are linked from, and builds build/static, which other machines are given

# shellcheck source=scripts/setup/build.sh
. "$UNCORK_TOP/scripts/setup/build.sh"

target_ensure() {
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
