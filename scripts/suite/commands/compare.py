# SPDX-License-Identifier: MIT
"""`uncork compare RESULTS [RESULTS] [WORD...]`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from suite.analyse.comparison.build import compare_cells, compare_results
from suite.analyse.comparison.differences import refusals_check
from suite.analyse.comparison.model import Comparison
from suite.analyse.comparison.sides import (
    Asked,
    arguments_sort,
    metrics_choose,
    names_split,
    sides_between,
    sides_within,
)
from suite.analyse.frame import Matrix, matrix_build
from suite.analyse.results import result_load
from suite.base.errors import UsageError
from suite.base.text import terminal_width
from suite.present.comparison import FORMATS
from suite.present.comparison.document import document_build
from suite.present.tables import RENDERERS, TERMINAL

HELP = "two sides cell by cell: what changed, how sure it is, and what else differs"
OWN = ("columns", "axis")  # words that select no cells


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork compare`."""
    parser.add_argument("results", metavar="RESULTS", help="folder of a result")
    parser.add_argument("words", nargs="*", default=[], metavar="RESULTS|WORD",
                        help="another result, to compare with; write=nodelay write=cork: two sides (several words "
                             "of one in quotes), without any the baseline against each other value, or the first target "
                             "against each other; other words narrow both; "
                             "columns=METRIC,... (default: the first of the table); "
                             "axis=kernel,...: what two results are compared about")
    parser.add_argument("--strict", action="store_true",
                        help="refuse where anything but what is compared differs")
    parser.add_argument("--force", action="store_true",
                        help="compare across virtualisation, number of CPUs or congestion control, and say so")
    style = parser.add_mutually_exclusive_group()
    for name, one in {**RENDERERS, **FORMATS}.items():
        style.add_argument(f"--{name}", dest="format", action="store_const", const=name,
                           help=one.means)


def comparisons_build(matrices: Sequence[Matrix], asked: Asked,
                      axis: Sequence[str]) -> list[Comparison]:
    """Everything that is asked for; UsageError where there is nothing to compare."""
    metrics = metrics_choose(matrices[0], asked.own.get("columns"))
    if len(matrices) == 2:
        sides = sides_between(asked.selectors, "compare")
        return [compare_results(matrices[0], matrices[1], *sides, metrics, axis)]
    if axis:
        raise UsageError(
            f"axis={','.join(axis)} is for two results: within one the words of the sides differ")
    pairs = sides_within(matrices[0], asked.selectors, "compare")
    if not pairs:
        raise UsageError(
            f"{matrices[0].result.folder}: nothing to compare: give one word two values, "
                         "write=nodelay write=cork, or another result")
    return [compare_cells(matrices[0], *pair, metrics) for pair in pairs]


def main(options: argparse.Namespace) -> int:
    """Prints the comparison."""
    asked = arguments_sort([options.results, *options.words], OWN)
    if options.format in FORMATS and "columns" in asked.own and not FORMATS[
            options.format].metrics:
        raise UsageError(
            f"--{options.format} is always of the same metrics: leave out columns={asked.own['columns']}")
    axis = names_split("axis", asked.own["axis"]) if "axis" in asked.own else ()
    matrices = [matrix_build(result_load(folder)) for folder in asked.folders]
    comparisons = [refusals_check(one, axis, options.strict, options.force)
                   for one in comparisons_build(matrices, asked, axis)]
    if options.format in FORMATS:
        text = FORMATS[options.format].render(comparisons)
    else:
        render = RENDERERS[options.format].render if options.format else TERMINAL
        text = render(document_build(comparisons), terminal_width())
    print(text, end="")
    return 0
