# SPDX-License-Identifier: MIT
"""records.jsonl as a frame: a row for each whole record, a column for each single value of it. A
function that needs histograms, samples or threads reads the record again."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Collection
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

TEXTS = ("status", "reason", "cell", "label", "session", "hyperfine")
NUMBERS = ("traits", "round", "offset", "size_bytes")
PROBLEMS_SHOWN = 5  # damaged lines with a note of their own; the others are counted
NO_ROWS, ALL_ROWS = np.array([], dtype=int), slice(None)


@dataclass(frozen=True)
class Runs:
    """frame: a row per record, index 0 to rows - 1. Its columns are

    TEXTS: object. NUMBERS: int64; traits: the place in traits.
    censored: the names of the metrics that are beyond this figure, a bound (stats.Beyond).
    METRICS: float64, NaN where the record does not have one.

    traits: the different traits of the rows; after take() perhaps more than these.
    """

    frame: pd.DataFrame
    traits: tuple[Traits, ...]

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: np.ndarray) -> Runs:
        """Only these rows: a mask, or row numbers."""
        return replace(self, frame=self.frame.iloc[rows].reset_index(drop=True))

    @cached_property
    def good(self) -> np.ndarray:
        """Which rows are successful runs of counted rounds: a mask."""
        return ((self.frame["status"] == "ok") & (self.frame["round"] > 0)).to_numpy()

    @cached_property
    def gives_value(self) -> np.ndarray:
        """Which rows give the value of a round: the good run A of a cell, or A' if A failed."""
        runs = self.frame.loc[self.good, ["cell", "round", "label"]]
        runs = runs.sort_values("label", kind="stable").drop_duplicates(["cell", "round"])
        return self.frame.index.isin(runs.index)

    @cached_property
    def rows_of_cells(self) -> dict[str, np.ndarray]:
        return self.frame.groupby("cell").indices

    def rows_of(self, cell: str) -> np.ndarray:
        """The numbers of the rows of a cell, ascending."""
        return self.rows_of_cells.get(cell, NO_ROWS)

    def good_rows(self, cell: str) -> np.ndarray:
        rows = self.rows_of(cell)
        return rows[self.good[rows]]

    def value_rows(self, cell: str) -> np.ndarray:
        """The rows that give the values of its rounds, by round."""
        rows = self.rows_of(cell)
        rows = rows[self.gives_value[rows]]
        return rows[np.argsort(self.frame["round"].to_numpy()[rows])]

    def traits_counts(self, rows: np.ndarray | slice = ALL_ROWS) -> dict[Traits, int]:
        """How many of these rows have each traits, in the order in which they first occur."""
        counts = Counter(self.frame["traits"].to_numpy()[rows].tolist())
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
    damaged: the number of damaged lines; problems: the first PROBLEMS_SHOWN of these, and the first
    of each other cell."""

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {
            **{name: [] for name in TEXTS}, **{name: array("q") for name in NUMBERS},
            "censored": [], **{name: array("d") for name in METRICS}}
        self.traits: dict[Traits, int] = {}
        self.lines = self.damaged = 0
        self.problems: list[DamagedLine] = []

    def add_line(self, line: Line) -> None:
        """Adds the record of a line; a damaged line becomes a problem."""
        self.lines += 1
        if line.data is not None and not line.data.strip():
            return
        try:
            self.add_record(record_parse(line.data), line.offset, line.size_bytes)
        except Damaged as damage:
            problem = DamagedLine(self.lines, str(damage), cell_of_damaged(line.data))
            if self.damaged < PROBLEMS_SHOWN or all(problem.cell != one.cell
                                                    for one in self.problems):
                self.problems.append(problem)
            self.damaged += 1

    def notes(self, cells: Collection[str]) -> list[str]:
        """Notes on the damaged lines of a plan with these cells."""
        shown = self.problems[:PROBLEMS_SHOWN]
        texts = [f"{one.text}; " + (f"no figure of {one.cell} is used" if one.cell in cells else
                                    "the line was left out, and no check of this result passes")
                 for one in shown]
        more = self.damaged - len(shown)
        return texts + ([f"{more} more lines of records.jsonl are damaged and were left out"]
                        if more else [])

    def add_record(self, record: Record, offset: int = 0, size_bytes: int = 0) -> None:
        """Adds a record of record_parse(); Damaged if a formula cannot be computed from it."""
        try:
            values, traits = metrics_compute(record), traits_of(record)
            figures = array("d", (np.nan if value is None else value for value in values.values()))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Damaged(
                f"its figures contradict each other ({error or type(error).__name__})") from None
        texts = (record.status, record.reason, record.cell, record.label, record.session,
                 (record.hyperfine or {}).get("version", ""))
        numbers = (self.traits.setdefault(traits, len(self.traits)), record.round, offset,
                   size_bytes)
        censored = frozenset(name for name, value in values.items() if type(value) is Beyond)
        for column, value in zip(self.columns.values(), (
                *map(sys.intern, texts), *numbers, censored, *figures), strict=True):
            column.append(value)

    def build(self) -> Runs:
        return Runs(pd.DataFrame({name: np.array(column, dtype=(
            object if isinstance(column, list) else column.typecode))
            for name, column in self.columns.items()}), tuple(self.traits))


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
