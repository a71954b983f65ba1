# SPDX-License-Identifier: MIT
"""A finished block for a mail or a commit message, and what becomes of one that was posted. Pure."""
