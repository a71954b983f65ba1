# SPDX-License-Identifier: MIT
"""The lab: three network namespaces A - B - C on this machine, joined by veth pairs.

    namespace   the kernel's network namespaces: programs run inside them, sysctls are set in them
    lab         makes a lab, reads it back and closes it; the labs of one runner; what this machine
                can do of a lab; the lab that stands from `uncork lab up` to `uncork lab down`
"""
