# SPDX-License-Identifier: MIT
"""The data of a comparison, in base units; no texts for readers. A ratio is always new / base, and
a change is the ratio - 1, whether higher or lower is better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from suite import stats
from suite.contrast.contrast import Contrast, Unit, Verdict
from suite.contrast.verdicts import Family, Judged
from suite.decide.summary import Figure, figure_build
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric


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

    outliers: the number of outliers on each side; they are counted like other rounds.
    same: the A/A interval of the row as a ratio (contrast.same_reach); None if unknown.
    timer: a side waits for a timer of TCP with every message.
    """

    base: Figure
    new: Figure
    judged: Judged
    outliers: tuple[int, int] = (0, 0)
    same: float | None = None
    timer: bool = False

    @property
    def contrast(self) -> Contrast:
        return self.judged.contrast

    @property
    def ratio(self) -> stats.Estimate | None:
        """new / base."""
        return self.judged.estimate

    @property
    def verdict(self) -> Verdict:
        return self.judged.verdict


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


def judged_rows(rows: Sequence[Row], metric: Metric) -> list[tuple[Mapping[str, str], Judged]]:
    """The words of each row that has a change of a metric, and that change with its family."""
    return [(row.axes, row.changes[metric.name].judged) for row in rows
            if metric.name in row.changes]


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
    def names(self) -> set[str]:
        """The names that declare it: its kind (kernel), or its own (tcp_rmem)."""
        return {self.kind, self.name, self.name.rsplit(".", 1)[-1]}

    @property
    def text(self) -> str:
        """`kernel 6.17.0 -> 6.18.0`."""
        more = "" if self.name in ("", self.kind) else f" {self.name}"
        return f"{self.kind}{more} {self.base or 'none'} -> {self.new or 'none'}"


@dataclass(frozen=True)
class Mean:
    """The geometric mean of the ratios of several rows, over the rounds (boots, sessions) that all
    of them have. It is a single figure, which needs no correction for other rows. rows: their
    number. left_out: why other rows are not in it, by index. every: it has all rows with a ratio
    (geomean=all)."""

    ratio: stats.Estimate
    rows: int
    left_out: Mapping[int, str]
    every: bool = False

    @property
    def verdict(self) -> Verdict:
        if self.ratio.interval is None:
            return Verdict.UNKNOWN
        return Verdict.UNDECIDED if self.ratio.interval.contains(1.0) else Verdict.CHANGED


@dataclass(frozen=True)
class Comparison:
    """Two sides, row by row.

    axes: the words of the rows. unit: of the independent values.
    geomeans: by metric; without those in which no row changed, rows changed to opposite sides, or
    there are too few rounds or rows.
    """

    base: Side
    new: Side
    axes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    unit: Unit
    geomeans: Mapping[str, Mean]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    def same_widest(self, metric: str) -> float | None:
        """The widest A/A interval of the rows; None if none is known."""
        return max((change.same for change in self.changes(metric) if change.same is not None),
                   default=None)

    def changes(self, metric: str | None = None) -> list[Change]:
        """The known changes of a metric, or of all metrics, row by row."""
        return [change for row in self.rows for name, change in row.changes.items()
                if metric in (name, None)]

    def family(self, metric: str) -> Family:
        """The family of the changes of a metric; an empty one without changes."""
        return next((change.judged.family for change in self.changes(metric)), Family({}))

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
