# SPDX-License-Identifier: MIT
"""records.jsonl as a frame: a row for each whole record, a column for each single value of it. A
function that needs histograms, samples or threads reads the record again."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from suite.base.units import Beyond
from suite.observe.metrics import METRICS, metrics_compute
from suite.observe.traits import Traits, traits_of
from suite.result.checks import NAMED_SHAPE, Damaged, json_parse
from suite.result.files import record_parse
from suite.result.record import Record

TEXTS = ("status", "reason", "cell", "label", "session", "hyperfine", "censored")
NUMBERS = ("traits", "round", "offset", "size_bytes")
NO_ROWS = np.array([], dtype=int)


@dataclass(frozen=True)
class Runs:
    """frame: a row per record, index 0 to rows - 1. Its columns are

    TEXTS: object; censored: the names of the metrics that are a lower bound only (stats.Beyond).
    NUMBERS: int64; traits: the place in traits.
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

    def traits_counts(self, rows: np.ndarray) -> dict[Traits, int]:
        """How many of these rows have each traits, in the order in which they first occur."""
        counts = Counter(self.frame["traits"].to_numpy()[rows].tolist())
        return {self.traits[place]: count for place, count in counts.items()}


class RunsBuilder:
    """Builds Runs from one record at a time. lines: how many so far, damaged ones too. done_bytes,
    digest: of these lines. damaged: where and why, and the cell of the run, if that is certain."""

    def __init__(self) -> None:
        self.texts: list[tuple[object, ...]] = []
        self.numbers, self.figures = array("q"), array("d")
        self.traits: dict[Traits, int] = {}
        self.damaged: dict[str, str] = {}
        self.lines, self.done_bytes, self.digest = 0, 0, ""

    def add_line(self, line: bytes) -> None:
        """Adds the record of a line that is not empty, or of a part of a line that is too long."""
        try:
            if line.strip():
                self.add_record(Record(record_parse(line)), self.done_bytes, len(line))
        except Damaged as damage:
            self.damaged[f"records.jsonl:{self.lines + 1}: {damage}"] = cell_of_damaged(line)
        self.lines += line.endswith(b"\n")
        self.done_bytes += len(line)

    def add_record(self, record: Record, offset: int = 0, size_bytes: int = 0) -> None:
        """Adds a record of RECORD_SHAPE; Damaged if a formula cannot be computed from it."""
        try:
            values, traits = metrics_compute(record), traits_of(record)
            figures = array("d", (np.nan if value is None else value for value in values.values()))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Damaged(
                f"its figures contradict each other ({error or type(error).__name__})") from None
        texts = (record.status, record.reason, record.cell, record.label, record.session,
                 (record.hyperfine or {}).get("version", ""))
        self.texts.append((*map(sys.intern, texts), frozenset(
            name for name, value in values.items() if type(value) is Beyond)))
        self.numbers.extend((self.traits.setdefault(traits, len(self.traits)), record.round,
                             offset, size_bytes))
        self.figures.extend(figures)

    def build(self) -> Runs:
        texts = pd.DataFrame(self.texts, columns=TEXTS, dtype=object)
        numbers, figures = (
            pd.DataFrame(np.array(values).reshape(-1, len(names)), columns=list(names))
            for values, names in ((self.numbers, NUMBERS), (self.figures, METRICS)))
        return Runs(pd.concat([texts, numbers, figures], axis=1, copy=False), tuple(self.traits))


def cell_of_damaged(line: bytes) -> str:
    """The cell of a damaged line. It is certain if the words of the record are those of its name:
    one wrong bit cannot change both. Else empty."""
    try:
        value = json_parse(line)
    except Damaged:
        return ""
    if NAMED_SHAPE(value):
        return ""
    cell: str = value["run"]["cell"]
    named = (word.partition("=") for word in cell.split())
    agrees = all(value["words"].get(key) == text for key, _, text in named)
    return cell if agrees else ""
