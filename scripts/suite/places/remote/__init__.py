# SPDX-License-Identifier: MIT
"""Programs on other machines, with their files there, that end when the runner ends: by ssh(1), or
on many pairs of machines by Ansible."""
