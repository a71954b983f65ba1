# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: loopback tests under ThreadSanitizer, without those that add nothing for threads

tree_configure tsan -DUNCORK_WERROR=ON &&
    cmake --build build/tsan -j "$(nproc)" --target uncork-client uncork-server &&
    tree_test tsan -L loopback -E "loopback-(client|gvisor|man|options|plain|psk|start|strace|unix)$"
