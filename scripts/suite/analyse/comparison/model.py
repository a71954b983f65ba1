# SPDX-License-Identifier: MIT
"""The data of a comparison, in base units; no texts for readers. A ratio is always new / base, and
a change is the ratio - 1, whether higher or lower is better."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from suite import stats
from suite.analyse.frame import NO_SERIES, Cell, Matrix, Series
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure, figure_build
from suite.analyse.verdicts import Verdict, verdict_of


class Unit(Enum):
    """The unit of independent values; the value is its name."""

    ROUND = "round"      # both sides ran in each round: their values of a round are a pair
    BOOT = "boot"        # kernels of one result, booted for each round: values have no pair
    SESSION = "session"  # two results: a value is the median of the session's rounds


@dataclass(frozen=True)
class Side:
    """One side: the cells of a result that words select. name: for texts: `write=cork`, a kernel
    release, a revision, or a folder."""

    name: str
    matrix: Matrix
    words: Mapping[str, str]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(session.name for session in self.matrix.result.plan.sessions)


@dataclass(frozen=True)
class Change:
    """One metric of one pair of cells.

    ratio: new / base; None if a side has no value, or one that is not above 0.
    adjusted: p of the ratio after the correction for its family (suite/analyse/verdicts.py).
    detectable: the minimum detectable effect, as a fraction; only for the verdict SAME.
    outliers: the number of outliers on each side; they are counted like other rounds.
    floor: the noise floor of the row as a ratio (stats.estimate_floor); None if unknown.
    base_values, new_values: by round, or by session. paired: the sides share rounds, and have the
    values of these only.
    timer: a side waits for a timer of TCP with every message.
    """

    base: Figure
    new: Figure
    ratio: stats.Estimate | None
    adjusted: float | None
    verdict: Verdict
    detectable: float | None = None
    outliers: tuple[int, int] = (0, 0)
    floor: float | None = None
    base_values: Series = field(default=NO_SERIES, compare=False)
    new_values: Series = field(default=NO_SERIES, compare=False)
    paired: bool = True
    timer: bool = False

    @property
    def exact(self) -> bool:
        """Whether both sides counted the same in every run."""
        return self.base.exact and self.new.exact

    @property
    def size(self) -> int:
        return min(len(self.base_values), len(self.new_values))

    @property
    def positive(self) -> bool:
        """Whether there are values on both sides, and all of them above 0."""
        return self.base_values.positive and self.new_values.positive

    @property
    def censored(self) -> bool:
        """Whether some value is a lower bound only, so that the ratio is a direction only."""
        return bool(self.base_values.censored or self.new_values.censored)


@dataclass(frozen=True)
class Row:
    """A pair of cells that differ only in the compared words. axes: the words that name the row.
    base, new: None if that side has no such cell. changes: by metric, if both sides have it."""

    axes: Mapping[str, str]
    base: Cell | None
    new: Cell | None
    changes: Mapping[str, Change] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[Cell, Cell] | None:
        return (self.base, self.new) if self.base and self.new else None


@dataclass(frozen=True)
class Difference:
    """A fact that differs between the sides, or an axis that is not shown.

    kind: cpu, kernel, cmdline, sysctl, governor, mitigations, offloads, binaries, words, ...
    declared: the comparison is about it. refuses: unless it is declared, ratios of time across it
    say nothing (virtualisation, number of CPUs, congestion control).
    """

    kind: str
    name: str
    base: str
    new: str
    declared: bool = False
    refuses: bool = False

    @property
    def text(self) -> str:
        """`kernel 6.17.0 -> 6.18.0`."""
        more = "" if self.name in ("", self.kind) else f" {self.name}"
        return f"{self.kind}{more} {self.base or 'none'} -> {self.new or 'none'}"


@dataclass(frozen=True)
class Mean:
    """The geometric mean of the ratios of several rows, over the rounds (boots, sessions) that all
    of them have. rows: their number. left_out: why other rows are not in it, by index. floor: the
    highest known noise floor, a ratio. every: it has all rows with a ratio (geomean=all)."""

    ratio: stats.Estimate
    rows: int
    left_out: Mapping[int, str]
    floor: float | None = None
    every: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict of the mean: a single figure, which needs no correction for other rows."""
        return verdict_of(self.ratio, self.floor)


@dataclass(frozen=True)
class Comparison:
    """Two sides, row by row.

    axes: the words of the rows. unit: of the independent values.
    geomeans: by metric; None if no row changed, if rows changed to opposite sides, or with too few
    rounds or rows.
    tested: the number of ratios in the family of a metric. hopeless: the metrics whose family is
    (verdicts.Family).
    """

    base: Side
    new: Side
    axes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    unit: Unit
    geomeans: Mapping[str, Mean | None]
    tested: Mapping[str, int]
    hopeless: tuple[str, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    def floor_highest(self, metric: str) -> float | None:
        """The highest noise floor of the rows; None if none is known."""
        return max((change.floor for change in self.changes(metric) if change.floor is not None),
                   default=None)

    def changes(self, metric: str | None = None) -> list[Change]:
        """The known changes of a metric, or of all metrics, row by row."""
        return [change for row in self.rows for name, change in row.changes.items()
                if metric in (name, None)]

    def figures(self, row: Row, metric: Metric) -> tuple[Figure | None, Figure | None]:
        """The figures of base and new in a row, from the change or, without one, from each cell."""
        change = row.changes.get(metric.name)
        if change:
            return change.base, change.new
        base, new = (figure_build(side.matrix, cell, metric) if cell else None
                     for side, cell in zip(self.sides, (row.base, row.new), strict=True))
        return base, new

    def is_known(self, metric: Metric) -> bool:
        """Whether some row has a metric of either side."""
        return any(figure for row in self.rows for figure in self.figures(row, metric))

    def cells(self) -> Iterator[tuple[Row, Side, Cell]]:
        """Every cell with its row and its side, row by row, the base first."""
        return ((row, side, cell) for row in self.rows
                for side, cell in zip(self.sides, (row.base, row.new), strict=True) if cell)

    @property
    def refusing(self) -> tuple[Difference, ...]:
        """The differences, not declared, across which ratios of time say nothing."""
        return tuple(one for one in self.differences if one.refuses and not one.declared)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.base, self.new

    @property
    def paired(self) -> bool:
        """Whether both sides ran in the same rounds."""
        return self.unit is Unit.ROUND

    @property
    def within(self) -> bool:
        return self.base.matrix is self.new.matrix
