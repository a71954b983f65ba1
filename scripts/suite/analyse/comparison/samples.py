# SPDX-License-Identifier: MIT
"""The values behind one metric of one pair of cells, and what they come to. Base units.

Where both sides ran in the same rounds a round is the unit. Kernels that are booted for every round
share none, although they stand in one result: there a boot is. Two results share none either: there
a session is, and its value is the median of its rounds, because whatever a boot or a build brings
with it is the same in all of these.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from suite import stats
from suite.analyse.comparison.model import Change, Comparison, Mean, Row, Unit
from suite.analyse.frame import Cell, Matrix, Series, noise_floor_highest, ratio_of, rounds_join
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure, figure_build, figure_make
from suite.analyse.verdicts import Verdict

TIMER_S = (0.035, 0.050)  # messages that wait for a delayed acknowledgement of 40 ms


def sessions_of(matrix: Matrix) -> dict[str, range]:
    """The counted rounds of every session, by its id."""
    return {session.name: session.rounds for session in matrix.result.plan.sessions}


def session_medians(matrix: Matrix, series: Series) -> Series:
    """The median of each session that has values by round, by session."""
    known = [(name, one) for name, rounds in sessions_of(matrix).items()
             if len(one := series.take(np.isin(series.rounds, rounds)))]
    return Series(np.array([name for name, _ in known]),
                  np.array([np.median(one.values) for _, one in known]),
                  np.array([np.median(one.bounds) for _, one in known]))


def change_make(sides: tuple[Matrix, Matrix], cells: tuple[Cell, Cell], metric: Metric,
                unit: Unit) -> Change | None:
    """The change of a pair, base first, without a verdict, which needs all cells of the metric;
    None where a side has no value. Sides that share rounds have values, medians and outliers of
    these rounds only. Exact counts have no interval, and are the same where both are 0."""
    taken = list(zip(sides, cells, strict=True))
    rounds = [matrix.series(cell.name, metric.name) for matrix, cell in taken]
    if unit is Unit.ROUND:
        rounds = list(rounds_join(*rounds))
    if not all(map(len, rounds)):
        return None
    values = list(map(session_medians, sides, rounds)) if unit is Unit.SESSION else rounds
    shown = [medians if len(medians) > 1 else side
             for side, medians in zip(rounds, values, strict=True)]
    base, new = (figure_make(side.values, side.bounds, matrix.is_exact(cell.name, metric.name))
                 for (matrix, cell), side in zip(taken, shown, strict=True))
    outliers = [sum(stats.outliers_mark(side.bounds.tolist())) for side in rounds]
    change = Change(base, new, None, None, Verdict.UNKNOWN, None, (outliers[0], outliers[1]),
                    noise_floor_highest(taken, metric.name), values[0], values[1],
                    unit is Unit.ROUND, any(itertools.starmap(waits_for_timer, taken)))
    pairs = len(change.base_values)
    if change.exact and new.median == base.median:
        return replace(change, ratio=stats.Estimate(1.0, None, pairs))
    if not change.positive:
        return change
    if change.exact:
        return replace(change, ratio=stats.Estimate(new.median / base.median, None, pairs))
    ratio = ratio_of(change.new_values, change.base_values, change.paired)
    return replace(change, ratio=ratio, detectable=None if change.censored else (
        stats.smallest_detectable(change.new_values.values, change.base_values.values,
                                  change.paired)))


def waits_for_timer(matrix: Matrix, cell: Cell) -> bool:
    """Whether a message of a cell takes the time of a delayed acknowledgement (Linux: at least
    TCP_DELACK_MIN, include/net/tcp.h), so that its ratios are about that timer."""
    series = matrix.series(cell.name, "time_per_message")
    return bool(len(series)) and TIMER_S[0] <= stats.median(series.values) <= TIMER_S[1]


def exclusion_text(change: Change | None, most: int, every: bool) -> str:
    """The reason that a row is not in a geometric mean; empty if it is. most: the number of values
    that other rows have, on the smaller side. every: only a row without a ratio is not. A row
    without an interval would leave none to all others. Exact counts are no matter of chance."""
    if change is None or not change.positive:
        return "no ratio"
    if change.censored:
        return "only a direction"
    if every:
        return ""
    if change.exact:
        return "exact counts"
    if change.timer:
        return "40 ms timer"
    needed = stats.ROUNDS_NEEDED if change.paired else stats.SIDES_NEEDED
    return f"n={change.size}" if change.size < needed <= most else ""


def changes_geomean(changes: Mapping[int, Change], rows: int, every: bool = False) -> Mean | None:
    """The geometric mean of new / base over so many rows, those without a change too. every: of all
    with a ratio. None where fewer than two can be in it, or share no round or session."""
    floors = [one.floor for one in changes.values() if one.floor is not None]
    most = max((one.size for one in changes.values() if not one.exact and not one.censored),
               default=0)
    reasons = {place: exclusion_text(changes.get(place), most, every) for place in range(rows)}
    usable = [changes[place] for place, text in reasons.items() if not text]
    ratio = usable_geomean(usable) if len(usable) > 1 else None
    return Mean(ratio, len(usable),
                {place: text for place, text in reasons.items() if text},
                max(floors, default=None), every) if ratio else None


def usable_geomean(usable: Sequence[Change]) -> stats.Estimate | None:
    """The geometric mean of their ratios; None where no round or session is in all of them."""
    base, new = (pd.concat([pd.Series(side.values, index=side.rounds) for side in sides], axis=1,
                           join="inner")
                 for sides in zip(*((one.base_values, one.new_values) for one in usable),
                                  strict=True))
    if usable[0].paired:
        both = base.index.intersection(new.index)
        ratios = new.loc[both].to_numpy() / base.loc[both].to_numpy()
        return stats.geometric_mean(ratios.T.tolist()) if len(both) else None
    if not len(base) or not len(new):
        return None
    means = [np.exp(np.log(side.to_numpy()).mean(axis=1)).tolist() for side in (new, base)]
    return stats.ratio_estimate(means[0], means[1], paired=False)


def row_figures(comparison: Comparison, row: Row,
                metric: Metric) -> tuple[Figure | None, Figure | None]:
    """The figures of base and new in a row; that of a cell alone where the other side has none."""
    change = row.changes.get(metric.name)
    if change:
        return change.base, change.new
    base, new = (figure_build(side.matrix, cell, metric) if cell else None
                 for side, cell in zip(comparison.sides, (row.base, row.new), strict=True))
    return base, new


def sides_known(comparison: Comparison, metric: Metric) -> tuple[bool, bool]:
    """Whether some row knows a metric of base, and of new."""
    figures = [row_figures(comparison, row, metric) for row in comparison.rows]
    return any(base is not None for base, _ in figures), any(new is not None for _, new in figures)
