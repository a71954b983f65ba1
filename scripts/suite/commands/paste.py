# SPDX-License-Identifier: MIT
"""`uncork paste RESULTS [RESULTS] [word=value ...]`: finished blocks for a mail or a commit
message."""

from __future__ import annotations

import argparse

from suite.analyse.comparison.sides import arguments_sort
from suite.analyse.frame import matrix_build
from suite.analyse.results import result_load
from suite.present.mail.blocks import blocks_build
from suite.present.tables.mail import STYLES, block_lines

HELP = "a block for a mail: figures with intervals, the machine, the command"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork paste`."""
    parser.add_argument("results", metavar="RESULTS", help="folder of a result")
    parser.add_argument("words", nargs="*", default=[], metavar="RESULTS | WORD",
                        help="another result, to compare with the first; write=nodelay write=cork: two sides; "
                             "other words narrow both; columns=METRIC,... (default: the result's first)")
    parser.add_argument("--style", choices=tuple(STYLES), default="plain",
                        help="plain: aligned text; md: tables with pipes (default: plain)")
    parser.add_argument("--utf8", action="store_true", help="symbols instead of ASCII")


def main(options: argparse.Namespace) -> int:
    """Prints the blocks, an empty line between them; nothing where one would break a rule."""
    asked = arguments_sort([options.results, *options.words], ("columns",))
    matrices = [matrix_build(result_load(folder)) for folder in asked.folders]
    blocks = [block_lines(block, options.style, options.utf8)
              for block in blocks_build(matrices, asked.selectors, asked.own.get("columns"))]
    print("\n\n".join("\n".join(lines) for lines in blocks))
    return 0
