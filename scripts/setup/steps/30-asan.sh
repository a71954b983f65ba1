# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: unit and loopback tests by clang, under AddressSanitizer and UndefinedBehaviorSanitizer

# Those are left out that are about figures or need a build without sanitizers.
tree_build asan -DUNCORK_WERROR=ON &&
    tree_test asan -E "loopback-(capture|command|gvisor|interval|man|open_loop|strace)$"
