# SPDX-License-Identifier: MIT
"""A finished block for a mail or a commit message, and a posted one read again. Pure."""
