# SPDX-License-Identifier: MIT
"""records.jsonl as columns: a row for each whole record, with everything of it that is one value.

Histograms, samples and threads are no columns: a function that needs them reads the record again.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suite.analyse.metrics import METRICS, metrics_compute
from suite.analyse.traits import Traits, traits_of
from suite.result.checks import Damaged, Misshapen
from suite.result.files import Line, object_parse
from suite.result.record import RECORD_SHAPE, Record
from suite.scenario.scenario import LABEL_AGAIN
from suite.stats import Beyond

CODED_NAMES = ("status", "reason", "cell", "label", "session", "hyperfine")  # columns of text
CODED = (*CODED_NAMES, "traits")
# columns of whole numbers; an unknown position is -1
PLACES = ("round", "position", "offset", "size_bytes")
PROBLEMS_SHOWN = 5  # damaged lines that have a note of their own; of the others only the number
METRIC_PLACES = {name: place for place, name in enumerate(METRICS)}


@dataclass(frozen=True)
class Coded:
    """A column of few different values: values[codes[row]]. codes: int, shape (rows,)."""

    codes: np.ndarray
    values: tuple[Any, ...]

    def expanded(self) -> np.ndarray:
        """The value of every row: object, shape (rows,)."""
        return np.fromiter(self.values, dtype=object, count=len(self.values))[self.codes]

    def where(self, value: Any) -> np.ndarray:
        """Which rows have this value."""
        return self.codes == (self.values.index(value) if value in self.values else -1)


@dataclass(frozen=True)
class Runs:
    """Row i is one record.

    coded: the columns CODED. places: the columns PLACES, int64, shape (rows,) each.
    metrics: float64, shape (rows, METRICS), NaN where the record does not know one.
    censored: bool, same shape: whether the figure is a bound that the value lies beyond
    (stats.Beyond).
    """

    coded: Mapping[str, Coded]
    places: Mapping[str, np.ndarray]
    metrics: np.ndarray
    censored: np.ndarray

    def __len__(self) -> int:
        return len(self.metrics)

    def take(self, rows: np.ndarray) -> Runs:
        """Only these rows, by mask or by number."""
        return Runs({name: Coded(column.codes[rows], column.values)
                     for name, column in self.coded.items()},
                    {name: column[rows] for name, column in self.places.items()},
                    self.metrics[rows], self.censored[rows])

    def metric(self, name: str) -> np.ndarray:
        """One column of metrics."""
        return self.metrics[:, METRIC_PLACES[name]]

    @cached_property
    def good(self) -> np.ndarray:
        """Which rows are good counted runs."""
        return self.coded["status"].where("ok") & (self.places["round"] > 0)

    @cached_property
    def of_rounds(self) -> np.ndarray:
        """Which rows give the value of a round: the good run A of each cell, and A' where A
        failed."""
        rows = np.flatnonzero(self.good)
        places = np.column_stack([self.coded["cell"].codes, self.places["round"]])[rows]
        order = np.argsort(self.coded["label"].where(LABEL_AGAIN)[rows], kind="stable")
        first = np.unique(places[order], axis=0, return_index=True)[1]
        chosen = np.zeros(len(self), dtype=bool)
        chosen[rows[order[first]]] = True
        return chosen

    @cached_property
    def rows_of_cells(self) -> Mapping[str, np.ndarray]:
        """The rows of each cell that has some, in order."""
        column = self.coded["cell"]
        order = np.argsort(column.codes, kind="stable")
        codes, begins = np.unique(column.codes[order], return_index=True)
        parts = np.split(order, begins)[1:]  # the first one is empty
        return {column.values[code]: rows for code, rows in zip(codes, parts, strict=True)}

    def traits_counts(self) -> dict[Traits, int]:
        """How many rows have which traits, in the order in which they first occur."""
        column = self.coded["traits"]
        codes, firsts, counts = np.unique(column.codes, return_index=True, return_counts=True)
        return {column.values[codes[place]]: int(counts[place]) for place in np.argsort(firsts)}


@dataclass
class Problems:
    """Lines that are no records: the first of them as texts, and the number of all."""

    texts: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> None:
        """One more."""
        self.count += 1
        if len(self.texts) < PROBLEMS_SHOWN:
            self.texts.append(text)

    def notes(self) -> list[str]:
        """Notes for the reader, one line each."""
        more = self.count - len(self.texts)
        return self.texts + (
            [f"{more} more lines of records.jsonl are no records and were left out"] if more
            else [])


@dataclass
class Coder:
    """A Coded column that grows."""

    codes: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[Any, int] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """The value of the next row."""
        self.codes.append(self.numbers.setdefault(value, len(self.numbers)))

    def column(self) -> Coded:
        """The column so far."""
        return Coded(np.array(self.codes, dtype=np.int32), tuple(self.numbers))


class Builder:
    """Runs that grow by a record at a time. lines: the number of lines so far, whole or not."""

    def __init__(self) -> None:
        self.coded = {name: Coder() for name in CODED}
        self.places = {name: array("q") for name in PLACES}
        self.metrics = array("d")
        self.censored = array("b")
        self.lines = 0
        self.problems = Problems()

    def line(self, line: Line) -> None:
        """Adds the record in a line; one that is damaged becomes a problem."""
        self.lines += 1
        if line.data is not None and not line.data.strip():
            return
        try:
            self.record(record_parse(line.data), line.offset, line.size_bytes)
        except Damaged as damage:
            self.problems.add(f"records.jsonl:{self.lines}: {damage}; the line was left out")

    def record(self, record: Record, offset: int = 0, size_bytes: int = 0) -> None:
        """Adds a record that record_parse() has given; Damaged if no formula can make sense of
        it."""
        try:
            values, traits = metrics_compute(record).values(), traits_of(record)
            row = array("d", (np.nan if value is None else value for value in values))
            censored = array("b", (type(value) is Beyond for value in values))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise Damaged(
                f"its figures contradict each other ({error or type(error).__name__})") from None
        self.metrics.extend(row)
        self.censored.extend(censored)
        version = (record.hyperfine or {}).get("version", "")
        for coder, value in zip(self.coded.values(), (
                record.status, record.reason, record.cell, record.label, record.session, version,
                traits), strict=True):
            coder.add(value)
        position = -1 if record.position is None else record.position
        for column, number in zip(self.places.values(), (
                record.round, position, offset, size_bytes), strict=True):
            column.append(number)

    def restart(self, runs: Runs, lines: int, problems: Problems) -> None:
        """Goes on from the cached columns of a file's first lines."""
        for name, column in runs.coded.items():
            self.coded[name] = Coder(array("i", column.codes.tobytes()),
                                     {value: code for code, value in enumerate(column.values)})
        self.places = {name: array("q", column.tobytes()) for name, column in runs.places.items()}
        self.metrics = array("d", runs.metrics.tobytes())
        self.censored = array("b", runs.censored.tobytes())
        self.lines, self.problems = lines, problems

    def runs(self) -> Runs:
        """The runs so far."""
        return Runs({name: coder.column() for name, coder in self.coded.items()},
                    {name: np.array(place, dtype=np.int64) for name, place in self.places.items()},
                    np.array(self.metrics).reshape(-1, len(METRICS)),
                    np.array(self.censored, dtype=bool).reshape(-1, len(METRICS)))


def record_parse(data: bytes | None) -> Record:
    """The record in a line; Damaged says what is wrong with it."""
    try:
        return Record(object_parse(data, RECORD_SHAPE))
    except Misshapen as wrong:
        raise Damaged(f"no record: {wrong}" if str(wrong).startswith(("has", "is"))
                      else str(wrong)) from None


def runs_first(runs: Runs) -> tuple[np.ndarray, list[str]]:
    """Which rows are the first of their (cell, label, round), and the names of the others for a
    reader.

    Every session has a round 0 of its own.
    """
    cell, label, rounds = runs.coded["cell"], runs.coded["label"], runs.places["round"]
    keys = np.column_stack([cell.codes, label.codes, rounds,
                            np.where(rounds == 0, runs.coded["session"].codes, 0)])
    first = np.zeros(len(runs), dtype=bool)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    cells, labels = cell.expanded(), label.expanded()
    return first, [f"{cells[row]}, run {labels[row]} of round {rounds[row]}"
                   for row in np.flatnonzero(~first)]
