# SPDX-License-Identifier: MIT
"""The verdicts of contrasts, corrected for many rows (docs/methodology.md, "Many rows").

Each contrast is in one family, whose contrasts are corrected together. All ratios of a metric to
the baseline are one family. For each axis, all other pairs of cells that differ in it alone are one
family. A family does not depend on the command or its selected rows, so all commands agree.

If R of m rows change, each interval of the family has the confidence 1 - 5 % R / m (false coverage
rate: Benjamini and Yekutieli 2005). Such an interval excludes 1 exactly if the row is among the R
of Benjamini and Hochberg. So the interval that is printed is the one that decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from suite import stats
from suite.base import grouped
from suite.contrast.contrast import Contrast, Verdict, contrast_of
from suite.observe.frame import Cell, Matrix, remembered
from suite.observe.metrics import Metric

# The best value is looked for in two families: ratios to the baseline, and other pairs.
PAIRS_LEVEL = stats.ALPHA / 2


@dataclass(frozen=True)
class Family:
    """Contrasts that are corrected together, by key; those that are tested count. level: the share
    of false changes that it allows. margin: as of Matrix."""

    members: Mapping[Any, Contrast]
    level: float = stats.ALPHA
    margin: float | None = None

    @cached_property
    def tested(self) -> int:
        return len(self.estimates)

    @cached_property
    def estimates(self) -> list[stats.Estimate]:
        """Of the contrasts that are tested, at 95 %: a claim may be made, and none is exact."""
        found = [one.estimate() for one in self.members.values() if one.claimable]
        return [one for one in found if one and one.p is not None]

    @cached_property
    def alpha(self) -> float:
        """1 minus the confidence of each interval."""
        ps = [one.p for one in self.estimates if one.p is not None]
        changed = sum(p <= self.level for p in stats.benjamini_hochberg(ps))
        return self.level * max(changed, 1) / max(len(ps), 1)

    @property
    def hopeless(self) -> bool:
        """Whether even the smallest p of so few rounds would not survive the correction."""
        return bool(self.estimates) and min(one.p_least for one in self.estimates) > self.alpha


@dataclass(frozen=True)
class Judged:
    """A contrast with its family. estimate: at the confidence of the family."""

    contrast: Contrast
    family: Family

    @cached_property
    def estimate(self) -> stats.Estimate | None:
        return self.contrast.estimate(self.family.alpha)

    @cached_property
    def verdict(self) -> Verdict:
        margin, interval = self.family.margin, self.estimate and self.estimate.interval
        if self.contrast.exact:
            return Verdict.EXACT
        if not self.contrast.claimable:
            return Verdict.WITHHELD
        if not interval:
            return Verdict.UNKNOWN
        if margin is not None and (
                1 / (1 + margin) <= interval.low and interval.high <= 1 + margin):
            return Verdict.EQUIVALENT
        return Verdict.UNDECIDED if interval.contains(1) else Verdict.CHANGED

    def direction(self, metric: Metric) -> int:
        """1 if it is a claimed change for the better, -1 for the worse, else 0."""
        if self.estimate is None or not self.verdict.claims or self.estimate.value == 1:
            return 0
        return 1 if (self.estimate.value > 1) == (metric.better == "higher") else -1

    @property
    def detectable(self) -> float | None:
        """The minimum detectable effect, a fraction of the base; None unless it is undecided."""
        ratio = self.contrast.ratio
        return stats.smallest_detectable(ratio, self.family.alpha) if (
            ratio and self.verdict is Verdict.UNDECIDED) else None


@remembered
def baseline_family(matrix: Matrix, metric: str) -> Family:
    """The family of all ratios to the baseline, by cell."""
    return Family({cell.name: contrast_of(matrix, base, cell, metric)
                   for cell in matrix.whole.cells.values()
                   if (base := matrix.baseline_find(cell)) and base.name != cell.name},
                  margin=matrix.margin)


def baseline_judged(matrix: Matrix, cell: Cell, metric: str) -> Judged | None:
    """The ratio of a cell to its baseline; None if it has none, or is one."""
    family = baseline_family(matrix, metric)
    found = family.members.get(cell.name)
    return Judged(found, family) if found else None


def groups_find(matrix: Matrix, axis: str, metric: str) -> list[list[Cell]]:
    """Groups of cells that differ in the axis only, in the plan's order. A group has at least two
    cells in the plan; of these only cells with values, all above 0, are in it, at least one."""
    groups = grouped((tuple(value for key, value in cell.axes.items() if key != axis), cell)
                     for cell in matrix.cells.values())
    return [known for cells in groups.values() if len(cells) > 1 and (
        known := [cell for cell in cells if matrix.series(cell.name, metric).positive])]


def compared_in_tables(matrix: Matrix, one: Cell, other: Cell) -> bool:
    """Whether one of two cells is the baseline of the other: tables have this ratio."""
    return one is not other and (matrix.baseline_find(one) is other
                                 or matrix.baseline_find(other) is one)


@remembered
def axis_family(matrix: Matrix, axis: str, metric: str) -> Family:
    """The family of all pairs of cells that differ in the axis alone, without those of tables."""
    pairs = (pair for cells in groups_find(matrix.whole, axis, metric)
             for pair in combinations(cells, 2) if not compared_in_tables(matrix, *pair))
    return Family({(base.name, new.name): contrast_of(matrix, base, new, metric)
                   for base, new in pairs}, PAIRS_LEVEL, matrix.margin)


@remembered
def pair_judged(matrix: Matrix, base: Cell, new: Cell, metric: str) -> Judged:
    """The contrast of two cells of a result, new against base, with the verdict of all commands.
    The inverse contrast is in the same family."""
    contrast = contrast_of(matrix, base, new, metric)
    differing = [axis for axis in matrix.axes if base.axes[axis] != new.axes[axis]]
    if compared_in_tables(matrix, base, new):
        return Judged(contrast, baseline_family(matrix, metric))
    if len(differing) == 1:
        return Judged(contrast, axis_family(matrix, differing[0], metric))
    return Judged(contrast, Family({"": contrast}, PAIRS_LEVEL, matrix.margin))


RatioRow = tuple[Mapping[str, str], Judged | None]


def rows_opposed(rows: Iterable[RatioRow], metric: Metric
                 ) -> tuple[list[Mapping[str, str]], list[Mapping[str, str]]]:
    """The words of the rows that changed for the better, and of those that changed for the worse,
    if there are both: then one figure cannot stand for all. Else two empty lists."""
    by_direction = grouped((judged.direction(metric), words) for words, judged in rows if judged)
    better, worse = by_direction.get(1, []), by_direction.get(-1, [])
    return (better, worse) if better and worse else ([], [])
