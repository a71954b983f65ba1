# SPDX-License-Identifier: MIT
"""A finished block for a mail or a commit message, and the reader of a posted block. Pure."""
