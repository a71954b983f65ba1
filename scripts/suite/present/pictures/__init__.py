# SPDX-License-Identifier: MIT
"""Pictures of a result. Pure: settings and data as text, which gnuplot.py writes and draws.

A new kind is one file and one line: KIND.py here has `draw(matrix, picture) -> list[Drawing]`, and
PICTURES in scenario/scenario.py has KIND with the key that chooses what it shows. Its drawings name
a template of plots/; a kind that needs a new one brings plots/KIND.gp too. plots/start.gp, with
formats, headline and signs, stands in front of each.
"""
