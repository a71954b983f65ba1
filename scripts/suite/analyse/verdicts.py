# SPDX-License-Identifier: MIT
"""The verdicts of ratios: by the interval, the noise floor of the row, and all rows together
(docs/methodology.md, "Many rows").

Each ratio has one family. That of a ratio to the baseline is every such ratio of that metric in the
result. That of two other cells that differ in one word is all such pairs that differ in it alone.
Neither depends on the command or on the rows that it selects, so that all commands say the same.
"""

from collections.abc import Hashable, Iterable, Mapping
from enum import Enum
from itertools import combinations
from typing import NamedTuple, TypeVar

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, noise_floor_highest, ratio_between
from suite.analyse.metrics import Metric, is_speed

VALUES_SHOWN = 4  # of a word, on each side of a baseline
KeyType = TypeVar("KeyType", bound=Hashable)


class Verdict(Enum):
    """The verdict of a change; the value is its word for programs."""

    CHANGED = "changed"            # none of the others
    WITHIN_NOISE = "within_noise"  # the interval excludes 1, but not the noise floor of the row
    BRACKETED = "bracketed"        # the interval excludes 1, but among so many rows by chance
    SAME = "same"                  # the interval contains 1
    UNKNOWN = "unknown"            # too few rounds, or sessions, to say anything
    EXACT = "exact"                # counts that are the same in every run of both sides

    @property
    def doubtful(self) -> bool:
        """Whether the interval excludes 1, and there is no change all the same: in brackets."""
        return self in (Verdict.WITHIN_NOISE, Verdict.BRACKETED)

    def marked(self, text: str) -> str:
        """A change as text with its mark: `~` alone, `(+3.1%)`, `+3.1%?`."""
        if self is Verdict.SAME:
            return "~"
        return f"({text})" if self.doubtful else text + "?" * (self is Verdict.UNKNOWN)


def verdict_of(ratio: stats.Estimate | None, floor: float | None, adjusted: float = 0.0,
               exact: bool = False) -> Verdict:
    """The one verdict of a ratio, for every command and picture. floor: the noise floor of its row,
    a ratio. adjusted: p, corrected for the other rows; 0 for a figure that stands alone. exact:
    both sides are counts that were the same in every run."""
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
    """Where a figure lies beside the limit of a gate; the value is its word."""

    WITHIN = "within"          # its interval excludes everything beyond the limit
    REGRESSION = "regression"  # its interval excludes the limit, and noise does not explain it
    UNDECIDED = "undecided"    # neither


def limit_verdict(figure: stats.Estimate | None, limit: float, above: bool, floor: float | None,
                  exact: bool = False, change: Verdict | None = None) -> GateVerdict:
    """The one verdict of a figure beside a limit that it must not be above (else below). figure: a
    ratio or a value; its interval is corrected for the other rows. floor: the noise floor of the
    row, a ratio. exact: a count that was the same in every run. change: the verdict of the ratio:
    where to be beyond the limit is a change, there is one."""
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
    """`depends on place: faster together, slower apart` of rows that changed to opposite sides of
    their baseline, so that no one figure is true of all; else empty. rows: the words that name
    each, its ratio and verdict. The word told is the first that has no value on both sides."""
    better, worse = sides = list[Mapping[str, str]](), list[Mapping[str, str]]()
    for words, ratio, verdict in rows:
        if ratio and ratio.value != 1 and verdict in (Verdict.CHANGED, Verdict.EXACT):
            sides[(ratio.value > 1) != (metric.better == "higher")].append(words)
    if not better or not worse:
        return ""
    axis = next((axis for axis in better[0] if {one[axis] for one in better}.isdisjoint(
        one[axis] for one in worse)), "")
    texts = []
    for side, name in zip(sides, ("faster", "slower") if is_speed(metric) else ("better", "worse"),
                          strict=True):
        values = list(dict.fromkeys(" ".join(value or "none" for value in (
            [one[axis]] if axis else one.values())) for one in side))
        more = f" and {len(values) - VALUES_SHOWN} more" if len(values) > VALUES_SHOWN else ""
        texts.append(f"{name} {', '.join(values[:VALUES_SHOWN])}{more}")
    separator = "; " if any("," in text for text in texts) else ", "
    return f"depends on {axis or 'the row'}: {separator.join(texts)}"


class Family(NamedTuple):
    """Ratios that are corrected together. adjusted: their p after the correction, by key. hopeless:
    no p that so few rounds can give would survive the correction. Of m rows of which k look
    changed, all k survive where their p is at most 5 % * k / m."""

    adjusted: Mapping[Hashable, float]
    hopeless: bool

    @property
    def tested(self) -> int:
        return len(self.adjusted)

    def adjusted_of(self, key: Hashable) -> float:
        """The corrected p of a ratio; 0 for one that needs no correction, as exact counts."""
        return self.adjusted.get(key, 0.0)


def family_make(ratios: Mapping[KeyType, stats.Estimate | None]) -> Family:
    """The family of these ratios; those without p are none of it."""
    tested = {key: (ratio.p, ratio.p_least) for key, ratio in ratios.items()
              if ratio is not None and ratio.p is not None}
    adjusted = stats.benjamini_hochberg([p for p, _ in tested.values()])
    claimed = sum(p <= stats.ALPHA for p, _ in tested.values())
    least = min((p_least for _, p_least in tested.values()), default=0.0)
    hopeless = bool(tested) and least > stats.ALPHA * max(claimed, 1) / len(tested)
    return Family(dict(zip(tested, adjusted, strict=True)), hopeless)


def both_exact(matrix: Matrix, cell: Cell, base: Cell, metric: str) -> bool:
    return matrix.is_exact(cell.name, metric) and matrix.is_exact(base.name, metric)


def baseline_ratio(matrix: Matrix, cell: Cell, metric: str) -> stats.Estimate | None:
    """The ratio of a cell to its baseline; None for a baseline, without one, or a shared value."""
    base = baseline_find(matrix, cell)
    return ratio_between(matrix, cell, base, metric) if base and base.name != cell.name else None


def baseline_family(matrix: Matrix, metric: str) -> Family:
    """The family of all ratios to the baseline, by cell. Exact counts are no matter of chance."""
    key = ("family", metric)
    if key not in matrix.memo:
        matrix.memo[key] = family_make({
            cell.name: baseline_ratio(matrix, cell, metric) for cell in matrix.whole.cells.values()
            if (base := baseline_find(matrix, cell)) and not both_exact(matrix, cell, base, metric)
        })
    return matrix.memo[key]


def groups_find(matrix: Matrix, axis: str, metric: str) -> list[list[Cell]]:
    """The cells that differ in the axis only, in the plan's order, those that have figures above 0;
    a cell that stands alone in the plan is in no group, and no group is empty."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in matrix.cells.values():
        place = tuple(value for key, value in cell.axes.items() if key != axis)
        groups.setdefault(place, []).append(cell)
    return [known for cells in groups.values() if len(cells) > 1 and (
        known := [cell for cell in cells if matrix.series(cell.name, metric).positive])]


def compared_in_tables(matrix: Matrix, one: Cell, other: Cell) -> Cell | None:
    """That of two cells whose baseline is the other one; None where neither's is."""
    for cell, base in ((one, other), (other, one)):
        found = baseline_find(matrix, cell)
        if found is not None and found.name == base.name != cell.name:
            return cell
    return None


def pairs_compare(matrix: Matrix, axis: str, metric: str
                  ) -> dict[frozenset[str], stats.Estimate | None]:
    """The ratio of each pair of cells that differ in the axis only, by their names; not of ratios
    to a baseline, nor of exact counts."""
    return {frozenset((one.name, two.name)): ratio_between(matrix, one, two, metric)
            for cells in groups_find(matrix.whole, axis, metric)
            for one, two in combinations(cells, 2)
            if not compared_in_tables(matrix, one, two) and not both_exact(matrix, one, two, metric)
            }


def pair_family(matrix: Matrix, one: Cell, other: Cell, metric: str) -> tuple[Family, Hashable]:
    """The family of the ratio of two cells, either way round, and its key in it."""
    names, cell = frozenset((one.name, other.name)), compared_in_tables(matrix, one, other)
    if cell:
        return baseline_family(matrix, metric), cell.name
    apart = [axis for axis in matrix.axes if one.axes[axis] != other.axes[axis]]
    key = ("family", metric, *(apart if len(apart) == 1 else sorted(names)))
    if key not in matrix.memo:
        matrix.memo[key] = family_make(
            pairs_compare(matrix, apart[0], metric) if len(apart) == 1 else
            {names: ratio_between(matrix, one, other, metric)})
    return matrix.memo[key], names


def pair_verdict(matrix: Matrix, one: Cell, other: Cell, metric: str) -> Verdict:
    """The verdict of the ratio of two cells of a result, the same either way round. Where tables
    have one cell above the baseline of both and the other below it, the two differ: that is no
    further comparison, which would be corrected."""
    family, key = pair_family(matrix, one, other, metric)
    verdict = verdict_of(ratio_between(matrix, one, other, metric),
                         noise_floor_highest([(matrix, one), (matrix, other)], metric),
                         family.adjusted_of(key), both_exact(matrix, one, other, metric))
    if (verdict is not Verdict.BRACKETED or compared_in_tables(matrix, one, other)
            or baseline_find(matrix, one) is not baseline_find(matrix, other)):
        return verdict
    sides = {baseline_side(matrix, cell, metric) for cell in (one, other)}
    return Verdict.CHANGED if sides == {1, -1} else verdict


def baseline_side(matrix: Matrix, cell: Cell, metric: str) -> int:
    """1 where tables have a cell above its baseline, -1 below it, 0 where it is no change."""
    ratio = baseline_ratio(matrix, cell, metric)
    if ratio is None or baseline_verdict(matrix, cell, metric) is not Verdict.CHANGED:
        return 0
    return 1 if ratio.value > 1 else -1


def baseline_verdict(matrix: Matrix, cell: Cell, metric: str) -> Verdict | None:
    """The verdict of a cell's ratio to its baseline; None where there is no ratio."""
    known = baseline_ratio(matrix, cell, metric) is not None
    base = baseline_find(matrix, cell) if known else None
    return pair_verdict(matrix, cell, base, metric) if base else None
