# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: loopback tests under ThreadSanitizer, without those that add nothing for threads

# What these try has one thread, is tried by others with several, or is only said.
WITHOUT="activation|client|command|connect|control|descriptors|exclusions|gvisor|http|limits|log|man|\
options|override|override_servers|peers|plain|protocols|psk|refusals|rights|sandbox|served_protocols|\
start|strace|strangers|subjects|text_protocols|tls_failures|trust|unix"

tree_configure tsan -DUNCORK_WERROR=ON &&
    cmake --build build/tsan -j "$(nproc)" --target uncork-client uncork-server &&
    tree_test tsan -L loopback -E "loopback-($WITHOUT)$"
