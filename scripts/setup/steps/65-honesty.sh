# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: what is claimed where nothing differs, simulated and on this machine, and where 3 % were injected
# long: yes
# alone: yes
# seconds: 6000

tree_build release -DUNCORK_WERROR=ON && suite_test honesty tests/honesty -s
