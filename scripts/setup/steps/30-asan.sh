# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: unit and loopback tests by clang, under AddressSanitizer and UndefinedBehaviorSanitizer, without strace

tree_build asan -DUNCORK_WERROR=ON && tree_test asan -E "loopback-(gvisor|man|strace)$"
