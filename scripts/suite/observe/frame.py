# SPDX-License-Identifier: MIT
"""Records -> a frame: one row per record, then one value per (cell, round) and metric.

Round 0 warms up and is not counted. Failed and unsupported runs are shown, never averaged. The
value of a round is that of run A, or that of A' if A failed. Else A' is only compared with A: a
mean of both would have less noise than the one run of another cell, so the ratio of two identical
cells would not be symmetric about 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from suite import stats
from suite.base.errors import UsageError
from suite.base.runner_words import boot_of, target_of
from suite.base.words import words_text
from suite.observe.machines import cells_emulated
from suite.observe.measured import MeasuredRun
from suite.observe.metrics import METRICS, SPLITS, Metric
from suite.observe.results import Result, result_load
from suite.observe.runs import Runs
from suite.observe.traits import Traits, remarks_of
from suite.result.plan import PlannedCell
from suite.result.record import STATUSES, WARMUP_ROUND, Record
from suite.scenario.scenario import LABEL, LABEL_REPEAT

SPLIT_MIN_S = 1.0  # with less CPU time in a run, too few ticks tell user from system


@dataclass(frozen=True)
class Cell:
    """One cell of the plan and the outcome of its counted runs.

    axes: the words that vary, in order; "" where the cell does not use one.
    status: ok, unsupported, failed (no run succeeded) or missing (not run yet).
    remarks: in what its good runs differ from its words.
    uncounted: the security layers that do not count their records; empty if all do.
    unsplit: the user and system metrics whose CPU time is too short to split.
    emulated: why its times mean nothing and are left out; empty if they are valid.
    """

    name: str
    words: Mapping[str, str]
    given: Mapping[str, str]
    axes: Mapping[str, str]
    baseline: bool
    status: str
    reasons: tuple[str, ...]
    runs_ok: int
    runs_failed: int
    remarks: tuple[str, ...] = ()
    uncounted: str = ""
    unsplit: frozenset[str] = frozenset()
    emulated: str = ""

    @property
    def text(self) -> str:
        return words_text({key: value for key, value in self.axes.items() if value})

    @property
    def target(self) -> str:
        return target_of(self.words)

    @property
    def block(self) -> str:
        """The block of its rounds: the image that is booted for them; "" is the runner's system.
        Only cells of one block share rounds: in a round of two kernels each is booted once."""
        return boot_of(self.words)

    def hides(self, metric: Metric) -> bool:
        """Whether a figure is hidden: it is a time of an emulated cell, which means nothing."""
        return bool(self.emulated) and metric.timed

    @property
    def open_loop(self) -> bool:
        """Whether requests start on a schedule, not after the previous reply."""
        return self.words.get("rate", "closed") != "closed"


@dataclass(frozen=True)
class Series:
    """A metric by round; arrays of shape (rounds,). rounds: int, ascending and unique, or names of
    sessions. values: float, infinite if censored. bounds: the lower bounds of censored values."""

    rounds: np.ndarray
    values: np.ndarray
    bounds: np.ndarray

    def __len__(self) -> int:
        return len(self.rounds)

    @cached_property
    def censored(self) -> int:
        """The number of rounds with a lower bound only."""
        return int(np.isinf(self.values).sum())

    @cached_property
    def median(self) -> float:
        """The median, a stats.Beyond if it is censored. There must be a value."""
        return stats.median(self.values, self.bounds)

    @property
    def by_round(self) -> pd.Series:
        return pd.Series(self.values, index=self.rounds)

    @property
    def positive(self) -> bool:
        """Whether there is a value, and all are above 0."""
        return len(self) > 0 and self.values.min() > 0

    def take(self, places: np.ndarray) -> Series:
        """Only these rounds. places: a mask, or positions."""
        return Series(self.rounds[places], self.values[places], self.bounds[places])

    def join(self, other: Series) -> tuple[Series, Series]:
        """Both series, only the rounds that both have, ascending."""
        _, mine, others = np.intersect1d(self.rounds, other.rounds, assume_unique=True,
                                         return_indices=True)
        return self.take(mine), other.take(others)


NO_SERIES = Series(np.array([]), np.array([]), np.array([]))
Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(function: Function) -> Function:
    """The function, which computes once for the same cells, metrics and texts of a matrix. Its
    answer must not depend on which cells are shown."""
    @wraps(function)
    def remember(matrix: Matrix, *arguments: Any) -> Any:
        key = (function.__qualname__, *(getattr(one, "name", one) for one in arguments))
        if key not in matrix.memo:
            matrix.memo[key] = function(matrix, *arguments)
        return matrix.memo[key]
    return cast(Function, remember)


@dataclass(frozen=True)
class Matrix:
    """A result as a frame. frame: that of Runs, NaN also where a figure means nothing. cells: those
    that are shown, by name, in the plan's order. narrowed_from: the matrix of all cells, if this
    shows some. margin: the least change that matters to the reader, a fraction; None: each does."""

    result: Result
    frame: pd.DataFrame
    cells: Mapping[str, Cell]
    narrowed_from: Matrix | None = None
    margin: float | None = None

    @property
    def whole(self) -> Matrix:
        """The matrix of all cells: no ratio or verdict depends on a selection."""
        return self.narrowed_from or self

    @property
    def axes(self) -> tuple[str, ...]:
        """The words that vary, in order: the last varies fastest."""
        return self.result.plan.axes

    @property
    def rounds(self) -> int:
        """The number of counted rounds that have a record."""
        return int(self.frame.loc[self.frame["round"] > 0, "round"].nunique())

    @cached_property
    def blocks(self) -> set[str]:
        """The different blocks of its cells; only "" if no kernel was booted."""
        return {cell.block for cell in self.cells.values()}

    @cached_property
    def memo(self) -> dict[tuple[Any, ...], Any]:
        """The answers of functions that are remembered()."""
        return self.narrowed_from.memo if self.narrowed_from else {}

    @cached_property
    def cells_at(self) -> Mapping[tuple[str, ...], Cell]:
        """By their axes; the first of cells that have the same."""
        return {tuple(cell.axes.values()): cell for cell in reversed(list(self.cells.values()))}

    def values(self, column: str, rows: np.ndarray) -> np.ndarray:
        return self.frame[column].to_numpy()[rows]

    def rounds_of(self, cell: str) -> set[int]:
        """The counted rounds in which a cell ran, whatever became of its runs."""
        return set(self.values("round", self.result.runs.rows_of(cell)).tolist()) - {WARMUP_ROUND}

    @remembered
    def series(self, cell: str, metric: str) -> Series:
        """A metric of a cell by round; empty if no round has it."""
        return self.series_at(self.result.runs.value_rows(cell), metric)

    def series_at(self, rows: np.ndarray, metric: str) -> Series:
        """The known values of these rows, which are of one cell and of different rounds. If one row
        does not know a quantile, the series is empty: runs with too few requests for it are the
        slow ones, so the median of the others would be too fast."""
        bounds = self.values(metric, rows)
        known = ~np.isnan(bounds)
        if METRICS[metric].ranked and not known.all():
            return NO_SERIES
        censored = [metric in names for names in self.values("censored", rows)]
        values = np.where(censored, np.inf, bounds)
        return Series(self.values("round", rows), values, bounds).take(known)

    def coverage_text(self, cell: Cell, metric: str) -> str:
        """In how many rounds a metric is known, and why not in all; empty if in all, or in none."""
        values = self.values(metric, self.result.runs.value_rows(cell.name))
        have = int((~np.isnan(values)).sum())
        known = have - self.series(cell.name, metric).censored
        if not have or known == len(values):
            return ""
        unsent = ": requests were due and never sent" if cell.open_loop else ""
        why = (f"; in the others only a lower bound is known{unsent}" if have == len(values) else
               "; the others have too few requests for it" if METRICS[metric].ranked else "")
        return f"{metric} known in {known} of {len(values)} rounds{why}"

    @cached_property
    def traits(self) -> tuple[Traits, ...]:
        """The different traits of all good counted runs, in the order in which they first occur."""
        return tuple(self.result.runs.traits_counts(self.result.runs.good))

    @remembered
    def traits_of(self, cell: str) -> tuple[Traits, ...]:
        """The different traits of all runs of a cell."""
        return tuple(self.result.runs.traits_counts(self.result.runs.rows_of(cell)))

    def is_exact(self, cell: str, metric: str) -> bool:
        """Whether a count is the same in all good runs, A' too, of at least 2 rounds."""
        rows = self.result.runs.good_rows(cell)
        rounds, values = self.values("round", rows), self.values(metric, rows)
        return METRICS[metric].whole and len(set(rounds)) > 1 and bool((values == values[0]).all())

    def records_good(self, cell: str) -> Iterator[Record]:
        """The whole records that give a cell's values, one per round, by round."""
        return self.result.records(self.result.runs.value_rows(cell))

    def runs_good(self, cell: str) -> list[MeasuredRun]:
        """The same as runs, for figures that the frame does not have; none if emulated."""
        return [] if self.cells[cell].emulated else list(map(MeasuredRun, self.records_good(cell)))

    @property
    def baseline(self) -> dict[str, str]:
        """The axes that make a cell a baseline (Plan.baseline_axes)."""
        return self.result.plan.baseline_axes

    def baseline_find(self, cell: Cell, base: Mapping[str, str] | None = None) -> Cell | None:
        """The cell with the words of base (default: baseline) and else the axes of this cell."""
        base = self.baseline if base is None else base
        return self.whole.cells_at.get(tuple({**cell.axes, **base}.values())) if base else None

    @property
    def cells_compared(self) -> list[Cell]:
        """The shown cells and their baselines, in the plan's order."""
        found = {other.name for cell in self.cells.values() if (other := self.baseline_find(cell))}
        return [cell for name, cell in self.whole.cells.items()
                if name in self.cells or name in found]

    def runs_paired(self, cell: str, metric: str) -> tuple[Series, Series]:
        """A and A' of the rounds in which a cell ran twice, ascending; both empty without such a
        round, or if some run does not know a quantile."""
        rows = self.result.runs.good_rows(cell)
        labels = self.values("label", rows)
        first, again = (self.series_at(rows[labels == label], metric)
                        for label in (LABEL, LABEL_REPEAT))
        return first.join(again)


def splits_unknown(runs: Runs) -> dict[tuple[str, ...], set[str]]:
    """By SPLITS, the cells in whose median run their sum is below SPLIT_MIN_S. A kernel without
    CONFIG_VIRT_CPU_ACCOUNTING_GEN knows the sum and samples the parts by ticks."""
    good, found = runs.frame[runs.gives_value], dict[tuple[str, ...], set[str]]()
    for parts in SPLITS:
        spent = good[list(parts)].sum(axis=1, skipna=False).groupby(good["cell"]).median()
        found[parts] = set(spent.index[spent < SPLIT_MIN_S])
    return found


def cell_build(planned: PlannedCell, axes: Sequence[str], runs: Runs, unsplit: frozenset[str],
               emulated: str) -> Cell:
    """A cell of the plan. runs: all its runs; round 0 counts only if there is no other."""
    words, traits = planned.all_words, runs.traits_counts(runs.good)
    found, counted = runs.frame["status"], runs.frame["round"] > 0
    shown = counted if counted.any() else found != "ok"
    status = next((name for name in STATUSES if (found[shown] == name).any()), "missing")
    reasons = tuple(runs.frame.loc[shown & (found != "ok"), "reason"].unique())
    if status == "missing":
        status = "unsupported" if planned.unsupported else status
        reasons = (planned.unsupported or "not run yet",)
    return Cell(planned.name, words, planned.given, {axis: words.get(axis, "") for axis in axes},
                planned.baseline, status, reasons, int(runs.good.sum()),
                int((found[counted] == "failed").sum()), remarks_of(runs.frame[runs.good], traits),
                ", ".join(dict.fromkeys(layer for one in traits for layer in one.uncounted)),
                unsplit, emulated)


def matrix_build(result: Result) -> Matrix:
    """A figure that means nothing becomes NaN in the frame."""
    runs, frame = result.runs, result.runs.frame.copy()
    emulated, unsplit = cells_emulated(result), splits_unknown(runs)
    timed = tuple(name for name, metric in METRICS.items() if metric.timed)
    for names, found in {timed: emulated.keys(), **unsplit}.items():
        frame.loc[frame["cell"].isin(found), list(names)] = np.nan
    return Matrix(result, frame, {cell.name: cell_build(
        cell, result.plan.axes, runs.take(runs.rows_of(cell.name)),
        frozenset(name for names, found in unsplit.items() if cell.name in found
                  for name in names),
        emulated.get(cell.name, "")) for cell in result.plan.cells})


def matrix_load(folder: Path, margin: str | None = None) -> Matrix:
    """The matrix of a result. margin: as typed, `2%`; UsageError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", margin or "")
    share = float(match[1]) / 100 if match else None
    if margin is not None and not share:
        raise UsageError(f'"margin={margin}": the least change that matters, such as margin=2%')
    return replace(matrix_build(result_load(folder)), margin=share)


def rounds_common(cells: Iterable[Cell]) -> bool:
    """Whether these cells share their rounds. All commands decide it here."""
    return len({cell.block for cell in cells}) < 2
