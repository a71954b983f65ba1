# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: each call of a server, a proxy and a client that can fail does so, one after the other
# long: yes
# seconds: 7200

tree_build release -DUNCORK_WERROR=ON || return
if tests/reliability/run injection --json "$LOGS/injection.json"; then
    count passed 1
else
    count failed 1
fi
