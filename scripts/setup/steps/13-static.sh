# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: builds static programs, and runs them in a folder that holds nothing else
# long: yes

packages_try static || skip "$PACKAGES_WHY"
tree_build release -DUNCORK_WERROR=ON && tree_build static -DUNCORK_WERROR=ON || return
wc -c build/static/bin/*
suite_test static tests/static
