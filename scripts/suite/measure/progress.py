# SPDX-License-Identifier: MIT
"""The progress of a matrix on standard error: on a terminal one line that is written over, else a
line for each round.

It is written between batches, and by no thread: a terminal must not change what is measured.
"""

import os
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TextIO

from suite.base.words import words_text
from suite.measure.schedule import Run
from suite.result.files import Journal
from suite.result.record import WARMUP_ROUND


def clock_text(seconds: float) -> str:
    """Seconds as 0:05, 12:30, 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass
class MatrixProgress(AbstractContextManager["MatrixProgress"]):
    """begin() comes before every batch, end() after every run. total: the number of runs, to which
    until= may add. failures: lines that are not written yet."""

    journal: Journal
    stream: TextIO
    total: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    round: int | None = None
    failures: list[str] = field(default_factory=list)

    def __exit__(self, *error: object) -> None:
        self.failures_write()

    def draw(self, text: str) -> None:
        """Writes over the line of a terminal."""
        if self.stream.isatty():
            width = (os.get_terminal_size(self.stream.fileno()).columns or 80) - 1
            print(f"\r{text[:width]:{width}}", end="\r", file=self.stream, flush=True)

    def failures_write(self) -> None:
        self.draw("")
        for text in self.failures:
            print(text, file=self.stream, flush=True)
        self.failures.clear()

    def begin(self, run: Run) -> None:
        """A batch starts with this run: writes failures and progress."""
        self.failures_write()
        plan = self.journal.plan
        state = ("warm-up" if run.round == WARMUP_ROUND else
                 f"round {run.round} of {plan.session.last}")
        state += f", until={plan.until}" if plan.until else ""
        least, left = "at least " if plan.until else "", ""
        if self.done:  # the mean time of a run until now; the header estimates it before
            mean_s = (time.monotonic() - self.started) / self.done
            left = f", {least}{clock_text(mean_s * (self.total - self.done))} left"
        text = f"{state}: {self.done} of {least}{self.total} runs done{left}"
        words = {axis: run.cell.given[axis] for axis in plan.axes if axis in run.cell.given}
        self.draw(f"{text}: {words_text(words) or run.cell.name}")
        if run.round != self.round and not self.stream.isatty():
            print(f"uncork: {text}", file=self.stream, flush=True)
        self.round = run.round

    def end(self, run: Run, record: dict[str, Any]) -> None:
        """A run has ended. Nothing is written: another run of its batch may be under way."""
        self.done += 1
        if record["status"] == "failed":
            self.failures.append(f"uncork: {run.cell.name}: failed: "
                                 f"{record.get('reason', 'no reason given')}")
