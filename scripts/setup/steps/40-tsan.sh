# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: loopback tests under ThreadSanitizer, but for those whose runs are like others to threads

tree_build tsan -DUNCORK_WERROR=ON && tree_test tsan -L loopback -E "loopback-(client|gvisor|man|options|plain|psk|strace)$"
