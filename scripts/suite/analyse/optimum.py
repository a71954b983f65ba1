# SPDX-License-Identifier: MIT
"""The best value of a word, by group of cells that differ in nothing else, and the advice from it.

The best is the cell with the best median. Another is worse if its ratio to that one (round by
round, or between boots that share none, of all to all) says so: its whole 95 % interval lies on the
worse side of 1, it survives the correction, and the ratio is beyond the noise floor of both rows.
Else the two cannot be told apart. Which cell is the best may be luck, and to be compared with the
luckiest of many is no fair comparison. So p is corrected for all pairs of all groups, any of which
might have been looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from suite import stats
from suite.analyse.frame import (
    Cell,
    Matrix,
    noise_floor_widest,
    ratio_between,
    ratio_of,
    rounds_common,
    series_between,
)
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Family, Verdict, both_exact, family_make, verdict_of
from suite.base.units import size_parse, value_text

ROUNDS_ADVISED = 1000  # more are no advice
BEST, ALIKE, WORSE, UNKNOWN = "*", "=", "", "?"  # marks; UNKNOWN: too few rounds to say


@dataclass(frozen=True)
class Optimum:
    """One group. place: its words, by key. medians and marks: by value of the word, in the plan's
    order, of the cells that have a figure; medians are in the base unit of the metric. rounds: by
    value of ALIKE, how many would tell it from the best."""

    place: Mapping[str, str]
    medians: Mapping[str, float]
    marks: Mapping[str, str]
    rounds: Mapping[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The value with the best median."""
        return next(value for value, mark in self.marks.items() if mark == BEST)

    @property
    def alike(self) -> tuple[str, ...]:
        """The values of the best and of what cannot be told apart from it; empty where that cannot
        be said."""
        if UNKNOWN in self.marks.values():
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


def mark_choose(ratio: stats.Estimate | None, metric: Metric, floor: float | None,
                adjusted: float) -> str:
    """The mark of a cell by its ratio to the best one, None where the two have none.

    floor: the noise floor of the two, a ratio of at least 1; None where it is not known. adjusted:
    p, corrected.
    """
    verdict = verdict_of(ratio, floor, adjusted)
    if ratio is None or verdict is Verdict.UNKNOWN:
        return UNKNOWN
    worse = better_ratio(ratio, metric).value < 1
    return WORSE if worse and verdict is Verdict.CHANGED else ALIKE


def rounds_to_tell(matrix: Matrix, one: Cell, other: Cell, metric: str, rows: int) -> float:
    """How many rounds would show the difference that was seen between two cells, as one of so many
    rows and beyond a noise floor, which shrinks as intervals do. Infinite where nothing was seen,
    or no number can be told."""
    both = series_between(matrix, one, other, metric)
    if both is None or any(series.censored for series in both):
        return math.inf
    shared, rounds = rounds_common((one, other)), min(map(len, both))
    ratio = ratio_of(*both, shared).value
    floor = noise_floor_widest([(matrix, one), (matrix, other)], metric) or 1.0
    needed = stats.rounds_to_find(both[0].values, both[1].values, shared, max(rows, 1))
    if not math.isfinite(needed):
        return math.inf
    return max(needed, math.ceil(rounds * (math.log(floor) / math.log(ratio)) ** 2), rounds + 1)


def rounds_advice(needed: float) -> str:
    """What would decide what noise hides now."""
    return (f"decide this with rounds={needed:.0f}" if needed <= ROUNDS_ADVISED else
            f"rounds={ROUNDS_ADVISED} would not decide it either")


def groups_find(matrix: Matrix, axis: str, metric: Metric) -> list[list[Cell]]:
    """The cells that differ in the axis only, in the plan's order, those that have figures above 0;
    a cell that stands alone in the plan is in no group."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in matrix.cells.values():
        place = tuple(value for key, value in cell.axes.items() if key != axis)
        groups.setdefault(place, []).append(cell)
    return [[cell for cell in cells if matrix.series(cell.name, metric.name).positive]
            for cells in groups.values() if len(cells) > 1]


def pairs_compare(matrix: Matrix, metric: str, groups: Iterable[Sequence[Cell]]
                  ) -> dict[tuple[str, str], stats.Estimate | None]:
    """The ratio of the first to the second of every pair of each group, by their names, both ways
    round; None as ratio_between()."""
    return {(one.name, two.name): ratio_between(matrix, one, two, metric)
            for cells in groups for one, two in permutations(cells, 2)}


def optimum_build(matrix: Matrix, axis: str, metric: Metric, cells: Sequence[Cell],
                  ratios: Mapping[tuple[str, str], stats.Estimate | None],
                  family: Family) -> Optimum:
    """The optimum of one group, which is not empty."""
    by_value = {cell.axes[axis]: cell for cell in cells}
    series = {value: matrix.series(cell.name, metric.name) for value, cell in by_value.items()}
    medians = {value: stats.median(one.values, one.bounds) for value, one in series.items()}
    choose = min if metric.better == "lower" else max
    best = by_value[choose(medians,
                           key=lambda value: (stats.median(series[value].values), medians[value]))]
    marks = {value: BEST if cell is best else mark_choose(
        ratios[cell.name, best.name], metric,
        noise_floor_widest([(matrix, cell), (matrix, best)], metric.name),
        family.adjusted.get(frozenset((cell.name, best.name)), 0.0))
        for value, cell in by_value.items()}
    rounds = {value: rounds_to_tell(matrix, cell, best, metric.name, family.tested)
              for value, cell in by_value.items() if marks[value] == ALIKE}
    return Optimum({key: value for key, value in best.axes.items() if key != axis}, medians, marks,
                   rounds)


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a cell that is shown, in the plan's order."""
    shown, matrix = matrix, matrix.whole
    groups = groups_find(matrix, axis, metric)
    ratios = pairs_compare(matrix, metric.name, groups)
    family = family_make({frozenset(names): ratio for names, ratio in ratios.items()
                          if not both_exact(matrix, matrix.cells[names[0]],
                                            matrix.cells[names[1]], metric.name)})
    return tuple(optimum_build(matrix, axis, metric, cells, ratios, family) for cells in groups
                 if any(cell.name in shown.cells for cell in cells))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None where the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)


def is_speed(metric: Metric) -> bool:
    """Whether more or less of a metric is called faster and slower."""
    return metric.unit in ("1/s", "bit/s") or metric.name.startswith(("time", "latency", "service"))


def group_text(optimum: Optimum) -> str:
    """The words of a group, as they would be typed."""
    return " ".join(f"{key}={value}" for key, value in optimum.place.items() if value)


def values_list(values: Sequence[str]) -> str:
    """Values, at least one, in words: `64K`, `64K and 128K`, `64K, 128K and 256K`."""
    return " and ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


def advice_text(optimum: Optimum, axis: str, metric: Metric) -> str:
    """The smallest value of those that cannot be told apart from the best, and what lies beyond it.

    A value that is no number (`default`) is what a program has that sets nothing: if it is among
    them there is nothing to gain. Empty where no value is a number, or nothing can be told apart.
    """
    sizes = {value: size for value in optimum.marks if (size := size_parse(value)) is not None}
    alike = optimum.alike
    unset = [value for value in alike if value not in sizes]
    if not sizes or not alike:
        return ""
    if optimum.best in unset:
        return f"Leave it at {optimum.best}."
    if unset:
        return f"Leave it at {unset[0]}: what others gain is less than can be told here."
    least = min(alike, key=lambda value: sizes[value])
    beyond = sorted((value for value in sizes if sizes[value] > sizes[least]),
                    key=lambda value: sizes[value])
    worse = [value for value in beyond if value not in alike]
    if not beyond:
        return f"Set {axis}={least}, the largest that was tried: more may be better still."
    hidden = [value for value in beyond if value in alike]
    word = "slower" if is_speed(metric) else "worse"
    said = [f"noise hides what {values_list(hidden)} may gain"] if hidden else []
    said += [f"{values_list(worse)} {'is' if len(worse) == 1 else 'are'} {word}"] if worse else []
    return f"Set {axis}={least}; {', and '.join(said)}."


def optimum_text(optimum: Optimum, axis: str, metric: Metric, base: str | None = None,
                 against: str = "") -> str:
    """The answer of one group in a sentence or two. against: how the best compares with the value
    base, which is then told and not listed again."""
    found = f"{axis}={optimum.best}"
    median = value_text(optimum.medians[optimum.best], metric.unit)
    if len(optimum.marks) == 1:
        return f"{found} is the only value with a good run ({median})."
    if not optimum.alike:
        return (f"{found} has the best median ({median}); whether others are worse needs "
                f"{stats.ROUNDS_NEEDED} rounds.")
    others = [value for value in optimum.alike if value not in (optimum.best, base)]
    rest = [value for value in optimum.marks if value not in (optimum.best, base)]
    told = ""
    if others:
        which = "no other value" if others == rest else values_list(others)
        told = f"{which} can{'' if others == rest else 'not'} be told apart from it"
        least = min(others, key=lambda value: optimum.rounds.get(value, math.inf))
        if optimum.rounds.get(least, math.inf) <= ROUNDS_ADVISED:
            told += f" (rounds={optimum.rounds[least]:.0f} would tell {least})"
    elif rest:
        told = f"every other value is {'slower' if is_speed(metric) else 'worse'}"
    best = "is best" if WORSE in optimum.marks.values() else "has the best median"
    sentence = "; ".join(filter(None, (f"{found} {best} ({median}){against}", told)))
    return f"{sentence}. {advice_text(optimum, axis, metric)}".rstrip()
