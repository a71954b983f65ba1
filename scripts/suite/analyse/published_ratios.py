# SPDX-License-Identifier: MIT
"""Which published figures belong to a cell, and their ratios: published figures stand beside
measured ones as ratios to the baseline of the same set, because machines differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.analyse.frame import Cell, Matrix, words_match
from suite.base.words import words_split
from suite.scenario.scenario import LABEL, Published


@dataclass(frozen=True)
class PublishedRatio:
    """A published figure of a cell; ratio: to the published figure of its baseline, if there is
    one in the same set, and so 1 for a baseline itself."""

    figure: Published
    ratio: float | None


def words_of(figure: Published) -> Mapping[str, str]:
    """The words of a published figure."""
    return words_split(figure.words.split(), "scenario.toml: [published] words: ")


def published_sets(matrix: Matrix) -> tuple[str, ...]:
    """The names of the sets of published figures in order; figures without one have the empty."""
    return tuple(dict.fromkeys(figure.set for figure in matrix.result.scenario.published))


def published_find(matrix: Matrix, cell: Cell, metric: str, of: str, label: str
                   ) -> Published | None:
    """The figure of a set for a cell; the one with the most words where several match."""
    matching = [figure for figure in matrix.result.scenario.published
                if (figure.metric, figure.set, figure.label) == (metric, of, label)
                and words_match(words_of(figure), cell.words)]
    return max(matching, key=lambda figure: len(figure.words.split()), default=None)


def published_ratios(matrix: Matrix, cell: Cell, metric: str, base: Cell | None, label: str = LABEL
                ) -> tuple[PublishedRatio, ...]:
    """What was published of a cell, at most one figure of each set; base: its baseline."""
    quotes = []
    for of in published_sets(matrix):
        figure = published_find(matrix, cell, metric, of, label)
        other = published_find(matrix, base, metric, of, LABEL) if base else None
        if figure is not None:
            quotes.append(PublishedRatio(figure, figure.value / other.value if other else None))
    return tuple(quotes)


def published_unused(matrix: Matrix) -> tuple[str, ...]:
    """The words of published figures that no cell of this result has."""
    return tuple(figure.words for figure in matrix.result.scenario.published if not any(
        words_match(words_of(figure), cell.words) for cell in matrix.whole.cells.values()))
