# SPDX-License-Identifier: MIT
"""The best value of a word, for each group of cells that differ in nothing else.

A cell is better than another if the verdict of their contrast is a change for the better. The best
is the cell with the best median: a claimed change agrees with the medians, so no other is better.

The best may be the luckiest of many cells. So another cell is worse only if the verdict says that
the best is better. Each value is also held against the baseline.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from suite import stats
from suite.contrast.contrast import Verdict
from suite.contrast.verdicts import Judged, groups_find, pair_judged
from suite.observe.frame import Cell, Matrix, remembered
from suite.observe.metrics import Metric

BEST, ALIKE, WORSE, UNKNOWN = "*", "=", "", "?"  # marks; UNKNOWN: too few rounds


class BestRatio(NamedTuple):
    """The best of a group against a reference: the baseline of the group. If the best is the
    baseline, or the group has none, the reference is the next best value. ratio: how many times
    better the best is; None if the contrast has none."""

    reference: str
    ratio: stats.Estimate | None
    judged: Judged


@dataclass(frozen=True)
class Optimum:
    """The best value of axis by a metric, of one group.

    place: the words that the group shares. left_out: by value without a figure, why.
    medians, marks: by value with a figure, in the plan's order; medians are in the base unit.
    rounds: by value that may be as good as the best: how many rounds would show the difference; 0
    if both are the same count.
    best_ratio: None if no other value has a figure. is_baseline: of the best. spread: the largest
    median divided by the smallest.
    better, worse: the values that are better, or worse, than the baseline.
    """

    axis: str
    metric: Metric
    place: Mapping[str, str]
    medians: Mapping[str, float]
    marks: Mapping[str, str]
    rounds: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    best_ratio: BestRatio | None = None
    is_baseline: bool = False
    better: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()

    @property
    def best(self) -> str:
        return next(value for value, mark in self.marks.items() if mark == BEST)

    @property
    def spread(self) -> float:
        return max(self.medians.values()) / min(self.medians.values())

    @property
    def alike(self) -> tuple[str, ...]:
        """The best value and all that may be as good; empty with UNKNOWN marks."""
        if UNKNOWN in self.marks.values():
            return ()
        return tuple(value for value, mark in self.marks.items() if mark in (BEST, ALIKE))


def reciprocal(ratio: float) -> float:
    """1 / ratio; infinite for 0, by which an estimate says a direction only."""
    return 1 / ratio if ratio else math.inf


def better_ratio(ratio: stats.Estimate, metric: Metric) -> stats.Estimate:
    """How many times better: the ratio, or its inverse if lower is better. Above 1 is better."""
    if metric.better == "higher":
        return ratio
    interval = ratio.interval
    inverse = stats.Interval(reciprocal(interval.high), reciprocal(interval.low),
                             interval.level) if interval else None
    return replace(ratio, value=reciprocal(ratio.value), interval=inverse)


def mark_choose(judged: Judged, metric: Metric) -> str:
    """The mark of a cell, from its contrast to the best cell."""
    if judged.estimate is None or judged.verdict in (Verdict.UNKNOWN, Verdict.WITHHELD):
        return UNKNOWN
    return WORSE if judged.direction(metric) < 0 else ALIKE


def rounds_to_decide(judged: Judged) -> float:
    """How many rounds would show the measured difference of two cells, with the correction for
    their family. Infinite if that is unknown; 0 if both are the same count."""
    if judged.verdict is Verdict.EXACT:
        return 0
    ratio = judged.contrast.ratio
    if ratio is None:
        return math.inf
    return max(ratio.pairs + 1, stats.rounds_to_find(ratio, max(judged.family.tested, 1)))


def left_out_reason(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """Why a cell of a group has no figure; empty if it has one, or did not run."""
    series = matrix.series(cell.name, metric.name)
    if cell.status == "failed":
        return "failed in every round"
    if cell.status != "ok" or series.positive:
        return ""
    return f"cannot be compared: {metric.name} was 0 in some round" if len(series) else (
        f"has no {metric.name}")


def optimum_build(matrix: Matrix, axis: str, metric: Metric, cells: Sequence[Cell]) -> Optimum:
    """The optimum of one group, which is not empty."""
    def judged_all(base: Cell) -> dict[str, Judged]:
        return {cell.axes[axis]: pair_judged(matrix, base, cell, metric.name)
                for cell in cells if cell is not base}

    def rank(cell: Cell) -> tuple[float, float]:
        series = matrix.series(cell.name, metric.name)
        return stats.median(series.values), series.median

    best, *others = sorted(cells, key=rank, reverse=metric.better == "higher")
    base, value = matrix.baseline_find(best), best.axes[axis]
    reference = base if base in others else others[0] if others else None
    ratio = pair_judged(matrix, reference, best, metric.name) if reference else None
    place = {key: word for key, word in best.axes.items() if key != axis}
    versus_best = judged_all(best)
    marks = {value: BEST} | {name: mark_choose(one, metric) for name, one in versus_best.items()}
    versus_base = judged_all(base) if base and base in cells else {}
    return Optimum(
        axis, metric, place,
        medians={cell.axes[axis]: matrix.series(cell.name, metric.name).median for cell in cells},
        marks={cell.axes[axis]: marks[cell.axes[axis]] for cell in cells},
        rounds={name: rounds_to_decide(one) for name, one in versus_best.items()
                if marks[name] == ALIKE},
        left_out={cell.axes[axis]: why for cell in matrix.cells.values()
                  if place.items() <= cell.axes.items()
                  and (why := left_out_reason(matrix, cell, metric))},
        best_ratio=BestRatio(
            reference.axes[axis], ratio.estimate and better_ratio(ratio.estimate, metric), ratio)
        if reference and ratio else None,
        is_baseline=axis in matrix.baseline and base is best,
        better=frozenset(name for name, one in versus_base.items() if one.direction(metric) > 0),
        worse=frozenset(name for name, one in versus_base.items() if one.direction(metric) < 0))


@remembered
def optima_all(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    return tuple(optimum_build(matrix.whole, axis, metric, cells)
                 for cells in groups_find(matrix.whole, axis, metric.name))


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a shown cell, in the plan's order."""
    shown = [cell.axes for cell in matrix.cells.values()]
    return tuple(one for one in optima_all(matrix, axis, metric)
                 if any(one.place.items() <= axes.items() and axes[axis] in one.medians
                        for axes in shown))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None if the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)
