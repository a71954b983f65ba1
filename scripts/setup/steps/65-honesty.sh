# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: what is claimed where nothing differs or 3 % are injected, simulated and on this machine
# long: yes
# alone: yes
# seconds: 6000

tree_build release -DUNCORK_WERROR=ON && suite_test honesty tests/honesty -s
