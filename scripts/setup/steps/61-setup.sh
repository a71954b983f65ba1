# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: tests of the launchers, and of an installation that runs without the checkout

tree_build release -DUNCORK_WERROR=ON || return
suite_test setup tests/setup "${FILES_AT_ONCE[@]}"
