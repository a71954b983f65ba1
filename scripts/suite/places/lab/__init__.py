# SPDX-License-Identifier: MIT
"""The lab: three network namespaces A - B - C on this machine, joined by veth pairs.

    network     what a lab is: hosts, addresses, the lines for ip(8) and tc(8). Pure.
    namespace   the kernel's network namespaces, and programs run inside them
    settings    sysctls of a namespace: written, read back, put back
    lab         one lab: made, read back, closed
    probe       what this machine can do of it, found out by effect
    labs        the labs of a runner, unnamed: they end with its process, however that ends
    named       the lab that stands from `uncork lab up` to `uncork lab down`
"""
