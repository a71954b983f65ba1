# SPDX-License-Identifier: MIT
"""The width of a result's intervals, compared with that of until=. Pure. until= never asks for a
change: rounds added until it is significant find one in identical runs too (docs/methodology.md).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from suite import stats
from suite.base.units import counted_text, number_text
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import METRICS
from suite.observe.selection import metrics_shown

CELLS_SHOWN = 8  # cells that a line names


class Precision(NamedTuple):
    """The cells that missed the width that until= asks for, with their widths (width_of()), the
    widest first; and in one line `1% of bandwidth, missed by 1 of 6 cells: write=nagle 3.1%`."""

    wide: tuple[tuple[Cell, float], ...]
    text: str


def width_of(values: Sequence[float], exact: bool) -> float:
    """The distance from the median to the farther end of its 95 % interval, as a fraction of the
    median; infinite without an interval."""
    if exact:
        return 0.0
    interval, centre = stats.median_interval(values), stats.median(values)
    if interval is None or interval.level is None:
        return math.inf
    if centre == 0:
        return 0.0 if interval.low == interval.high else math.inf
    return stats.relative_width(centre, interval)


def precision_measure(matrix: Matrix) -> Precision | None:
    """The widths of the intervals of all rounds so far, by the table's first metric; None without
    until=."""
    asked = matrix.result.plan.until
    if asked is None:
        return None
    metric = METRICS[metrics_shown(matrix, matrix.result.scenario.table.columns)[0]]
    # more rounds do not help a cell that mostly fails, or has no values, or lower bounds only
    widths = [(cell, width_of(series.values.tolist(), matrix.is_exact(name, metric.name)))
              for name, cell in matrix.whole.cells.items() if cell.runs_ok > cell.runs_failed
              and len(series := matrix.series(name, metric.name)) and not series.censored]
    limit = float(asked.removesuffix("%")) / 100
    wide = tuple(sorted((one for one in widths if one[1] > limit), key=lambda one: -one[1]))
    if not wide:
        outcome = (", and every interval is that narrow" if widths else
                   ": no cell has it, so no round was added")
        return Precision(wide, f"{asked} of {metric.name}{outcome}")
    texts = ", ".join(f"{cell.text or 'the only cell'} " + (
        f"{number_text(100 * width, 2)}%" if math.isfinite(width) else "(no interval)")
        for cell, width in wide[:CELLS_SHOWN])
    left = len(wide) - CELLS_SHOWN
    more = f" and {left} more" if left > 0 else ""
    return Precision(wide, f"{asked} of {metric.name}, missed by {len(wide)} of "
                           f"{counted_text(len(widths), 'cell')}: {texts}{more}")
