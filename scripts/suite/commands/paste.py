# SPDX-License-Identifier: MIT
"""`uncork paste RESULTS [RESULTS] [WORD...]`: blocks for a mail or a commit message."""

import argparse

from suite.base.text import say
from suite.base.words import arguments_sort
from suite.commands import COMMANDS
from suite.decide.comparison.sides import declared_read, sides_left_out
from suite.observe.frame import matrix_load
from suite.present.mail.block import blocks_build
from suite.present.tables.mail import block_lines


def main(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, COMMANDS["paste"].own, pair=True)
    axis, every = declared_read(asked.own, len(asked.folders))
    matrices = [matrix_load(folder) for folder in asked.folders]
    blocks = [block_lines(block, options.style, options.utf8)
              for block in blocks_build(matrices, asked.selectors, asked.own.get("columns"),
                                        options.netdev, axis, every)]
    for matrix in matrices:
        say(sides_left_out(matrix, asked.selectors, len(matrices) == 1))
    print("\n\n".join("\n".join(lines) for lines in blocks))
