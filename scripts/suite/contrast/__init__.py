# SPDX-License-Identifier: MIT
"""From the values of two cells to a contrast, and to its verdict among the contrasts of its family.
It imports base, stats, scenario and observe. It never asks for a command or a table. Pure."""
