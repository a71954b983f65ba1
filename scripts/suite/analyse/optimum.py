# SPDX-License-Identifier: MIT
"""The best value of a word, for each group of cells that differ in nothing else.

A cell is better than another if the verdict of their ratio (verdicts.py) is a change for the
better. Candidates for the best are the cells without a better one; the best median decides. Ratios
of rounds may form a cycle, as votes can: A better than B, B than C, C than A. If each cell has a
better one, all are candidates.

The best may be the luckiest of many cells. So another cell is worse only if the verdict says that
the best is better. Else noise hides their difference.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from suite import stats
from suite.analyse.frame import Cell, Matrix, noise_floor_highest, rounds_common
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Verdict, groups_find, pair_family, pair_verdict

BEST, ALIKE, WORSE, UNKNOWN = "*", "=", "", "?"  # marks; UNKNOWN: too few rounds


class BestRatio(NamedTuple):
    """The best of a group compared with a reference: the baseline of the group. If the best is the
    baseline, or the group has none, the reference is the next best value. In a cycle it is a value
    that is better than the best median.

    ratio: how many times better the best is; None if the two share no good round. floor: the noise
    floor of the two. tested: the size of their family. shared: whether they share rounds.
    """

    reference: str
    ratio: stats.Estimate | None
    verdict: Verdict
    floor: float | None
    tested: int
    shared: bool


@dataclass(frozen=True)
class Optimum:
    """The best value of axis by a metric, of one group.

    place: the words that the group shares. left_out: by value without a figure, why.
    medians, marks: by value with a figure, in the plan's order; medians are in the base unit.
    rounds: by value whose difference from the best noise hides: how many rounds would show it; 0 if
    both are the same count.
    best_ratio: None if no other value has a figure. is_baseline: of the best.
    better: the values that are better than the baseline. circular: each value has a better one.
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
    circular: bool = False

    @property
    def best(self) -> str:
        return next(value for value, mark in self.marks.items() if mark == BEST)

    @property
    def unique(self) -> bool:
        return all(mark == WORSE for mark in self.marks.values() if mark != BEST)

    @property
    def alike(self) -> tuple[str, ...]:
        """The best value and all that may be as good; empty in a cycle, or with UNKNOWN marks."""
        if self.circular or UNKNOWN in self.marks.values():
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


def mark_choose(ratio: stats.Estimate | None, verdict: Verdict, metric: Metric,
                hopeless: bool = False) -> str:
    """The mark of a cell, from its ratio to the best cell, if any, the verdict of this, and whether
    their family is hopeless."""
    if ratio is None or verdict is Verdict.UNKNOWN or (hopeless and verdict is Verdict.BRACKETED):
        return UNKNOWN
    worse = better_ratio(ratio, metric).value < 1
    return WORSE if worse and verdict in (Verdict.CHANGED, Verdict.EXACT) else ALIKE


def rounds_to_decide(matrix: Matrix, one: Cell, other: Cell, metric: str) -> float:
    """How many rounds would show the measured difference of two cells, with the correction for
    their family (stats.rounds_to_find). Infinite if that is unknown."""
    both = matrix.series_between(one, other, metric)
    if both is None or any(series.censored for series in both):
        return math.inf
    floor = noise_floor_highest([(matrix, one), (matrix, other)], metric) or 1.0
    rows = max(pair_family(matrix, one, other, metric)[0].tested, 1)
    return max(min(map(len, both)) + 1, stats.rounds_to_find(
        both[0].values, both[1].values, rounds_common((one, other)), rows, floor))


def best_ratio_build(matrix: Matrix, best: Cell, base: Cell, metric: Metric, axis: str
                     ) -> BestRatio:
    ratio = matrix.ratio_between(best, base, metric.name)
    return BestRatio(base.axes[axis], better_ratio(ratio, metric) if ratio else None,
                     pair_verdict(matrix, best, base, metric.name),
                     noise_floor_highest([(matrix, best), (matrix, base)], metric.name),
                     pair_family(matrix, best, base, metric.name)[0].tested,
                     rounds_common((best, base)))


def cells_better(matrix: Matrix, cell: Cell, group: Iterable[Cell], metric: Metric) -> list[Cell]:
    """The cells of a group that are better than this one."""
    return [other for other in group if other is not cell
            and (ratio := matrix.ratio_between(other, cell, metric.name))
            and better_ratio(ratio, metric).value > 1
            and pair_verdict(matrix, other, cell, metric.name) in (Verdict.CHANGED, Verdict.EXACT)]


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
    best = next((cell for cell in ordered if not cells_better(matrix, cell, ordered, metric)),
                ordered[0])
    better = cells_better(matrix, best, ordered, metric)
    base = matrix.baseline_find(best)
    others = [cell for cell in better or ordered if cell is not best]
    reference = next((cell for cell in others if cell is base), others[0] if others else None)
    place = {key: value for key, value in best.axes.items() if key != axis}
    marks, rounds = {best.axes[axis]: BEST}, {}
    for value, cell in by_value.items():
        if cell is best:
            continue
        verdict = pair_verdict(matrix, cell, best, metric.name)
        marks[value] = mark_choose(matrix.ratio_between(cell, best, metric.name), verdict, metric,
                                   pair_family(matrix, cell, best, metric.name)[0].hopeless)
        if marks[value] != WORSE and cell not in better and verdict is not Verdict.UNKNOWN:
            rounds[value] = (0 if verdict is Verdict.EXACT else
                             rounds_to_decide(matrix, cell, best, metric.name))
    left_out = {cell.axes[axis]: why for cell in matrix.cells.values()
                if place.items() <= cell.axes.items() and (why := left_out_reason(
                    matrix, cell, metric))}
    gained = cells_better(matrix, base, cells, metric) if base and base in cells else ()
    return Optimum(axis, metric, place, medians, {value: marks[value] for value in by_value},
                   rounds, left_out,
                   best_ratio_build(matrix, best, reference, metric, axis) if reference else None,
                   axis in matrix.baseline and base is best,
                   frozenset(cell.axes[axis] for cell in gained), bool(better))


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a shown cell, in the plan's order."""
    return tuple(optimum_build(matrix.whole, axis, metric, cells)
                 for cells in groups_find(matrix.whole, axis, metric.name)
                 if any(cell.name in matrix.cells for cell in cells))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None if the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)
