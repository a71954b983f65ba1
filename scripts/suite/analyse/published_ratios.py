# SPDX-License-Identifier: MIT
"""The published figures of a cell, as ratios to the published figure of its baseline in the same
set: machines differ, so that the figures themselves cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.analyse.frame import Cell, Matrix, words_match
from suite.base.words import words_split
from suite.scenario.scenario import LABEL, Published


@dataclass(frozen=True)
class PublishedRatio:
    """A published figure of a cell. ratio: to the published figure of its baseline in the same set,
    None where the set has none; 1 for a baseline."""

    figure: Published
    ratio: float | None


def figure_words(figure: Published) -> Mapping[str, str]:
    """The words of a published figure."""
    return words_split(figure.words.split(), "scenario.toml: [published] words: ")


def published_sets(matrix: Matrix) -> tuple[str, ...]:
    """The names of the sets of published figures in order; figures without one have the empty."""
    return tuple(dict.fromkeys(figure.set for figure in matrix.result.scenario.published))


def published_find(matrix: Matrix, cell: Cell, metric: str, set_name: str, label: str
                   ) -> Published | None:
    """The figure of a set for a cell; the one with the most words where several match."""
    matching = [figure for figure in matrix.result.scenario.published
                if (figure.metric, figure.set, figure.label) == (metric, set_name, label)
                and words_match(figure_words(figure), cell.words)]
    return max(matching, key=lambda figure: len(figure.words.split()), default=None)


def published_ratios(matrix: Matrix, cell: Cell, metric: str, base: Cell | None, label: str = LABEL
                ) -> tuple[PublishedRatio, ...]:
    """The published figures of a cell, at most one of each set. base: its baseline."""
    ratios = []
    for name in published_sets(matrix):
        figure = published_find(matrix, cell, metric, name, label)
        other = published_find(matrix, base, metric, name, LABEL) if base else None
        if figure is not None:
            ratios.append(PublishedRatio(figure, figure.value / other.value if other else None))
    return tuple(ratios)


def published_unused(matrix: Matrix) -> tuple[str, ...]:
    """The words of published figures that no cell of this result has."""
    return tuple(figure.words for figure in matrix.result.scenario.published if not any(
        words_match(figure_words(figure), cell.words) for cell in matrix.whole.cells.values()))
