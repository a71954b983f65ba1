# SPDX-License-Identifier: MIT
"""The values of one metric of one pair of cells, and the change computed from them. Base units.

The unit of independent values (Unit) is a round if both sides ran in the same rounds. Kernels that
are booted for every round share no round, even in one result: the unit is a boot. Two results share
no round either: the unit is a session, and its value is the median of its rounds. Rounds of one
session are not independent, because they have the same boot and the same build.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from suite import stats
from suite.analyse.comparison.model import Change, Mean, Unit
from suite.analyse.frame import Cell, Matrix, Series, noise_floor_highest, ratio_of, rounds_join
from suite.analyse.metrics import Metric
from suite.analyse.summary import figure_make
from suite.analyse.verdicts import Verdict

TIMER_S = (0.035, 0.050)  # time of a message that waits for a delayed acknowledgement of 40 ms


def sessions_of(matrix: Matrix) -> dict[str, range]:
    """The counted rounds of every session, by its id."""
    return {session.name: session.rounds for session in matrix.result.plan.sessions}


def session_medians(matrix: Matrix, series: Series) -> Series:
    """The median of each session that has values, by session."""
    known = [(name, one) for name, rounds in sessions_of(matrix).items()
             if len(one := series.take(np.isin(series.rounds, rounds)))]
    return Series(np.array([name for name, _ in known]),
                  np.array([np.median(one.values) for _, one in known]),
                  np.array([np.median(one.bounds) for _, one in known]))


def change_make(sides: tuple[Matrix, Matrix], cells: tuple[Cell, Cell], metric: Metric,
                unit: Unit) -> Change | None:
    """The change of a pair, base first, without a verdict, which needs all cells. None if a side
    has no value. If the sides share rounds, all figures are of these rounds only."""
    taken = list(zip(sides, cells, strict=True))
    rounds = [matrix.series(cell.name, metric.name) for matrix, cell in taken]
    if unit is Unit.ROUND:
        rounds = list(rounds_join(*rounds))
    if not all(map(len, rounds)):
        return None
    values = list(map(session_medians, sides, rounds)) if unit is Unit.SESSION else rounds
    shown = [medians if len(medians) > 1 else side
             for side, medians in zip(rounds, values, strict=True)]
    base, new = (figure_make(side, matrix.is_exact(cell.name, metric.name))
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
    """Whether a message of a cell takes as long as a delayed acknowledgement (Linux: at least
    TCP_DELACK_MIN, include/net/tcp.h). Then its ratios are about that timer."""
    series = matrix.series(cell.name, "time_per_message")
    return bool(len(series)) and TIMER_S[0] <= stats.median(series.values) <= TIMER_S[1]


def exclusion_text(change: Change | None, most: int, every: bool) -> str:
    """Why a row is not in a geometric mean; empty if it is. most: how many values the longest row
    has. every: only rows without a ratio are left out. Else exact counts are too, in which chance
    plays no part; and rows without an interval, whose few rounds would be those of all rows."""
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
    """The geometric mean of new / base. rows: their number, with those without a change. every: of
    all rows with a ratio. None if fewer than two are usable, or share no round or session."""
    floors = [one.floor for one in changes.values() if one.floor is not None]
    most = max((one.size for one in changes.values() if not one.exact and not one.censored),
               default=0)
    reasons = {index: exclusion_text(changes.get(index), most, every) for index in range(rows)}
    usable = [changes[index] for index, text in reasons.items() if not text]
    ratio = usable_geomean(usable) if len(usable) > 1 else None
    return Mean(ratio, len(usable),
                {index: text for index, text in reasons.items() if text},
                max(floors, default=None), every) if ratio else None


def usable_geomean(usable: Sequence[Change]) -> stats.Estimate | None:
    """The geometric mean of the ratios; None if no round or session is in all of them."""
    base, new = (pd.concat([side.by_round for side in sides], axis=1, join="inner")
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
