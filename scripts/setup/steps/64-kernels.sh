# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: kernels in guests: the TLS of one, and two of them compared
# long: yes
# seconds: 1200

tree_build release -DUNCORK_WERROR=ON || return
why=$("$UNCORK_TOP/scripts/setup/target" vng 2>&1) || skip "$(grep -m 1 '^uncork: ' <<<"$why")"
scripts/setup/kernels 6.1 newest 2>&1 | tee "$LOGS/kernels.paths"
[ "${PIPESTATUS[0]}" = 0 ] || skip "$(tail -n 1 "$LOGS/kernels.paths")"
suite_test kernels tests/kernels
