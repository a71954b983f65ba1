# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: kernels in guests: the TLS of one, and two of them compared
# long: yes
# seconds: 1200

# shellcheck source=scripts/setup/packages.sh
. "$UNCORK_TOP/scripts/setup/packages.sh"
# shellcheck source=scripts/setup/targets/vng.sh
. "$UNCORK_TOP/scripts/setup/targets/vng.sh"

tree_build release -DUNCORK_WERROR=ON || return
if ! target_ensure; then
    count skipped 1 "$TARGET_WHY"
    return 0
fi
scripts/setup/kernels 6.1 newest 2>&1 | tee "$LOGS/kernels.paths"
if [ "${PIPESTATUS[0]}" != 0 ]; then
    count skipped 1 "$(tail -n 1 "$LOGS/kernels.paths")"
    return 0
fi
suite_test kernels tests/kernels
