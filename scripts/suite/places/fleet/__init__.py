# SPDX-License-Identifier: MIT
"""Many pairs of machines at once, from an Ansible inventory. All work is done in steps: in a step
each host that has a job starts one command, all at the same time.
"""
