# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: builds static programs, and runs them in a folder that holds nothing else
# long: yes

if ! packages_try static; then
    count skipped 1 "$PACKAGES_WHY"
    return 0
fi
tree_build release -DUNCORK_WERROR=ON && tree_build static -DUNCORK_WERROR=ON || return
wc -c build/static/bin/*
suite_test static tests/static
