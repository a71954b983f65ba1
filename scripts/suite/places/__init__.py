# SPDX-License-Identifier: MIT
"""Where a cell runs: this machine, gVisor, a booted kernel, other machines by ssh, a fleet, a lab.

It imports base and result. It never decides what runs next and never reads a figure. `targets.py`
lists the kinds of targets; it names `fleet`, which nothing else outside that folder imports.
"""
