# SPDX-License-Identifier: MIT
"""Which axes name the rows of a table, which metrics its columns. Pure."""

from __future__ import annotations

from typing import NamedTuple

from suite.analyse.frame import Matrix
from suite.analyse.metrics import METRICS, metric_find
from suite.analyse.summary import metrics_default
from suite.base.errors import UsageError, nearest_hint
from suite.scenario.scenario import TableLayout


class Layout(NamedTuple):
    """The names that a table is laid out by.

    rows: axes that name the rows. across: axes spread over columns. metrics: names of metrics, in
    the order of their columns. best: the axis of which the best value is looked for, or None.
    """

    rows: tuple[str, ...]
    across: tuple[str, ...]
    metrics: tuple[str, ...]
    best: str | None = None


def layout_choose(matrix: Matrix, asked: TableLayout) -> Layout:
    """The layout from the names asked for (empty: the default).

    An axis that varies and is named nowhere becomes a row, so that no cell is hidden; a word that
    does not vary here is left out. UsageError for a name that is neither word nor metric.
    """
    known = set(matrix.axes).union(*(cell.words for cell in matrix.whole.cells.values()))
    for name in asked.rows:
        if name not in known:
            raise UsageError(f'rows: no word "{name}" in this result{nearest_hint(name, known)}')
    for name in asked.columns:
        if name not in known and name not in METRICS:
            hint = nearest_hint(name, [*METRICS, *matrix.axes]) or " (uncork list shows metrics)"
            raise UsageError(f'columns: "{name}" is neither a metric nor a word here{hint}')
    metrics = tuple(name for name in asked.columns if name in METRICS) or metrics_default(matrix)
    if asked.gain and metric_find(asked.gain, "gain").name not in metrics:
        metrics = (asked.gain, *metrics)
    across = tuple(name for name in asked.columns if name in matrix.axes)
    named = tuple(name for name in asked.rows if name in matrix.axes and name not in across)
    rest = tuple(axis for axis in matrix.axes if axis not in across and axis not in named)
    if asked.best and asked.best not in known:
        raise UsageError(f'best: no word "{asked.best}" in this result'
                         f"{nearest_hint(asked.best, matrix.axes)}")
    best = asked.best if asked.best in matrix.axes else None
    rows = sorted(named + rest, key=lambda axis: axis == best)  # so that a group stands together
    return Layout(tuple(rows), across, metrics, best)
