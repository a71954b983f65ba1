# SPDX-License-Identifier: MIT
"""MatrixProgress on a terminal and in a log: written between batches, and by no thread."""

from __future__ import annotations

import io
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest

from conftest import Uncork
from suite.measure.dry_run import estimate_text
from suite.measure.progress import MatrixProgress
from suite.measure.schedule import Run
from suite.result.files import Journal
from suite.result.plan import Plan, PlannedCell

QUIET_S = 0.4  # a thread that draws ten times a second would have drawn


@dataclass(frozen=True)
class Terminal:
    """A pseudo-terminal: what is written into `inside` comes out of `read`."""

    inside: io.TextIOWrapper
    outside: int

    def read(self) -> str:
        text = b""
        while select.select([self.outside], [], [], 0)[0]:
            text += os.read(self.outside, 65536)
        return text.decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    outside, inside = os.openpty()
    with open(inside, "w") as stream:
        yield Terminal(stream, outside)
    os.close(outside)


def run_of(number: int) -> Run:
    return Run(PlannedCell(f"write=w{number}", {}, {"write": f"w{number}"}), "A", round=1,
               position=number)


def progress(stream: TextIO, runs: int) -> MatrixProgress:
    plan = Plan("words", ("write",), (), rounds=1).with_session({"": ""})
    return MatrixProgress(Journal(Path(), plan, {}, -1), stream, runs)


FAILED = {"status": "failed", "reason": "out of luck"}


def test_nothing_is_drawn_and_no_thread_is_started_while_a_run_is_under_way(
    terminal: Terminal,
) -> None:
    before = threading.active_count()
    with progress(terminal.inside, 3) as watch:
        for number in range(3):
            terminal.read()
            watch.begin(run_of(number))
            assert f"{number} of 3" in (drawn := terminal.read()) and f"write=w{number}" in drawn
            time.sleep(QUIET_S)
            assert (terminal.read(), threading.active_count()) == ("", before)
            watch.end(run_of(number), {"status": "unsupported"})
            assert terminal.read() == ""


def test_the_time_left_is_known_when_one_run_is_done() -> None:
    watch = progress(io.StringIO(), 4)
    watch.begin(run_of(0))
    watch.done, watch.started, watch.round = 1, watch.started - 20, 0
    watch.begin(run_of(1))
    assert watch.stream.getvalue() == ("uncork: round 1 of 1: 0 of 4 runs done\n"
                                       "uncork: round 1 of 1: 1 of 4 runs done, 1:00 left\n")


def test_the_time_of_fixed_work_is_not_estimated_before_it_runs() -> None:
    timed, fixed = (PlannedCell(name, {}, {}, planned_s=seconds)
                    for name, seconds in (("timed", 2.0), ("fixed", None)))
    plan = Plan("words", (), (timed, fixed), rounds=2)

    def text(*cells: PlannedCell) -> str:
        return estimate_text(plan, [Run(cell, "A", 1, 0) for cell in cells], 3)

    assert text(timed, timed) == "about 0:12"
    assert text(timed, fixed) == "about 0:06 and 3 runs of unknown time"


def test_a_failure_within_a_batch_is_written_when_the_batch_is_over(terminal: Terminal) -> None:
    line, log = "uncork: write=w0: failed: out of luck", io.StringIO()
    for stream, read in ((terminal.inside, terminal.read), (log, log.getvalue)):
        with progress(stream, 2) as watch:
            watch.begin(run_of(0))
            before = read()
            watch.end(run_of(0), FAILED)
            watch.end(run_of(1), {"status": "unsupported"})
            assert line not in before and read() in (before, "")
            watch.begin(run_of(2))
            assert read().count(line) == 1
            watch.end(run_of(0), FAILED)
        assert read().count(line) == (2 if stream is log else 1)


def test_a_line_of_a_terminal_is_as_wide_as_it_and_covers_the_line_before(
        terminal: Terminal) -> None:
    with progress(terminal.inside, 2) as watch:
        watch.begin(run_of(0))
        watch.begin(run_of(10**80))
    _, short, _, long, last = filter(None, terminal.read().split("\r"))
    assert short.rstrip() == "round 1 of 1: 0 of 2 runs done: write=w0"
    assert (len(short), len(long), last) == (79, 79, " " * 79)


def test_a_matrix_on_a_terminal_draws_once_for_each_run(uncork: Uncork, terminal: Terminal) -> None:
    words = ("run", "write=nodelay,writev", "place=free", "rounds=1", "duration=1s", "warmup=0s")
    with subprocess.Popen(uncork.command(*words), env=uncork.environment,
                          stdout=subprocess.DEVNULL, stderr=terminal.inside) as process:
        text = ""
        while process.poll() is None:
            text += terminal.read()
            time.sleep(0.01)
    assert process.returncode == 0
    assert (text + terminal.read()).count(" of 6 runs done") == 6, text
