# SPDX-License-Identifier: MIT
"""Pictures of a result: settings and data as text. Pure, except gnuplot.py, which draws them.

A new kind is one file and one line: KIND.py here has `draw(matrix, picture) -> list[Drawing]`, and
PICTURES in scenario/scenario.py has KIND with the key that chooses what it shows. Its drawings name
a template of plots/; a kind that needs another template adds plots/KIND.gp. Each template follows
plots/start.gp, which has formats, headline and signs.
"""
