# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: what is claimed on this machine where nothing changed, and where 3 % were injected
# long: yes
# seconds: 900

tree_build release -DUNCORK_WERROR=ON && suite_test honesty tests/honesty -s
