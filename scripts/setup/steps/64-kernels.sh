# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: kernels in guests: the TLS of one, and two of them compared
# long: yes
# seconds: 1200

tree_build release -DUNCORK_WERROR=ON || return
if ! why=$("$UNCORK_TOP/scripts/setup/target" vng 2>&1); then
    count skipped 1 "$(grep -m 1 '^uncork: ' <<<"$why")"
    return 0
fi
scripts/setup/kernels 6.1 newest 2>&1 | tee "$LOGS/kernels.paths"
if [ "${PIPESTATUS[0]}" != 0 ]; then
    count skipped 1 "$(tail -n 1 "$LOGS/kernels.paths")"
    return 0
fi
suite_test kernels tests/kernels
