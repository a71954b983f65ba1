# SPDX-License-Identifier: MIT
"""`uncork show RESULTS CELL`."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.analyse.frame import matrix_build
from suite.analyse.results import result_load
from suite.base.text import terminal_width
from suite.present.show import cell_choose, show_text

HELP = "one cell explained: counts, CPU, placement, options, every round"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork show`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")
    parser.add_argument("cell", nargs="*", default=[], metavar="WORD",
                        help="words that select one cell, place=together write=cork")


def main(options: argparse.Namespace) -> int:
    """Prints the explanation."""
    matrix = matrix_build(result_load(options.results))
    width = terminal_width()
    print(show_text(matrix, cell_choose(matrix, options.cell), width), end="")
    return 0
