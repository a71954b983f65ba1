# SPDX-License-Identifier: MIT
"""Compares two sides, cell by cell: the changes, how certain they are, and what else differs."""
