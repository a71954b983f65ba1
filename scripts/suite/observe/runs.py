# SPDX-License-Identifier: MIT
"""records.jsonl as columns: a row for each whole record, a column for each single value of it. A
function that needs histograms, samples or threads reads the record again."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from suite.base.units import Beyond
from suite.observe.metrics import METRICS, metrics_compute
from suite.observe.traits import Traits, traits_of
from suite.result.checks import NAMED_SHAPE, RECORD_SHAPE, Damaged, WrongShape, json_parse
from suite.result.files import Line, line_parse
from suite.result.record import Record

TEXTS = ("status", "reason", "cell", "label", "session", "hyperfine")  # columns of text
NUMBERS = ("traits", "round", "offset", "size_bytes")  # of whole numbers; traits: in Runs.traits
PROBLEMS_SHOWN = 5  # damaged lines with a note of their own; the others are counted
NO_ROWS = np.array([], dtype=int)
METRIC_COLUMNS = {name: place for place, name in enumerate(METRICS)}


@dataclass(frozen=True)
class Runs:
    """Row i is one record.

    columns: TEXTS (object) and NUMBERS (int64), shape (rows,) each.
    metrics: float64, shape (rows, METRICS), NaN where the record does not have one.
    censored: bool, same shape: the value is beyond this figure, a bound (stats.Beyond).
    traits: the different traits of the rows; after take() perhaps more than these.
    """

    columns: Mapping[str, np.ndarray]
    metrics: np.ndarray
    censored: np.ndarray
    traits: tuple[Traits, ...]

    def __len__(self) -> int:
        return len(self.metrics)

    def take(self, rows: np.ndarray) -> Runs:
        """Only these rows: a mask, or row numbers."""
        return Runs({name: column[rows] for name, column in self.columns.items()},
                    self.metrics[rows], self.censored[rows], self.traits)

    @cached_property
    def good(self) -> np.ndarray:
        """Which rows are successful runs of counted rounds: a mask."""
        return (self.columns["status"] == "ok") & (self.columns["round"] > 0)

    @cached_property
    def gives_value(self) -> np.ndarray:
        """Which rows give the value of a round: the good run A of a cell, or A' if A failed."""
        runs = self.frame("cell", "round", "label")[self.good].sort_values("label", kind="stable")
        chosen = np.zeros(len(self), dtype=bool)
        chosen[runs.drop_duplicates(["cell", "round"]).index] = True
        return chosen

    @cached_property
    def rows_of_cells(self) -> Mapping[str, np.ndarray]:
        return self.frame("cell").groupby("cell").indices

    def rows_of(self, cell: str) -> np.ndarray:
        return self.rows_of_cells.get(cell, NO_ROWS)

    def frame(self, *names: str) -> pd.DataFrame:
        """These columns; index 0 to rows - 1."""
        return pd.DataFrame({name: self.columns[name] for name in names})

    def refuse(self, reasons: Mapping[str, str]) -> Runs:
        """The runs of these cells count as failed, for the reason of their cell."""
        columns = {**self.columns, **{name: self.columns[name].copy()
                                      for name in ("status", "reason")}}
        for cell, reason in reasons.items():
            columns["status"][self.rows_of(cell)] = "failed"
            columns["reason"][self.rows_of(cell)] = reason
        return replace(self, columns=columns) if reasons else self

    def traits_counts(self) -> dict[Traits, int]:
        """The number of rows of each traits, in the order in which they first occur."""
        counts = Counter(self.columns["traits"].tolist())
        return {self.traits[place]: count for place, count in counts.items()}


class DamagedLine(NamedTuple):
    """number: from 1. cell: the cell of its run; empty if that is not certain."""

    number: int
    why: str
    cell: str

    @property
    def text(self) -> str:
        return f"records.jsonl:{self.number}: {self.why}"


class RunsBuilder:
    """Builds Runs from one record at a time. lines: the number of lines so far, damaged ones too.
    damaged: the number of damaged lines; problems: the first of these; damage: by cell, or empty
    for an unknown one, its first."""

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {
            **{name: [] for name in TEXTS}, **{name: array("q") for name in NUMBERS}}
        self.traits: dict[Traits, int] = {}
        self.metrics = array("d")
        self.censored = array("b")
        self.lines = self.damaged = 0
        self.problems: list[DamagedLine] = []
        self.damage: dict[str, DamagedLine] = {}

    def add_line(self, line: Line) -> None:
        """Adds the record of a line; a damaged line becomes a problem."""
        self.lines += 1
        if line.data is not None and not line.data.strip():
            return
        try:
            self.add_record(record_parse(line.data), line.offset, line.size_bytes)
        except Damaged as damage:
            problem = DamagedLine(self.lines, str(damage), cell_of_damaged(line.data))
            self.damaged += 1
            self.damage.setdefault(problem.cell, problem)
            if self.damaged <= PROBLEMS_SHOWN:
                self.problems.append(problem)

    def notes(self, cells: Collection[str]) -> list[str]:
        """Notes on the damaged lines of a plan with these cells."""
        texts = [f"{one.text}; " + (f"no figure of {one.cell} is used" if one.cell in cells else
                                    "the line was left out, and no check of this result passes")
                 for one in self.problems]
        more = self.damaged - len(texts)
        return texts + ([f"{more} more lines of records.jsonl are damaged and were left out"]
                        if more else [])

    def add_record(self, record: Record, offset: int = 0, size_bytes: int = 0) -> None:
        """Adds a record of record_parse(); Damaged if a formula cannot be computed from it."""
        try:
            values, traits = metrics_compute(record).values(), traits_of(record)
            row = array("d", (np.nan if value is None else value for value in values))
            censored = array("b", (type(value) is Beyond for value in values))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Damaged(
                f"its figures contradict each other ({error or type(error).__name__})") from None
        self.metrics.extend(row)
        self.censored.extend(censored)
        texts = (record.status, record.reason, record.cell, record.label, record.session,
                 (record.hyperfine or {}).get("version", ""))
        numbers = (self.traits.setdefault(traits, len(self.traits)), record.round, offset,
                   size_bytes)
        for column, value in zip(self.columns.values(), (*map(sys.intern, texts), *numbers),
                                 strict=True):
            column.append(value)

    def build(self) -> Runs:
        return Runs({name: np.array(column, dtype=object if name in TEXTS else np.int64)
                     for name, column in self.columns.items()},
                    np.array(self.metrics).reshape(-1, len(METRICS)),
                    np.array(self.censored, dtype=bool).reshape(-1, len(METRICS)),
                    tuple(self.traits))


def record_parse(data: bytes | None) -> Record:
    """The record of a line; Damaged says what is wrong with it."""
    try:
        return Record(line_parse(data, RECORD_SHAPE))
    except WrongShape as wrong:
        raise Damaged(f"no record: {wrong}" if str(wrong).startswith(("has", "is"))
                      else str(wrong)) from None


def cell_of_damaged(data: bytes | None) -> str:
    """The cell of a damaged line. It is certain if the words of the record are those of its name:
    one wrong bit cannot change both. Else empty."""
    try:
        value = json_parse(data or b"")
        NAMED_SHAPE(value)
    except Damaged:
        return ""
    cell: str = value["run"]["cell"]
    named = (word.partition("=") for word in cell.split())
    agrees = all(value["words"].get(key) == text for key, _, text in named)
    return cell if agrees else ""
