# SPDX-License-Identifier: MIT
"""Other machines by ssh(1): a connection to each, the programs there, and servers that end with the
runner."""
