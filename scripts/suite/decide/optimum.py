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
from suite.observe.frame import Cell, Matrix
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
    def unique(self) -> bool:
        return all(mark == WORSE for mark in self.marks.values() if mark != BEST)

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
    return WORSE if is_better(judged, metric, False) else ALIKE


def is_better(judged: Judged, metric: Metric, better: bool = True) -> bool:
    """Whether a contrast is a change for the better; with better=False, for the worse."""
    ratio = judged.estimate
    if ratio is None or not judged.verdict.claims or ratio.value == 1:
        return False
    return (better_ratio(ratio, metric).value > 1) is better


def rounds_to_decide(judged: Judged) -> float:
    """How many rounds would show the measured difference of two cells, with the correction for
    their family. Infinite if that is unknown."""
    ratio = judged.contrast.ratio
    if ratio is None:
        return math.inf
    return max(ratio.pairs + 1, stats.rounds_to_find(ratio, max(judged.family.tested, 1)))


def best_ratio_build(matrix: Matrix, best: Cell, base: Cell, metric: Metric, axis: str
                     ) -> BestRatio:
    judged = pair_judged(matrix, base, best, metric.name)
    ratio = judged.estimate
    return BestRatio(base.axes[axis], better_ratio(ratio, metric) if ratio else None, judged)


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
    by_value = {cell.axes[axis]: cell for cell in cells}
    series = {value: matrix.series(cell.name, metric.name) for value, cell in by_value.items()}
    medians = {value: one.median for value, one in series.items()}
    ordered = sorted(by_value.values(), reverse=metric.better == "higher", key=lambda cell: (
        stats.median(series[cell.axes[axis]].values), medians[cell.axes[axis]]))
    best, *others = ordered
    base = matrix.baseline_find(best)
    reference = next((cell for cell in others if cell is base), others[0] if others else None)
    place = {key: value for key, value in best.axes.items() if key != axis}
    marks, rounds = {best.axes[axis]: BEST}, dict[str, float]()
    for value, cell in by_value.items():
        if cell is best:
            continue
        judged = pair_judged(matrix, best, cell, metric.name)
        marks[value] = mark_choose(judged, metric)
        if marks[value] == ALIKE:
            rounds[value] = 0 if judged.verdict is Verdict.EXACT else rounds_to_decide(judged)
    left_out = {cell.axes[axis]: why for cell in matrix.cells.values()
                if place.items() <= cell.axes.items() and (why := left_out_reason(
                    matrix, cell, metric))}
    against = {value: pair_judged(matrix, base, cell, metric.name)
               for value, cell in by_value.items() if base in cells and base is not cell and base}
    better, worse = (frozenset(value for value, judged in against.items()
                               if is_better(judged, metric, wanted)) for wanted in (True, False))
    return Optimum(axis, metric, place, medians, {value: marks[value] for value in by_value},
                   rounds, left_out,
                   best_ratio_build(matrix, best, reference, metric, axis) if reference else None,
                   axis in matrix.baseline and base is best, better, worse)


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a shown cell, in the plan's order."""
    return tuple(optimum_build(matrix.whole, axis, metric, cells)
                 for cells in groups_find(matrix.whole, axis, metric.name)
                 if any(cell.name in matrix.cells for cell in cells))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None if the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)
