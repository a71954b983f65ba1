# SPDX-License-Identifier: MIT
"""The cells that words select, the axes that name the rows of a table, and the metrics of its
columns. Pure; every command that reads a result uses it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from suite.analyse.frame import Cell, Matrix
from suite.analyse.metrics import METRICS, metric_find
from suite.analyse.summary import metrics_shown
from suite.base.errors import UsageError, nearest_hint
from suite.base.words import words_text
from suite.scenario.scenario import TableLayout

Selection = Mapping[str, str]


def selector_check(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> None:
    """UsageError for a word or value that no cell has. own: words of the command, for the hint."""
    for key, value in words.items():
        values = dict.fromkeys(cell.words[key] for cell in matrix.whole.cells.values()
                               if key in cell.words)
        if not values:
            known = [key for cell in matrix.cells.values() for key in cell.words]
            hint = nearest_hint(key, dict.fromkeys([*known, *own])) or (
                f" (here vary {', '.join(matrix.axes)})" if matrix.axes else "")
            raise UsageError(f'"{key}={value}": no word {key} in {matrix.result.name}{hint}')
        missing = next((part for part in value.split(",") if part not in values), None)
        if missing is not None:
            raise UsageError(f'"{key}={value}": no cell of {matrix.result.name} has {key}={missing}'
                             f"{nearest_hint(missing, values)}")


def cells_select(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> list[Cell]:
    """The cells that have, for every word, one of its values. A narrowed matrix has only its shown
    cells and their baselines. UsageError if there is none."""
    selector_check(matrix, words, own)
    cells = [cell for cell in matrix.cells_compared
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    if not cells:
        raise UsageError(f'no cell of {matrix.result.name} has "{words_text(words)}"')
    return cells


def matrix_narrow(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> Matrix:
    """The matrix that shows only the selected cells; UsageError if there is none. Ratios and
    verdicts stay those of all cells. own: as for selector_check()."""
    if not words:
        return matrix
    cells = cells_select(matrix, words, own)
    return replace(matrix, cells={cell.name: cell for cell in cells}, narrowed_from=matrix)


def left_out_text(matrix: Matrix, words: Selection) -> str:
    """What follows from damage, and how many cells a narrowed matrix does not show; empty if it
    shows all of a whole result."""
    every = len(matrix.whole.cells)
    left_out = every - len(matrix.cells)
    text = f"left out {left_out} of {every} cells of {matrix.result.name}: not {words_text(words)}"
    return "; ".join(filter(None, (matrix.result.damage_text, text if left_out else "")))


class Layout(NamedTuple):
    """rows: axes that name the rows. across: axes whose values are columns. metrics: names, in the
    order of their columns. best: the axis whose best value is asked for, or None."""

    rows: tuple[str, ...]
    across: tuple[str, ...]
    metrics: tuple[str, ...]
    best: str | None = None


def layout_choose(matrix: Matrix, asked: TableLayout) -> Layout:
    """The layout from the names asked for (empty: the default), without words that do not vary. An
    axis that is not named becomes a row, so that no cell is hidden. UsageError for other names."""
    known = set(matrix.axes).union(*(cell.words for cell in matrix.whole.cells.values()))
    for name in asked.rows:
        if name not in known:
            raise UsageError(f'rows: no word "{name}" in this result{nearest_hint(name, known)}')
    for name in asked.columns:
        if name not in known and name not in METRICS:
            hint = nearest_hint(name, [*METRICS, *matrix.axes]) or " (uncork list shows metrics)"
            raise UsageError(f'columns: "{name}" is neither a metric nor a word here{hint}')
    metrics, scenario = metrics_shown(matrix, asked.columns), matrix.result.scenario
    if asked.columns == scenario.table.columns:  # not chosen by the reader: what is answered, too
        metrics = tuple(dict.fromkeys([*metrics, *(
            metric_find(one.metric, "scenario.toml: [answer] metric").name
            for one in scenario.answers)]))
    if asked.gain and metric_find(asked.gain, "gain").name not in metrics:
        metrics = (asked.gain, *metrics)
    across = tuple(name for name in asked.columns if name in matrix.axes)
    named = tuple(name for name in asked.rows if name in matrix.axes and name not in across)
    rest = tuple(axis for axis in matrix.axes if axis not in across and axis not in named)
    if asked.best and asked.best not in known:
        raise UsageError(f'best: no word "{asked.best}" in this result'
                         f"{nearest_hint(asked.best, matrix.axes)}")
    best = asked.best if asked.best in matrix.axes else None
    rows = sorted(named + rest, key=lambda axis: axis == best)  # last, so that groups are together
    return Layout(tuple(rows), across, metrics, best)
