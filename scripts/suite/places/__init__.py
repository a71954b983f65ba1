# SPDX-License-Identifier: MIT
"""Where a cell runs: this machine, gVisor, a booted kernel, other machines by ssh, a fleet, a lab.

It imports base and result. It never decides what runs next and never looks at a figure;
`targets.py` has the list of kinds, and nothing outside imports `fleet`, which that list names.
"""
