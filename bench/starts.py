# SPDX-License-Identifier: MIT
"""`bench/start [rounds=N]`: how long uncork takes to answer, as ratios to what Python itself
takes, round by round.

Exit status as bench/run: no figure is judged.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.__main__ import count_parse, load_text, words_answer
from suite import stats
from suite.base.client import ROOT
from suite.base.errors import Failure

UNCORK = str(ROOT / "scripts" / "uncork")
RUN = ("run", "quick", "rounds=6", "duration=20ms", "warmup=0s")
EMPTY, PANDAS = "python3 -c pass", "python3 -c 'import pandas'"
PYTHON = {EMPTY: (sys.executable, "-c", "pass"), PANDAS: (sys.executable, "-c", "import pandas")}


@dataclass(frozen=True)
class Start:
    """Words of uncork, and the ratio of their time to that of a Python and so many seconds more:
    at most limit, None: for information."""

    words: tuple[str, ...]
    python: str
    more_s: float = 0.0
    limit: float | None = None

    def ratio_text(self, times: Mapping[str, Sequence[float]]) -> str:
        """One line; times: seconds of each command, one for each round."""
        name = command_name(self.words)
        ratio = stats.ratio_make(times[name], [one + self.more_s for one in times[self.python]],
                                 paired=True).estimate()
        within = ratio.interval
        interval = f"{within.low:.2f} to {within.high:.2f}" if within else "no interval"
        budget = ""
        if self.limit is not None:
            reached = within is not None and within.high <= self.limit
            missed = within is not None and within.low > self.limit
            budget = (f"  at most {self.limit:g}: "
                      f"{'reached' if reached else 'not reached' if missed else 'not sure'}")
        by = self.python + (f" and {self.more_s:g} s" if self.more_s else "")
        return f"{name:<24} {ratio.value:6.2f} ({interval}) of {by}{budget}"


def command_name(words: Sequence[str]) -> str:
    """How a line calls words of uncork; of a folder it has the name only."""
    return " ".join(["uncork", *(word.rpartition("/")[2] for word in words)])


def starts_list(result: Path) -> list[Start]:
    """What is started, with the budgets; result: a folder of quick."""
    return [
        Start(("--help",), EMPTY, limit=5.0), Start(("tabel",), EMPTY),
        Start(("--version",), EMPTY),
        Start(("list",), EMPTY), Start(("table", "none"), EMPTY),
        Start(("table", str(result)), PANDAS, 0.2, limit=1.0),
    ]


def command_seconds(command: Sequence[str]) -> float:
    """Wall clock of a command, whatever its exit status; bytecode is kept, as it usually is."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=kept)
    return time.perf_counter() - began


def starts_measure(rounds: int) -> None:
    """Starts everything once in each round, after one that does not count, and prints the
    ratios."""
    with tempfile.TemporaryDirectory(prefix="uncork-start-") as folder:
        result = Path(folder) / "quick"
        done = subprocess.run([UNCORK, *RUN, "-o", str(result)], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"uncork {' '.join(RUN)} failed: {done.stderr.strip()}")
        starts = starts_list(result)
        commands = PYTHON | {command_name(one.words): (UNCORK, *one.words) for one in starts}
        print(f"load  {load_text()} before")
        times: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(rounds + 1):
            for name, command in commands.items():
                seconds = command_seconds(command)
                if number:
                    times[name].append(seconds)
        for name in PYTHON:
            print(f"{name:<27} {stats.median(times[name]) * 1e3:.0f} ms")
        for one in starts:
            print(one.ratio_text(times))


if __name__ == "__main__":
    sys.exit(words_answer({"rounds": "20"}, "rounds=N", lambda words: starts_measure(
        count_parse("rounds", words["rounds"], 1))))
