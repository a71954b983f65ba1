# SPDX-License-Identifier: MIT
"""records.jsonl as columns: a row for each whole record, with everything of it that is one value.
What is more (histograms, samples, threads) is read again from the file by whoever needs it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
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

WORDS = ("status", "reason", "cell", "label", "session", "hyperfine")  # columns of text
# of whole numbers; a position that is not known is -1
PLACES = ("round", "position", "offset", "size_bytes")
PROBLEMS_TOLD = 5  # lines that are named; of the others only the number is told


@dataclass(frozen=True)
class Coded:
    """A column of few different values: values[codes[row]]."""

    codes: np.ndarray
    values: tuple[Any, ...]

    def expanded(self) -> np.ndarray:
        """The value of every row."""
        return np.fromiter(self.values, dtype=object, count=len(self.values))[self.codes]

    def where(self, value: Any) -> np.ndarray:
        """Which rows have this value."""
        return self.codes == (self.values.index(value) if value in self.values else -1)


@dataclass(frozen=True)
class Runs:
    """Row i is one record. metrics: a row of METRICS each, NaN where the record does not know one.

    censored: which of these are bounds that the figure lies beyond (stats.Beyond).
    """

    words: Mapping[str, Coded]
    places: Mapping[str, np.ndarray]
    traits: Coded
    metrics: np.ndarray
    censored: np.ndarray

    def __len__(self) -> int:
        return len(self.metrics)

    def take(self, rows: np.ndarray) -> Runs:
        """Only these rows, by mask or by number."""
        return Runs({name: Coded(column.codes[rows], column.values)
                     for name, column in self.words.items()},
                    {name: column[rows] for name, column in self.places.items()},
                    Coded(self.traits.codes[rows], self.traits.values), self.metrics[rows],
                    self.censored[rows])

    def metric(self, name: str) -> np.ndarray:
        """One column of metrics."""
        return self.metrics[:, METRIC_PLACES[name]]

    @cached_property
    def good(self) -> np.ndarray:
        """Which rows are good counted runs."""
        return self.words["status"].where("ok") & (self.places["round"] > 0)

    @cached_property
    def of_rounds(self) -> np.ndarray:
        """Which rows give the value of a round: of each cell the good run A, and A' where A
        failed."""
        rows = np.flatnonzero(self.good)
        places = np.column_stack([self.words["cell"].codes, self.places["round"]])[rows]
        again = self.words["label"].where(LABEL_AGAIN)[rows]
        order = np.argsort(again, kind="stable")
        first = np.unique(places[order], axis=0, return_index=True)[1]
        chosen = np.zeros(len(self), dtype=bool)
        chosen[rows[order[first]]] = True
        return chosen

    @cached_property
    def rows_of_cells(self) -> Mapping[str, np.ndarray]:
        """The rows of each cell that has some, in order."""
        column = self.words["cell"]
        order = np.argsort(column.codes, kind="stable")
        codes, begins = np.unique(column.codes[order], return_index=True)
        ends = [*begins[1:], len(order)][:len(begins)]
        return {column.values[code]: order[begin:end]
                for code, begin, end in zip(codes, begins, ends, strict=True)}

    def traits_counts(self) -> dict[Traits, int]:
        """How many rows have which traits, in the order in which they first occur."""
        codes, firsts, counts = np.unique(self.traits.codes, return_index=True, return_counts=True)
        return {self.traits.values[codes[place]]: int(counts[place])
                for place in np.argsort(firsts)}


METRIC_PLACES = {name: place for place, name in enumerate(METRICS)}


@dataclass
class Problems:
    """Lines that are no records: the first of them in words, and how many there are."""

    told: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> None:
        """One more."""
        self.count += 1
        if len(self.told) < PROBLEMS_TOLD:
            self.told.append(text)

    def notes(self) -> list[str]:
        """What a reader is told."""
        more = self.count - len(self.told)
        return self.told + (
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
        """What there is."""
        return Coded(np.array(self.codes, dtype=np.int32), tuple(self.numbers))


class Builder:
    """Runs that grow by a record at a time. lines: how many have been looked at, whole or not."""

    def __init__(self) -> None:
        self.words = {name: Coder() for name in WORDS}
        self.places = {name: array("q") for name in PLACES}
        self.traits = Coder()
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
        self.traits.add(traits)
        for name, word in (("status", record.status), ("reason", record.reason),
                           ("cell", record.cell),
                           ("label", record.label), ("session", record.session),
                           ("hyperfine", (record.hyperfine or {}).get("version", ""))):
            self.words[name].add(word)
        position = -1 if record.position is None else record.position
        for name, place in (("round", record.round), ("position", position),
                            ("offset", offset), ("size_bytes", size_bytes)):
            self.places[name].append(place)

    def restart(self, runs: Runs, lines: int, problems: Problems) -> None:
        """Goes on from what was kept of a file's beginning."""
        for name, coder in [*self.words.items(), ("traits", self.traits)]:
            column = runs.traits if name == "traits" else runs.words[name]
            coder.codes = array("i", column.codes.tobytes())
            coder.numbers = {value: code for code, value in enumerate(column.values)}
        self.places = {name: array("q", column.tobytes()) for name, column in runs.places.items()}
        self.metrics = array("d", runs.metrics.tobytes())
        self.censored = array("b", runs.censored.tobytes())
        self.lines, self.problems = lines, problems

    def runs(self) -> Runs:
        """What there is."""
        return Runs({name: coder.column() for name, coder in self.words.items()},
                    {name: np.array(place, dtype=np.int64) for name, place in self.places.items()},
                    self.traits.column(), np.array(self.metrics).reshape(-1, len(METRICS)),
                    np.array(self.censored, dtype=bool).reshape(-1, len(METRICS)))


def record_parse(data: bytes | None) -> Record:
    """The record in a line; Damaged says what is wrong with it."""
    try:
        return Record(object_parse(data, RECORD_SHAPE))
    except Misshapen as wrong:
        raise Damaged(f"no record: {wrong}" if str(wrong).startswith(("has", "is"))
                      else str(wrong)) from None


def runs_first(runs: Runs) -> tuple[np.ndarray, Sequence[str]]:
    """Which rows are the first of their (cell, label, round), and what the others are called.

    Every session has a round 0 of its own.
    """
    rounds = runs.places["round"]
    keys = np.column_stack([runs.words["cell"].codes, runs.words["label"].codes, rounds,
                            np.where(rounds == 0, runs.words["session"].codes, 0)])
    first = np.zeros(len(runs), dtype=bool)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    return first, list(names_of(runs, np.flatnonzero(~first)))


def names_of(runs: Runs, rows: np.ndarray) -> Iterator[str]:
    """These rows as a reader would call them."""
    for row in rows:
        cell, label = (runs.words[name].values[runs.words[name].codes[row]]
                       for name in ("cell", "label"))
        yield f"{cell}, run {label} of round {runs.places['round'][row]}"
