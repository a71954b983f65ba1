# SPDX-License-Identifier: MIT
"""The verdicts of ratios: from the interval, the noise floor of the row, and a correction for many
rows (docs/methodology.md, "Many rows").

Each ratio is in one family, whose ratios are corrected together. All ratios of a metric to the
baseline are one family. For each axis, all other pairs of cells that differ in it alone are one
family. A family does not depend on the command or its selected rows, so all commands agree.
"""

from collections.abc import Hashable, Iterable, Mapping
from enum import Enum
from itertools import combinations
from typing import NamedTuple, TypeVar

from suite import stats
from suite.analyse.frame import Cell, Matrix, noise_floor_highest
from suite.analyse.metrics import Metric
from suite.base import grouped

VALUES_SHOWN = 4  # so many values of a word stand in a text, on each side of a baseline
KeyType = TypeVar("KeyType", bound=Hashable)


class Verdict(Enum):
    """The verdict of a change; the value is its name in JSON and CSV."""

    CHANGED = "changed"            # none of the others
    WITHIN_NOISE = "within_noise"  # the interval excludes 1, the ratio is within the noise floor
    BRACKETED = "bracketed"        # the interval excludes 1, but may do so by chance: many rows
    SAME = "same"                  # the interval contains 1
    UNKNOWN = "unknown"            # too few rounds, or sessions, for an interval
    EXACT = "exact"                # counts that were the same in every run of each side

    @property
    def doubtful(self) -> bool:
        """Whether the interval excludes 1 but does not prove a change: texts have brackets."""
        return self in (Verdict.WITHIN_NOISE, Verdict.BRACKETED)

    def marked(self, text: str) -> str:
        """The text of a change with its mark: `~` alone, `(+3.1%)`, `+3.1%?`."""
        if self is Verdict.SAME:
            return "~"
        return f"({text})" if self.doubtful else text + "?" * (self is Verdict.UNKNOWN)


def verdict_of(ratio: stats.Estimate | None, floor: float | None, adjusted: float = 0.0,
               exact: bool = False) -> Verdict:
    """The verdict of a ratio, the same in every command and picture. floor: the noise floor of its
    row, a ratio. adjusted: p, corrected for the other rows; 0 without other rows. exact: both sides
    are counts that were the same in every run."""
    if exact:
        return Verdict.EXACT
    if ratio is None or ratio.interval is None:
        return Verdict.UNKNOWN
    if ratio.interval.contains(1.0):
        return Verdict.SAME
    if stats.is_within_floor(ratio.value, floor):
        return Verdict.WITHIN_NOISE
    return Verdict.CHANGED if adjusted <= stats.ALPHA else Verdict.BRACKETED


class GateVerdict(Enum):
    """Where a figure is relative to the limit of a gate; the value is its name in JSON and CSV."""

    WITHIN = "within"          # the whole interval is within the limit
    REGRESSION = "regression"  # the whole interval is beyond it, and noise does not explain that
    UNDECIDED = "undecided"    # neither


def limit_verdict(figure: stats.Estimate | None, limit: float, above: bool, floor: float | None,
                  exact: bool = False, change: Verdict | None = None) -> GateVerdict:
    """The verdict of a figure that must not be above a limit (or below: above is False).

    figure: a ratio or a value; its interval is corrected for the other rows. floor: the noise floor
    of the row, a ratio. exact: a count that was the same in every run. change: the verdict of the
    ratio. If only a changed ratio can be beyond the limit, a BRACKETED one is no regression.
    """
    if figure is None or (figure.interval is None and not exact):
        return GateVerdict.UNDECIDED
    low, high = (figure.value, figure.value) if exact or figure.interval is None else (
        figure.interval[:2])
    if (high <= limit) if above else (low >= limit):
        return GateVerdict.WITHIN
    if exact:
        return GateVerdict.REGRESSION
    explained = limit > 0 and stats.is_within_floor(figure.value / limit, floor)
    doubted = change is Verdict.BRACKETED and (limit >= 1 if above else limit <= 1)
    beyond = low > limit if above else high < limit
    return (GateVerdict.REGRESSION if beyond and not explained and not doubted
            else GateVerdict.UNDECIDED)


RatioRow = tuple[Mapping[str, str], stats.Estimate | None, Verdict | None]


def opposed_text(rows: Iterable[RatioRow], metric: Metric) -> str:
    """`depends on place: faster together, slower apart` if rows changed to opposite sides of their
    baseline, so that one figure cannot stand for all; else empty. rows: for each the words that
    name it, its ratio and verdict. The named word is the first with no value on both sides."""
    better, worse = sides = list[Mapping[str, str]](), list[Mapping[str, str]]()
    for words, ratio, verdict in rows:
        if ratio and ratio.value != 1 and verdict in (Verdict.CHANGED, Verdict.EXACT):
            sides[(ratio.value > 1) != (metric.better == "higher")].append(words)
    if not better or not worse:
        return ""
    axis = next((axis for axis in better[0] if {one[axis] for one in better}.isdisjoint(
        one[axis] for one in worse)), "")
    texts = []
    for side, name in zip(sides, ("faster", "slower") if metric.is_speed else ("better", "worse"),
                          strict=True):
        values = list(dict.fromkeys(" ".join(value or "none" for value in (
            [one[axis]] if axis else one.values())) for one in side))
        more = f" and {len(values) - VALUES_SHOWN} more" if len(values) > VALUES_SHOWN else ""
        texts.append(f"{name} {', '.join(values[:VALUES_SHOWN])}{more}")
    separator = "; " if any("," in text for text in texts) else ", "
    return f"depends on {axis or 'the row'}: {separator.join(texts)}"


class Family(NamedTuple):
    """Ratios that are corrected together. adjusted: their p after the correction, by key. hopeless:
    even the smallest p of so few rounds would not survive the correction. If k of m rows look
    changed, all k survive if their p is at most 5 % * k / m."""

    adjusted: Mapping[Hashable, float]
    hopeless: bool

    @property
    def tested(self) -> int:
        return len(self.adjusted)

    def adjusted_of(self, key: Hashable) -> float:
        """The corrected p of a ratio; 0 if it needs no correction, as exact counts."""
        return self.adjusted.get(key, 0.0)


def family_make(ratios: Mapping[KeyType, stats.Estimate | None]) -> Family:
    """The family of these ratios, without those that have no p."""
    tested = {key: (ratio.p, ratio.p_least) for key, ratio in ratios.items()
              if ratio is not None and ratio.p is not None}
    adjusted = stats.benjamini_hochberg([p for p, _ in tested.values()])
    claimed = sum(p <= stats.ALPHA for p, _ in tested.values())
    least = min((p_least for _, p_least in tested.values()), default=0.0)
    hopeless = bool(tested) and least > stats.ALPHA * max(claimed, 1) / len(tested)
    return Family(dict(zip(tested, adjusted, strict=True)), hopeless)


def both_exact(matrix: Matrix, cell: Cell, base: Cell, metric: str) -> bool:
    """Whether the metric is an exact count in both cells: chance plays no part in their ratio."""
    return matrix.is_exact(cell.name, metric) and matrix.is_exact(base.name, metric)


def baseline_ratio(matrix: Matrix, cell: Cell, metric: str) -> stats.Estimate | None:
    """The ratio of a cell to its baseline; None without one, or without values to compare."""
    base = matrix.baseline_find(cell)
    return matrix.ratio_between(cell, base, metric) if base and base.name != cell.name else None


def baseline_family(matrix: Matrix, metric: str) -> Family:
    """The family of all ratios to the baseline, by cell, without exact counts."""
    key = ("family", metric)
    if key not in matrix.memo:
        matrix.memo[key] = family_make({
            cell.name: baseline_ratio(matrix, cell, metric) for cell in matrix.whole.cells.values()
            if (base := matrix.baseline_find(cell)) and not both_exact(matrix, cell, base, metric)
        })
    return matrix.memo[key]


def groups_find(matrix: Matrix, axis: str, metric: str) -> list[list[Cell]]:
    """Groups of cells that differ in the axis only, in the plan's order. A group has at least two
    cells in the plan; of these only cells with values, all above 0, are in it, at least one."""
    groups = grouped((tuple(value for key, value in cell.axes.items() if key != axis), cell)
                     for cell in matrix.cells.values())
    return [known for cells in groups.values() if len(cells) > 1 and (
        known := [cell for cell in cells if matrix.series(cell.name, metric).positive])]


def compared_in_tables(matrix: Matrix, one: Cell, other: Cell) -> Cell | None:
    """The one of two cells whose baseline is the other: tables have this ratio. Else None."""
    for cell, base in ((one, other), (other, one)):
        found = matrix.baseline_find(cell)
        if found is not None and found.name == base.name != cell.name:
            return cell
    return None


def pairs_compare(matrix: Matrix, axis: str, metric: str
                  ) -> dict[frozenset[str], stats.Estimate | None]:
    """The ratio of each pair of cells that differ in the axis only, by their names. Leaves out
    ratios to a baseline, and exact counts."""
    return {frozenset((one.name, two.name)): matrix.ratio_between(one, two, metric)
            for cells in groups_find(matrix.whole, axis, metric)
            for one, two in combinations(cells, 2)
            if not compared_in_tables(matrix, one, two) and not both_exact(matrix, one, two, metric)
            }


def pair_family(matrix: Matrix, one: Cell, other: Cell, metric: str) -> tuple[Family, Hashable]:
    """The family of the ratio of two cells, the same for the inverse ratio, and its key in it."""
    names, cell = frozenset((one.name, other.name)), compared_in_tables(matrix, one, other)
    if cell:
        return baseline_family(matrix, metric), cell.name
    differing = [axis for axis in matrix.axes if one.axes[axis] != other.axes[axis]]
    key = ("family", metric, *(differing if len(differing) == 1 else sorted(names)))
    if key not in matrix.memo:
        matrix.memo[key] = family_make(
            pairs_compare(matrix, differing[0], metric) if len(differing) == 1 else
            {names: matrix.ratio_between(one, other, metric)})
    return matrix.memo[key], names


def pair_verdict(matrix: Matrix, one: Cell, other: Cell, metric: str) -> Verdict:
    """The verdict of the ratio of two cells of a result, the same for the inverse ratio. If tables
    have one cell above the baseline of both and the other below it, the two differ. That follows
    from tests which are already corrected, so it needs no correction of its own."""
    family, key = pair_family(matrix, one, other, metric)
    verdict = verdict_of(matrix.ratio_between(one, other, metric),
                         noise_floor_highest([(matrix, one), (matrix, other)], metric),
                         family.adjusted_of(key), both_exact(matrix, one, other, metric))
    if (verdict is not Verdict.BRACKETED or compared_in_tables(matrix, one, other)
            or matrix.baseline_find(one) is not matrix.baseline_find(other)):
        return verdict
    above = {ratio.value > 1 for cell in (one, other)
             if (ratio := baseline_ratio(matrix, cell, metric))
             and baseline_verdict(matrix, cell, metric) is Verdict.CHANGED}
    return Verdict.CHANGED if len(above) == 2 else verdict


def baseline_verdict(matrix: Matrix, cell: Cell, metric: str) -> Verdict | None:
    """The verdict of a cell's ratio to its baseline; None without a ratio."""
    known = baseline_ratio(matrix, cell, metric) is not None
    base = matrix.baseline_find(cell) if known else None
    return pair_verdict(matrix, cell, base, metric) if base else None
