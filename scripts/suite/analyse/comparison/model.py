# SPDX-License-Identifier: MIT
"""What a comparison is made of. Pure data in base units: no text for readers is made here. A ratio
is always new / base, and a change is that less 1, whichever way is better."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from suite import stats
from suite.analyse.frame import NO_SERIES, Cell, Matrix, Series
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.analyse.verdicts import Verdict, verdict_of


class Unit(Enum):
    """What one independent value is; the value is its name."""

    ROUND = "round"      # both sides ran in it, and their values of a round are a pair
    # within a result, of kernels that were booted for each round: no value has a partner
    BOOT = "boot"
    SESSION = "session"  # of two results: the median of its rounds


@dataclass(frozen=True)
class Side:
    """One side: the cells of a result that words select. name: how a reader calls it: `write=cork`,
    a kernel release, a revision, or a folder."""

    name: str
    matrix: Matrix
    words: Mapping[str, str]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(session.name for session in self.matrix.result.plan.sessions)


@dataclass(frozen=True)
class Change:
    """One metric of one pair of cells.

    ratio: new / base, None where a side has no value or one that is not above 0.
    adjusted: p of the ratio after the correction for its family (suite/analyse/verdicts.py).
    detectable: as a fraction, the smallest change that so many rounds with this noise would show;
    with SAME.
    outliers: rounds of the two sides that are marked as outliers (they are counted all the same).
    floor: the noise floor of the row as a ratio (stats.estimate_floor), None where it is not known.
    base_values, new_values: by round, those that both sides have where they share them, or by
    session. paired: whether they share them. timer: whether a side waits for a timer of TCP with
    every message.
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
        """Whether of some value only a bound is known, so that of the ratio only a direction is."""
        return bool(self.base_values.censored or self.new_values.censored)


@dataclass(frozen=True)
class Row:
    """A pair of cells that agree in everything but what is compared. axes: the words that name the
    row, in order. base or new is None where that side has no such cell. changes: by metric, absent
    where a side has no figure."""

    axes: Mapping[str, str]
    base: Cell | None
    new: Cell | None
    changes: Mapping[str, Change] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[Cell, Cell] | None:
        return (self.base, self.new) if self.base and self.new else None


@dataclass(frozen=True)
class Difference:
    """A fact that is not the same on both sides, or an axis that is not shown.

    kind: cpu, kernel, cmdline, sysctl, governor, mitigations, offloads, binaries, words, ...
    declared: whether it is what the comparison is about. refuses: whether ratios of time say
    nothing across it (virtualisation, number of CPUs, congestion control) unless it is declared.
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
    """The geometric mean of the ratios of several rows, within the rounds (boots, sessions) that
    all of them have. rows: how many. left_out: why other rows are not among them, by their place.
    floor: the highest noise floor of its rows, a ratio; None where none is known. every: whether
    exact counts and rows that wait for a timer are among them too (geomean=all)."""

    ratio: stats.Estimate
    rows: int
    left_out: Mapping[int, str]
    floor: float | None = None
    every: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict of one figure, which needs no correction for others."""
        return verdict_of(self.ratio, self.floor)


@dataclass(frozen=True)
class Comparison:
    """Two sides, row by row.

    axes: the words of the rows. unit: what is one value of them.
    geomeans: by metric; None where no row has changed, or two to opposite sides, or there are too
    few rounds or rows.
    tested: how many ratios the family of a metric has. hopeless: metrics of which no p at this
    number of rounds could survive the correction for them.
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
        """The highest noise floor of the rows; None where none is known."""
        return max((change.floor for change in self.changes(metric) if change.floor is not None),
                   default=None)

    def changes(self, metric: str | None = None) -> list[Change]:
        """The changes of a metric that are known, or of all metrics, row by row."""
        return [change for row in self.rows for name, change in row.changes.items()
                if metric in (name, None)]

    def cells(self) -> Iterator[tuple[Row, Side, Cell]]:
        """Every cell with its row and its side, row by row, the base first."""
        return ((row, side, cell) for row in self.rows
                for side, cell in zip(self.sides, (row.base, row.new), strict=True) if cell)

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
