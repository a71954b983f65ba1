# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: the same by clang, under AddressSanitizer and UndefinedBehaviorSanitizer, but for counts by strace

tree_build asan -DUNCORK_WERROR=ON && tree_test asan -E "loopback-(gvisor|man|strace)$"
