# SPDX-License-Identifier: MIT
"""Records -> frames: one row per record, then one value per (cell, round) and metric.

Round 0 warms up and is not counted. Failed and unsupported runs are shown, never averaged. Where
a cell ran twice in a round (the A/A pair) its value of the round is the mean of the two, so that
a round stays one observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from suite import stats
from suite.errors import UsageError
from suite.metrics import METRICS, SPLITS, metrics_compute
from suite.remarks import remarks_of, uncounted_of
from suite.results import Result
from suite.scenario import LABEL, LABEL_AGAIN

SPLIT_LEAST_S = 1.0  # CPU of a run below which ticks are too few to tell user from system


@dataclass(frozen=True)
class Cell:
    """One cell of the plan and how its counted runs went.

    axes: the words that vary, in order; "" where the cell does not use one.
    status: ok, unsupported, failed (no run succeeded) or missing (not run yet).
    remarks: what its good runs did otherwise than the words say.
    uncounted: the security layers that cannot tell their records; empty where all can.
    unsplit: the metrics, user or system, of a CPU time that is too short to be split.
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

    @property
    def open_loop(self) -> bool:
        """Whether requests start when they are due, not when a reply has come."""
        return self.words.get("rate", "closed") != "closed"


@dataclass(frozen=True)
class Matrix:
    """A result as frames.

    frame: one row per record: status, reason, cell, label, round, position, axes, metrics.
    values: mean of the good counted runs, indexed by (cell, round), one column per metric.
    """

    result: Result
    frame: pd.DataFrame
    values: pd.DataFrame
    cells: Mapping[str, Cell]

    @property
    def axes(self) -> tuple[str, ...]:
        """The words that vary, in order: the last varies fastest."""
        return tuple(self.result.plan["axes"])

    @property
    def rounds(self) -> int:
        """How many counted rounds have at least one record."""
        return int(self.frame.loc[self.frame["round"] > 0, "round"].nunique())

    def rounds_of(self, cell: str, metric: str) -> pd.Series:
        """The values of a metric of a cell, indexed by round, ascending; empty if there is none."""
        if cell not in self.values.index.get_level_values("cell"):
            return pd.Series(dtype=float)
        return self.values.loc[cell, metric].dropna()


def words_parse(text: str, where: str) -> dict[str, str]:
    """`key=value key=value` as a dictionary; UsageError if it is something else."""
    words: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise UsageError(f'{where}: "{word}" is no word: key=value')
        if key in words:
            raise UsageError(f"{where}: {key} is given twice")
        words[key] = value
    return words


def words_match(wanted: Mapping[str, str], words: Mapping[str, str]) -> bool:
    """Whether words has every one of wanted."""
    return all(words.get(key) == value for key, value in wanted.items())


def frame_build(result: Result) -> pd.DataFrame:
    """One row per record, in the order in which they were run."""
    axes = result.plan["axes"]
    words = {cell["cell"]: {**cell["words"], **cell.get("given", {})}
             for cell in result.plan["cells"]}
    rows = []
    for record in result.records:
        run = record["run"]
        row: dict[str, Any] = {
            "status": record["status"], "reason": record.get("reason", ""), "cell": run["cell"],
            "label": run["label"], "round": run["round"], "position": run.get("position"),
            "hyperfine": record.get("hyperfine", {}).get("version", ""),
        }
        row |= {axis: words[run["cell"]].get(axis, "") for axis in axes}
        rows.append(row | metrics_compute(record))
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(METRICS, float))


def splits_unknown(frame: pd.DataFrame) -> dict[str, frozenset[str]]:
    """By cell the parts of CPU times whose runs have less than SPLIT_LEAST_S of CPU in the median.

    A kernel without CONFIG_VIRT_CPU_ACCOUNTING_GEN knows the sum and samples the parts by ticks.
    """
    good = frame[(frame["round"] > 0) & (frame["status"] == "ok")]
    found: dict[str, frozenset[str]] = {}
    for prefix in dict.fromkeys(SPLITS.values()):
        parts = [f"{prefix}user", f"{prefix}system"]
        spent = good[parts].sum(axis=1, skipna=False).groupby(good["cell"]).median()
        for cell in spent.index[spent < SPLIT_LEAST_S]:
            found[cell] = found.get(cell, frozenset()) | set(parts)
    return found


def splits_clear(frame: pd.DataFrame, unsplit: Mapping[str, frozenset[str]]) -> pd.DataFrame:
    """The frame without the values of these cells and metrics."""
    cleared = frame.copy()
    for cell, names in unsplit.items():
        cleared.loc[cleared["cell"] == cell, sorted(names)] = float("nan")
    return cleared


def status_of(runs: pd.DataFrame) -> tuple[str, tuple[str, ...], int, int]:
    """Status, reasons, good and failed counted runs of one cell from all rows of its records.

    Round 0 counts here only where it is all there is.
    """
    counted = runs[runs["round"] > 0]
    told = counted if len(counted) else runs[runs["status"] != "ok"]
    statuses = list(told["status"])
    reasons = tuple(dict.fromkeys(told.loc[told["status"] != "ok", "reason"]))
    good = int((counted["status"] == "ok").sum())
    failed = int((counted["status"] == "failed").sum())
    for status in ("ok", "unsupported", "failed"):
        if status in statuses:
            return status, reasons, good, failed
    return "missing", ("not run yet",), good, failed


def records_good(result: Result) -> dict[str, list[dict[str, Any]]]:
    """The records of good counted runs by cell."""
    found: dict[str, list[dict[str, Any]]] = {cell["cell"]: [] for cell in result.plan["cells"]}
    for record in result.records:
        if record["status"] == "ok" and record["run"]["round"] > 0:
            found[record["run"]["cell"]].append(record)
    return found


def cells_build(result: Result, frame: pd.DataFrame, unsplit: Mapping[str, frozenset[str]]
                ) -> dict[str, Cell]:
    """The cells of the plan in order, by name."""
    groups = dict(tuple(frame.groupby("cell")))
    records = records_good(result)
    cells = {}
    for entry in result.plan["cells"]:
        words = {**entry["words"], **entry.get("given", {})}
        runs = groups.get(entry["cell"], frame.iloc[:0])
        status, reasons, good, failed = status_of(runs)
        if status == "missing" and entry.get("unsupported"):
            status, reasons = "unsupported", (entry["unsupported"],)
        able = records[entry["cell"]]
        cells[entry["cell"]] = Cell(
            name=entry["cell"], words=words, given=entry.get("given", {}),
            axes={axis: words.get(axis, "") for axis in result.plan["axes"]},
            baseline=bool(entry.get("baseline")), status=status, reasons=reasons,
            runs_ok=good, runs_failed=failed,
            remarks=remarks_of(words, able), uncounted=uncounted_of(able),
            unsplit=unsplit.get(entry["cell"], frozenset()))
    return cells


def matrix_build(result: Result) -> Matrix:
    """All frames of a result."""
    frame = frame_build(result)
    unsplit = splits_unknown(frame)
    frame = splits_clear(frame, unsplit)
    good = frame[(frame["round"] > 0) & (frame["status"] == "ok")]
    values = good.groupby(["cell", "round"], sort=True)[list(METRICS)].mean()
    return Matrix(result, frame, values, cells_build(result, frame, unsplit))


def baseline_words(matrix: Matrix) -> dict[str, str]:
    """The axes that make a cell a baseline: the plan's word, else what all baseline cells share.

    Of a list of values (`write=nodelay,cork`) the first is what others are compared with.
    """
    given = matrix.result.plan.get("baseline") or ""
    words = words_parse(given, "plan.json: baseline")
    chosen = {key: value.split(",")[0] for key, value in words.items() if key in matrix.axes}
    if chosen:
        return chosen
    marked = [cell.axes for cell in matrix.cells.values() if cell.baseline]
    return {axis: marked[0][axis] for axis in matrix.axes
            if marked and len({axes[axis] for axes in marked}) == 1}


def baseline_find(matrix: Matrix, cell: Cell, base: Mapping[str, str]) -> Cell | None:
    """The cell that differs from this one in the baseline's words only; None if there is none."""
    if not base:
        return None
    wanted = {**cell.axes, **base}
    return next((other for other in matrix.cells.values() if other.axes == wanted), None)


def rounds_shared(matrix: Matrix, first: str, second: str, metric: str
                  ) -> tuple[pd.Series, pd.Series] | None:
    """The values of two cells in the rounds that both have; None without any, or one not > 0."""
    one, two = matrix.rounds_of(first, metric), matrix.rounds_of(second, metric)
    shared = one.index.intersection(two.index)
    if not len(shared) or (one[shared] <= 0).any() or (two[shared] <= 0).any():
        return None
    return one[shared], two[shared]


def ratio_between(matrix: Matrix, cell: str, base: str, metric: str) -> stats.Estimate | None:
    """cell / base over the rounds that both have; None as rounds_shared()."""
    both = rounds_shared(matrix, cell, base, metric)
    return stats.ratio_estimate(both[0].to_numpy(), both[1].to_numpy()) if both else None


def runs_paired(matrix: Matrix, cell: str, metric: str) -> pd.DataFrame | None:
    """The complete pairs of a cell that ran twice a round, columns A and A'; None without any or
    if a value is not > 0."""
    frame = matrix.frame
    runs = frame[(frame["round"] > 0) & (frame["status"] == "ok") & (frame["cell"] == cell)]
    pairs = runs.pivot(index="round", columns="label", values=metric)
    if not {LABEL, LABEL_AGAIN} <= set(pairs.columns):
        return None
    pairs = pairs[[LABEL, LABEL_AGAIN]].dropna()
    return pairs if len(pairs) and (pairs > 0).all(axis=None) else None


def same_band(matrix: Matrix, metric: str) -> float | None:
    """The A/A band of a metric as a fraction, over all cells that ran twice a round; None below 6
    complete pairs."""
    doubled = matrix.frame.loc[matrix.frame["label"] == LABEL_AGAIN, "cell"].unique()
    paired = (runs_paired(matrix, cell, metric) for cell in doubled)
    return stats.same_band(
        stats.ratio_estimate(pairs[LABEL_AGAIN].to_numpy(), pairs[LABEL].to_numpy())
        for pairs in paired if pairs is not None)
