# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: unit and loopback tests of the C code, without those that asan runs anyway

tree_build release -DUNCORK_WERROR=ON && tree_test release -E "$ASAN_ALONE"
