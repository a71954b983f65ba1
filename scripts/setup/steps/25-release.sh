# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: the loopback tests that ctest leaves out
# long: yes
# alone: yes

tree_build release -DUNCORK_WERROR=ON && tree_test release -R "$ASAN_ALONE"
