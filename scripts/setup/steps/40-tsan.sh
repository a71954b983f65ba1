# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: loopback tests under ThreadSanitizer

tree_build tsan -DUNCORK_WERROR=ON && tree_test tsan -L loopback
