# SPDX-License-Identifier: MIT
"""The best value of a word, by group of cells that differ in nothing else.

A cell is better than another if the verdict of their ratio (verdicts.py) is a change for the
better. The best has the best median of the cells that no other is better than. Ratios of rounds may
go round in a circle, as votes do. Where each cell has a better one, the best median stands in.

Which cell is best may be luck, and to be compared with the luckiest of many is no fair comparison.
So another is worse only if the best is better than it. Else the two cannot be told apart.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from suite import stats
from suite.analyse.frame import (
    Cell,
    Matrix,
    baseline_find,
    baseline_words,
    noise_floor_highest,
    ratio_between,
    rounds_common,
    series_between,
)
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Verdict, groups_find, pair_family, pair_verdict

BEST, ALIKE, WORSE, UNKNOWN = "*", "=", "", "?"  # marks; UNKNOWN: too few rounds to say


class BestRatio(NamedTuple):
    """How the best of a group compares with its baseline, or with the next best where it is that
    itself, or the group has none; where none is best, with one that is better.

    better: how many times better the best is; None where the two share no good round. floor: the
    noise floor of the two. rows: how many their family has. shared: whether they share rounds.
    """

    value: str
    better: stats.Estimate | None
    verdict: Verdict
    floor: float | None
    rows: int
    shared: bool


@dataclass(frozen=True)
class Optimum:
    """One group. place: its words, by key.

    medians and marks: by value of the word, in the plan's order, of the cells that have a figure;
    medians are in the base unit of the metric. rounds: how many would tell a value from the best
    that is neither better nor worse, and has an interval; 0 where both are the same count.
    left_out: why other values have no figure. against: None where the best is alone. is_baseline:
    whether the best is the baseline. better: the values that are better than the baseline; none
    where the group has none. circular: whether each value has a better one.
    """

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
        """The best value and all that cannot be told from it; empty where that cannot be said."""
        if self.circular or UNKNOWN in self.marks.values():
            return ()
        return tuple(value for value, mark in self.marks.items() if mark in (BEST, ALIKE))


def reciprocal(ratio: float) -> float:
    """1 / ratio; of 0, which stands for a direction, infinite."""
    return 1 / ratio if ratio else math.inf


def better_ratio(ratio: stats.Estimate, metric: Metric) -> stats.Estimate:
    """A ratio to something as how many times better it is: above 1 is better."""
    if metric.better == "higher":
        return ratio
    within = ratio.interval
    turned = stats.Interval(reciprocal(within.high), reciprocal(within.low),
                            within.level) if within else None
    return replace(ratio, value=reciprocal(ratio.value), interval=turned)


def mark_choose(ratio: stats.Estimate | None, verdict: Verdict, metric: Metric,
                hopeless: bool = False) -> str:
    """The mark of a cell by its ratio to the best one, None where the two have none, and the
    verdict of that. hopeless: of their family (verdicts.Family)."""
    if (ratio is None or verdict is Verdict.UNKNOWN
            or (hopeless and verdict is Verdict.BRACKETED)):
        return UNKNOWN
    worse = better_ratio(ratio, metric).value < 1
    return WORSE if worse and verdict in (Verdict.CHANGED, Verdict.EXACT) else ALIKE


def rounds_to_decide(matrix: Matrix, one: Cell, other: Cell, metric: str) -> float:
    """How many rounds would show the difference that was seen between two cells, as one of their
    family (stats.rounds_to_find). Infinite where that cannot be said."""
    both = series_between(matrix, one, other, metric)
    if both is None or any(series.censored for series in both):
        return math.inf
    floor = noise_floor_highest([(matrix, one), (matrix, other)], metric) or 1.0
    rows = max(pair_family(matrix, one, other, metric)[0].tested, 1)
    return max(min(map(len, both)) + 1, stats.rounds_to_find(
        both[0].values, both[1].values, rounds_common((one, other)), rows, floor))


def best_ratio_build(matrix: Matrix, best: Cell, base: Cell, metric: Metric, axis: str
                     ) -> BestRatio:
    ratio = ratio_between(matrix, best, base, metric.name)
    return BestRatio(base.axes[axis], better_ratio(ratio, metric) if ratio else None,
                     pair_verdict(matrix, best, base, metric.name),
                     noise_floor_highest([(matrix, best), (matrix, base)], metric.name),
                     pair_family(matrix, best, base, metric.name)[0].tested,
                     rounds_common((best, base)))


def cells_better(matrix: Matrix, cell: Cell, group: Iterable[Cell], metric: Metric) -> list[Cell]:
    return [other for other in group if other is not cell
            and (ratio := ratio_between(matrix, other, cell, metric.name))
            and better_ratio(ratio, metric).value > 1
            and pair_verdict(matrix, other, cell, metric.name) in (Verdict.CHANGED, Verdict.EXACT)]


def left_out_reason(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """Why a cell of a group has no figure; empty where it has one, or never ran."""
    series = matrix.series(cell.name, metric.name)
    if cell.status == "failed":
        return "failed in every round"
    if cell.status != "ok" or series.positive:
        return ""
    return f"was 0 in some round, so has no {metric.name} to compare" if len(series) else (
        f"has no {metric.name}")


def optimum_build(matrix: Matrix, axis: str, metric: Metric, cells: Sequence[Cell]) -> Optimum:
    """The optimum of one group, which is not empty."""
    by_value = {cell.axes[axis]: cell for cell in cells}
    series = {value: matrix.series(cell.name, metric.name) for value, cell in by_value.items()}
    medians = {value: stats.median(one.values, one.bounds) for value, one in series.items()}
    ordered = sorted(by_value.values(), reverse=metric.better == "higher", key=lambda cell: (
        stats.median(series[cell.axes[axis]].values), medians[cell.axes[axis]]))
    best = next((cell for cell in ordered if not cells_better(matrix, cell, ordered, metric)),
                ordered[0])
    better = cells_better(matrix, best, ordered, metric)
    found = baseline_find(matrix, best)
    others = [cell for cell in better or ordered if cell is not best]
    against = next((cell for cell in others if cell is found), others[0] if others else None)
    place = {key: value for key, value in best.axes.items() if key != axis}
    marks, rounds = {best.axes[axis]: BEST}, {}
    for value, cell in by_value.items():
        if cell is best:
            continue
        verdict = pair_verdict(matrix, cell, best, metric.name)
        marks[value] = mark_choose(ratio_between(matrix, cell, best, metric.name), verdict, metric,
                                   pair_family(matrix, cell, best, metric.name)[0].hopeless)
        if marks[value] != WORSE and cell not in better and verdict is not Verdict.UNKNOWN:
            rounds[value] = (0 if verdict is Verdict.EXACT else
                             rounds_to_decide(matrix, cell, best, metric.name))
    left_out = {cell.axes[axis]: why for cell in matrix.cells.values()
                if place.items() <= cell.axes.items() and (why := left_out_reason(
                    matrix, cell, metric))}
    gained = cells_better(matrix, found, cells, metric) if found and found in cells else ()
    return Optimum(place, medians, {value: marks[value] for value in by_value}, rounds, left_out,
                   best_ratio_build(matrix, best, against, metric, axis) if against else None,
                   axis in baseline_words(matrix) and found is best,
                   frozenset(cell.axes[axis] for cell in gained), bool(better))


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a cell that is shown, in the plan's order."""
    return tuple(optimum_build(matrix.whole, axis, metric, cells)
                 for cells in groups_find(matrix.whole, axis, metric.name)
                 if any(cell.name in matrix.cells for cell in cells))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None where the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)
