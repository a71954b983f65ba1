# SPDX-License-Identifier: MIT
"""`uncork paste RESULTS [RESULTS] [word=value ...]`: finished blocks for a mail or a commit message."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from suite.client import scenario_names, scenario_path
from suite.comparison.build import compare_cells, compare_results
from suite.comparison.model import Comparison
from suite.errors import UsageError
from suite.frame import Matrix, matrix_build, words_parse
from suite.mail.block import Block, block_lines, comparison_block, table_block
from suite.mail.command import command_words
from suite.mail.sides import Words, sides_choose, words_join
from suite.mail.styles import STYLES
from suite.metrics import METRICS, Metric, metric_find
from suite.results import result_load
from suite.scenario import Table, scenario_load
from suite.summary import summary_build
from suite.table import layout_choose

HELP = "a block for a mail: figures with intervals, the machine, the command"
COLUMNS = "columns="


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork paste`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")
    parser.add_argument("words", nargs="*", metavar="RESULTS | WORD",
                        help="another result, to compare with the first; write=nodelay write=cork: two sides; "
                             "other words narrow both; columns=METRIC,... (default: the result's first)")
    parser.add_argument("--style", choices=tuple(STYLES), default="plain",
                        help="plain: aligned text; md: tables with pipes (default: plain)")
    parser.add_argument("--utf8", action="store_true", help="symbols instead of ASCII")


def metrics_choose(matrix: Matrix, words: Sequence[str]) -> tuple[tuple[Metric, ...], list[str]]:
    """The metrics that columns= asks for, else the first of the result's table; and the other words."""
    others = [word for word in words if not word.startswith(COLUMNS)]
    asked = [word.removeprefix(COLUMNS) for word in words if word.startswith(COLUMNS)]
    if len(asked) > 1:
        raise UsageError("columns is given twice")
    if asked:
        names = asked[0].split(",")
        if len(set(names)) < len(names):
            raise UsageError(f'"{COLUMNS}{asked[0]}": a name is given twice')
        return tuple(metric_find(name, "columns") for name in names), others
    first = layout_choose(matrix, matrix.result.scenario.table or Table()).metrics[0]
    return (METRICS[first],), others


def command_of(matrix: Matrix) -> list[str]:
    """The words that measure a result again."""
    scenario = matrix.result.scenario
    ships = scenario.name in scenario_names()
    shipped = scenario_load(scenario_path(scenario.name)) if ships else None
    return command_words(scenario, matrix.result.plan, shipped)


def refusal_check(comparison: Comparison) -> None:
    """UsageError where ratios between two machines say nothing."""
    for difference in comparison.differences:
        if difference.refuses and not difference.declared:
            raise UsageError(f"{difference.name} is {difference.base or 'none'} on one side and "
                             f"{difference.new or 'none'} on the other: ratios say nothing there, and none are posted")


def comparison_of(matrices: Sequence[Matrix], base: Words, new: Words, metrics: Sequence[Metric]) -> Comparison:
    """Two sides of one result, or of two."""
    if len(matrices) == 1:
        return compare_cells(matrices[0], base, new, metrics)
    comparison = compare_results(matrices[0], matrices[1], base, new, metrics)
    refusal_check(comparison)
    return comparison


def pair_block(matrices: Sequence[Matrix], base: Words, new: Words, metrics: Sequence[Metric]) -> Block:
    """The block of two sides."""
    return comparison_block(comparison_of(matrices, base, new, metrics), [command_of(matrix) for matrix in matrices])


def pairs_blocks(matrix: Matrix, pairs: Sequence[tuple[Words, Words]], metrics: Sequence[Metric]) -> list[Block]:
    """The block of each pair; one that has nothing to show is left out, and said. UsageError where all are."""
    blocks, wrong = [], []
    for base, new in pairs:
        try:
            blocks.append(pair_block([matrix], base, new, metrics))
        except UsageError as error:
            wrong.append(error)
    if pairs and not blocks:
        raise wrong[0]
    for error in wrong:
        print(f"uncork: left out: {error}", file=sys.stderr)
    return blocks


def cells_block(matrix: Matrix, words: Words, metrics: Sequence[Metric]) -> Block:
    """The block of a result of which nothing is compared."""
    return table_block(summary_build(matrix, tuple(metric.name for metric in metrics)), words, command_of(matrix))


def blocks_build(matrices: Sequence[Matrix], words: Sequence[str]) -> list[Block]:
    """All blocks that are asked for; words are those of the shell."""
    metrics, words = metrics_choose(matrices[0], words)
    if len(matrices) == 2:
        narrow = words_join([words_parse(word, "paste") for word in words])
        return [pair_block(matrices, narrow, narrow, metrics)]
    narrow, pairs = sides_choose(matrices[0], words)
    return pairs_blocks(matrices[0], pairs, metrics) or [cells_block(matrices[0], narrow, metrics)]


def matrices_load(first: Path, words: Sequence[str]) -> tuple[list[Matrix], list[str]]:
    """The results among the arguments, at most two, and the words; what has no = in it is a result."""
    folders = [first, *(Path(word) for word in words if "=" not in word)]
    if len(folders) > 2:
        raise UsageError(f'"{folders[2]}": a block is of one result or of two')
    return [matrix_build(result_load(folder)) for folder in folders], [word for word in words if "=" in word]


def main(options: argparse.Namespace) -> int:
    """Prints the blocks, an empty line between them; nothing where one would break a rule."""
    matrices, words = matrices_load(options.results, options.words)
    blocks = [block_lines(block, options.style, options.utf8) for block in blocks_build(matrices, words)]
    print("\n\n".join("\n".join(lines) for lines in blocks))
    return 0
