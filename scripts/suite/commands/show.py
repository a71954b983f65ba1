# SPDX-License-Identifier: MIT
"""`uncork show RESULTS CELL`."""

import argparse

from suite.base.text import terminal_width
from suite.observe.frame import matrix_load
from suite.present.show import cell_choose, show_text


def main(options: argparse.Namespace) -> None:
    matrix = matrix_load(options.results)
    width = terminal_width()
    print(show_text(matrix, cell_choose(matrix, options.words), width), end="")
