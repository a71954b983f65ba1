# SPDX-License-Identifier: MIT
"""The progress of a matrix on standard error: a bar on a terminal, a line per round in a log.

It is written between batches, and by no thread: a terminal must not change what is measured.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TextIO

from suite.base.words import words_text
from suite.measure.schedule import Run
from suite.result.record import WARMUP_ROUND


def clock_text(seconds: float) -> str:
    """Seconds as 0:05, 12:30, 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def round_text(number: int, last: int) -> str:
    return "warm-up" if number == WARMUP_ROUND else f"round {number} of {last}"


@dataclass
class MatrixProgress(AbstractContextManager["MatrixProgress"]):
    """What both kinds share. begin() comes before every batch, end() after every run. total, done:
    numbers of runs. planned_s: the planned seconds of one run; None where some runs are fixed work
    of unknown time. until: how narrow intervals have to be, which may add runs. last_round: of the
    session. spent_s: the time of all runs that are done."""

    total: int
    planned_s: float | None
    until: str | None
    last_round: int
    stream: TextIO
    done: int = field(default=0, init=False)
    spent_s: float = field(default=0.0, init=False)
    started: float = field(default=0.0, init=False)
    failures: list[str] = field(default_factory=list, init=False)  # lines not written yet

    @property
    def left_text(self) -> str:
        mean = self.spent_s / self.done if self.done else self.planned_s
        if mean is None:
            return "time left not known yet"
        return f"{clock_text(mean * (self.total - self.done))} left"

    def __exit__(self, *error: object) -> None:
        self.failures_write()

    @abstractmethod
    def line_write(self, text: str) -> None:
        """Writes a line and flushes it."""

    @abstractmethod
    def state_write(self, run: Run) -> None:
        """Writes the progress when this run begins."""

    def failures_write(self) -> None:
        for text in self.failures:
            self.line_write(text)
        self.failures.clear()

    def begin(self, run: Run) -> None:
        """A batch starts with this run: writes failures and progress."""
        self.failures_write()
        self.state_write(run)
        self.started = time.monotonic()

    def end(self, run: Run, record: dict[str, Any]) -> None:
        """A run has ended. Nothing is written: another run of its batch may be under way."""
        now = time.monotonic()
        self.done += 1
        self.spent_s += now - self.started
        self.started = now
        if record["status"] == "failed":
            self.failures.append(f"uncork: {run.cell.name}: failed: "
                                 f"{record.get('reason', 'no reason given')}")

    def extend(self, runs: int, rounds: int) -> None:
        """until= adds this number of runs, in this number of rounds."""
        self.total += runs
        self.last_round += rounds

    def round_text(self, run: Run) -> str:
        text = round_text(run.round, self.last_round)
        return text if self.until is None else f"{text}, until={self.until}"


@dataclass
class Log(MatrixProgress):
    """A line at the end of every round, and one for every run that failed."""

    round: int | None = field(default=None, init=False)

    def line_write(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def state_write(self, run: Run) -> None:
        if run.round != self.round:
            self.round = run.round
            least, about = ("", "about ") if self.until is None else ("at least ",) * 2
            left = self.left_text
            self.line_write(f"uncork: {self.round_text(run)}: {self.done} of {least}{self.total} "
                            f"runs done, {about if left[0].isdigit() else ''}{left}")


@dataclass
class Bar(MatrixProgress):
    """A bar on a terminal, with the cell that runs and its last figure. axes: the words that name a
    cell. figure: the text for a record."""

    axes: tuple[str, ...]
    figure: Callable[[dict[str, Any]], str]

    def __post_init__(self) -> None:
        from rich.console import Console  # only where there is a terminal
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column
        self.figures: dict[str, str] = {}
        self.bar = Progress(
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=9)),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True, min_width=10)),
            TextColumn("{task.description}", markup=False,
                       table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            console=Console(file=self.stream), transient=True, expand=True, auto_refresh=False)
        self.task = self.bar.add_task("", total=self.total, left="")

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.bar.stop()

    def line_write(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False)

    def state_write(self, run: Run) -> None:
        words = {axis: run.cell.given[axis] for axis in self.axes if axis in run.cell.given}
        text = (f"{self.round_text(run)}: {words_text(words) or run.cell.name} "
                f"{self.figures.get(run.cell.name, '')}")
        self.bar.update(self.task, description=text.strip(), total=self.total,
                        completed=self.done, left=self.left_text, refresh=True)

    def end(self, run: Run, record: dict[str, Any]) -> None:
        super().end(run, record)
        self.figures[run.cell.name] = self.figure(record)
