# SPDX-License-Identifier: MIT
"""The blocks that words of the shell ask for, or that a posted block was."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from suite.analyse.comparison.build import compare_cells, compare_results
from suite.analyse.comparison.differences import forced
from suite.analyse.comparison.model import Comparison, difference_text
from suite.analyse.comparison.sides import metrics_choose, sides_between, sides_within, words_join
from suite.analyse.frame import Matrix
from suite.analyse.metrics import Metric
from suite.analyse.selection import Selection
from suite.analyse.summary import summary_build
from suite.base.errors import UsageError
from suite.base.words import words_split
from suite.present.mail.block import comparison_block, table_block
from suite.present.mail.command import command_of
from suite.present.tables.model import Document


def comparison_of(matrices: Sequence[Matrix], base: Selection, new: Selection,
                  metrics: Sequence[Metric]) -> Comparison:
    """Two sides of one result, or of two; UsageError where a ratio between them says nothing."""
    comparison = (compare_cells(matrices[0], base, new, metrics) if len(matrices) == 1 else
                  compare_results(matrices[0], matrices[1], base, new, metrics))
    for one in forced(comparison):
        raise UsageError(
            f"{difference_text(one)}: ratios across that say nothing, and none are posted")
    return comparison


def pair_block(matrices: Sequence[Matrix], base: Selection, new: Selection,
               metrics: Sequence[Metric]) -> Document:
    """The block of two sides."""
    return comparison_block(comparison_of(matrices, base, new, metrics),
                            [command_of(matrix) for matrix in matrices])


def pairs_blocks(matrix: Matrix, pairs: Sequence[tuple[Selection, Selection]],
                 metrics: Sequence[Metric]) -> list[Document]:
    """The block of each pair. A pair with nothing to show is left out with a line on standard
    error. UsageError where all are."""
    blocks, wrong = [], []
    for base, new in pairs:
        try:
            blocks.append(pair_block([matrix], base, new, metrics))
        except UsageError as error:
            wrong.append(error)
    if pairs and not blocks:
        raise wrong[0]
    for reason in wrong:
        print(f"uncork: left out: {reason}", file=sys.stderr)
    return blocks


def cells_block(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Document:
    """The block of a result without a comparison."""
    return table_block(summary_build(matrix, tuple(metric.name for metric in metrics)), words,
                       command_of(matrix))


def blocks_build(matrices: Sequence[Matrix], selectors: Sequence[str],
                 columns: str | None = None) -> list[Document]:
    """All blocks that are asked for; selectors and columns are words of the shell."""
    metrics = metrics_choose(matrices[0], columns)
    if len(matrices) == 2:
        return [pair_block(matrices, *sides_between(selectors, "paste"), metrics)]
    blocks = pairs_blocks(matrices[0], sides_within(matrices[0], selectors, "paste"), metrics)
    narrow = words_join([words_split(selector.split(), "paste: ")
                         for selector in selectors]) if not blocks else {}
    return blocks or [cells_block(matrices[0], narrow, metrics)]
