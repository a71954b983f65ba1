# SPDX-License-Identifier: MIT
"""The lab: three network namespaces A - B - C on this machine, joined by veth pairs."""
