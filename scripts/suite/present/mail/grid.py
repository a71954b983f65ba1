# SPDX-License-Identifier: MIT
"""The figures of a block as short texts: one grid for each metric, in one unit. Pure.

No text of a grid has a blank in it but an interval, `[+1.9%, +4.3%]`, and none is empty: so that a
posted block can be read again, however its columns were moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from suite.analyse.comparison.model import Comparison, Row
from suite.analyse.comparison.samples import row_figures, sides_known
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure, Summary
from suite.base.units import Scale, scale_choose
from suite.present.columns import median_text, width_item
from suite.present.comparison.columns import scale_of
from suite.present.comparison.texts import (
    NOTHING,
    interval_text,
    mean_size,
    mean_verdict,
    verdict_text,
    within_text,
)
from suite.present.mail.foot import rounds_line, table_rounds_text

WIDTH = "+/-"
SIDES, CHANGE, MEDIAN = ("base", WIDTH, "new", WIDTH), ("change", "95% CI"), ("median", WIDTH)
ONLY_AXIS, ONLY_CELL = "cells", "all"  # of a block whose cells differ in nothing but the side
FIRST = "default"


@dataclass(frozen=True)
class Grid:
    """One metric of a block.

    groups: the heads of the columns, in groups that stay together. rows: the values on the axes,
    then the figures. total: a label and the figures of the last columns, under all rows; None:
    there is none. fixed: words that all rows share where a wide grid was cut by an axis. rounds:
    the line below.
    """

    metric: Metric
    unit: str
    axes: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, ...] | None
    rounds: str
    fixed: Mapping[str, str] = field(default_factory=dict)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of all columns."""
        return (*self.axes, *(head for group in self.groups for head in group))


def width_text(figure: Figure) -> str:
    """The farther end of the interval in percent of the median, as in a table, in one word."""
    item = width_item(figure)
    return f"{item.text}{item.mark}".replace(" ", "") or NOTHING


def side_texts(figure: Figure | None, metric: Metric, scale: Scale) -> tuple[str, str]:
    """The median of one side and its width; NOTHING where the side has none."""
    return (median_text(figure.median, metric, scale).replace(" ", ""),
            width_text(figure)) if figure else (
        NOTHING, NOTHING)


def row_texts(comparison: Comparison, row: Row, metric: Metric, scale: Scale) -> tuple[str, ...]:
    """The figures of one row; where a side has none, what the other one has."""
    change = row.changes.get(metric.name)
    said = (verdict_text(change.ratio, change.verdict),
            within_text(change)) if change else (NOTHING, NOTHING)
    return (*(text for figure in row_figures(comparison, row, metric)
              for text in side_texts(figure, metric, scale)),
            *said)


def total_texts(comparison: Comparison, metric: Metric) -> tuple[str, ...] | None:
    """The geometric mean of all ratios; None where there is none."""
    mean = comparison.geomeans.get(metric.name)
    if mean is None:
        return None
    label = ", ".join(filter(None, mean_size(comparison, metric, mean)))
    return f"geomean {label}", verdict_text(mean.ratio,
                                            mean_verdict(mean)), interval_text(mean.ratio)


def places_order(places: Sequence[tuple[str, ...]]) -> list[int]:
    """The rows, by their values on the axes, in the order of the plan, but `default` before all
    others."""
    known: list[dict[str, int]] = [{} for _ in (places[0] if places else ())]
    for place in places:
        for ranks, value in zip(known, place, strict=True):
            ranks.setdefault(value, -1 if value == FIRST else len(ranks))
    return sorted(range(len(places)), key=lambda index: [
        ranks[value] for ranks, value in zip(known, places[index], strict=True)])


def grid_make(metric: Metric, scale: Scale, axes: tuple[str, ...],
              groups: tuple[tuple[str, ...], ...],
              rows: Sequence[tuple[Mapping[str, str], tuple[str, ...]]],
              total: tuple[str, ...] | None,
              rounds: str) -> Grid:
    """A grid from rows of (words of the axes, figures)."""
    places = [tuple(words.get(axis) or "none" for axis in axes) or (ONLY_CELL,)
              for words, _ in rows]
    ordered = tuple(places[index] + rows[index][1] for index in places_order(places))
    return Grid(metric, scale.unit, axes or (ONLY_AXIS,), groups, ordered, total, rounds)


def comparison_grids(comparison: Comparison) -> tuple[Grid, ...]:
    """A grid for each metric of a comparison that some cell knows."""
    grids = []
    for metric in comparison.metrics:
        if any(sides_known(comparison, metric)):
            scale = scale_of(comparison, metric)
            rows = [(row.axes, row_texts(comparison, row, metric, scale))
                    for row in comparison.rows]
            grids.append(grid_make(metric, scale, comparison.axes, (SIDES, CHANGE), rows,
                                   total_texts(comparison, metric),
                                   rounds_line(comparison, metric)))
    return tuple(grids)


def table_grids(summary: Summary, axes: tuple[str, ...], cells: Sequence[str]) -> tuple[Grid, ...]:
    """A grid of medians for each metric that some of these cells (by name) know."""
    grids = []
    for metric in summary.metrics:
        figures = {name: summary.figures[name].get(metric.name) for name in cells}
        known = [figure for figure in figures.values() if figure]
        if not known:
            continue
        scale = scale_choose((figure.median for figure in known), metric.unit)
        rows = [(summary.matrix.cells[name].axes, side_texts(figure, metric, scale))
                for name, figure in figures.items()]
        grids.append(grid_make(metric, scale, axes, (MEDIAN,), rows, None,
                               table_rounds_text(known, summary.floor_most(metric.name), metric)))
    return tuple(grids)


def grid_columns(grid: Grid) -> list[Grid]:
    """The grid cut by groups of columns; the total stays with the last, and the line below too."""
    parts, begin = [], len(grid.axes)
    for group in grid.groups:
        end = begin + len(group)
        rows = tuple(row[:len(grid.axes)] + row[begin:end] for row in grid.rows)
        last = group is grid.groups[-1]
        parts.append(replace(grid, groups=(group,), rows=rows, total=grid.total if last else None,
                             rounds=grid.rounds if last else ""))
        begin = end
    return parts


def grid_rows(grid: Grid) -> list[Grid]:
    """The grid cut by the values of its first axis, which then stand above each part."""
    parts, axis = [], grid.axes[0]
    axes, names = (grid.axes[1:], ()) if len(grid.axes) > 1 else ((ONLY_AXIS,), (ONLY_CELL,))
    values = list(dict.fromkeys(row[0] for row in grid.rows))
    for value in values:
        rows = tuple(names + row[1:] for row in grid.rows if row[0] == value)
        last = value == values[-1]
        parts.append(replace(grid, axes=axes, rows=rows, fixed={**grid.fixed, axis: value},
                             total=grid.total if last else None,
                             rounds=grid.rounds if last else ""))
    return parts
