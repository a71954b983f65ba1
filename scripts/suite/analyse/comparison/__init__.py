# SPDX-License-Identifier: MIT
"""Two sides, cell by cell: what a change is, how sure it is, and what else differs."""
