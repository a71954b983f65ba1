# SPDX-License-Identifier: MIT
"""The changes of one metric between two sides, and their geometric mean. Base units."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from suite import stats
from suite.contrast.contrast import Status, Unit, same_reach, session_medians
from suite.contrast.verdicts import Judged
from suite.decide.comparison.model import Change, Mean
from suite.decide.summary import figure_make
from suite.observe.frame import Cell, Matrix, Series
from suite.observe.metrics import Metric

TIMER_S = (0.035, 0.050)  # time of a message that waits for a delayed acknowledgement of 40 ms


def figure_series(matrix: Matrix, cell: Cell, metric: Metric, unit: Unit) -> Series:
    """The values whose median is printed: of rounds, or between results of sessions."""
    rounds = matrix.series(cell.name, metric.name)
    medians = session_medians(matrix, rounds) if unit is Unit.SESSION else rounds
    return medians if len(medians) > 1 else rounds


def change_make(sides: tuple[Matrix, Matrix], cells: tuple[Cell, Cell], metric: Metric,
                judged: Judged) -> Change:
    """The change of a pair, base first, of which both sides have values."""
    taken = list(zip(sides, cells, strict=True))
    between = sides[0] is not sides[1]
    series = [figure_series(*side, metric, Unit.SESSION if between else Unit.ROUND)
              for side in taken]
    base, new = (figure_make(one, matrix.is_exact(cell.name, metric.name))
                 for (matrix, cell), one in zip(taken, series, strict=True))
    outliers = [sum(stats.outliers_mark(matrix.series(cell.name, metric.name).bounds.tolist()))
                for matrix, cell in taken]
    reaches = [reach for matrix, cell in taken
               if (reach := same_reach(matrix, cell, metric.name))]
    return Change(base, new, judged, (outliers[0], outliers[1]), max(reaches, default=None),
                  any(itertools.starmap(waits_for_timer, taken)))


def waits_for_timer(matrix: Matrix, cell: Cell) -> bool:
    """Whether a message of a cell takes as long as a delayed acknowledgement (Linux: at least
    TCP_DELACK_MIN, include/net/tcp.h). Then its ratios are about that timer."""
    series = matrix.series(cell.name, "time_per_message")
    return bool(len(series)) and TIMER_S[0] <= stats.median(series.values) <= TIMER_S[1]


def exclusion_text(change: Change | None, most: int, every: bool) -> str:
    """Why a row is not in a geometric mean; empty if it is. most: how many values the longest row
    has. every: only rows without a ratio are left out. Else exact counts are too, in which chance
    plays no part; and rows without an interval, whose few rounds would be those of all rows."""
    contrast = change.contrast if change else None
    if contrast is None or not (contrast.ratio or (contrast.exact and every)):
        return "only a direction" if contrast and contrast.censored else (
            "exact counts" if contrast and contrast.exact else "no ratio")
    if every:
        return "" if contrast.base.positive and contrast.new.positive else "no ratio"
    if change and change.timer:
        return "40 ms timer"
    if contrast.status is not Status.OK:
        return contrast.status.value
    needed = stats.ROUNDS_NEEDED if contrast.paired else stats.SIDES_NEEDED
    return f"n={contrast.size}" if contrast.size < needed <= most else ""


def changes_geomean(changes: Mapping[int, Change], rows: int, every: bool = False) -> Mean | None:
    """The geometric mean of new / base. rows: their number, with those without a change. every: of
    all rows with a ratio. None if fewer than two are usable, or share no round or session."""
    most = max((one.contrast.size for one in changes.values() if one.contrast.ratio), default=0)
    reasons = {index: exclusion_text(changes.get(index), most, every) for index in range(rows)}
    usable = [changes[index] for index, text in reasons.items() if not text]
    ratio = usable_geomean(usable) if len(usable) > 1 else None
    return Mean(ratio, len(usable),
                {index: text for index, text in reasons.items() if text}, every) if ratio else None


def usable_geomean(usable: Sequence[Change]) -> stats.Estimate | None:
    """The geometric mean of the ratios; None if no round or session is in all of them. Its value is
    that of the printed ratios."""
    contrasts = [one.contrast for one in usable]
    base, new = (pd.concat(sides, axis=1, join="inner") for sides in (
        [one.base.by_round for one in contrasts], [one.new.by_round for one in contrasts]))
    centre = float(np.exp(np.mean([np.log(one.ratio.value) for one in usable if one.ratio])))
    paired = contrasts[0].paired
    if paired:
        both = base.index.intersection(new.index)
        base, new = base.loc[both], new.loc[both]
    if not len(base) or not len(new):
        return None
    means = [np.exp(np.log(side.to_numpy()).mean(axis=1)) for side in (new, base)]
    return stats.ratio_make(means[0], means[1], paired, centre).estimate()
