# SPDX-License-Identifier: MIT
"""`bench/table [records=N] [folder=DIR]`: what a table of so many records costs when their
columns are made and when they are kept (docs/design/suite.md, "Columns").

Exit status as bench/run: no figure is judged.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.__main__ import count_parse, load_text, words_answer
from suite.base.errors import Failure
from suite.observe.load import CACHE_FROM_BYTES

TIMES_KEPT = 3  # tables from kept columns
LARGE_KEPT_S, LARGE_MADE_S, LARGE_MIB = 5, 60, 500  # what 100000 records may take


@dataclass(frozen=True)
class Cost:
    """Of one process: wall clock, CPU, and the most memory that was resident at a time."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def command_cost(result: Path, environment: dict[str, str]) -> Cost:
    """What `uncork table` costs; Failure if it fails."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "suite", "table", str(result)],
                               stdout=subprocess.DEVNULL,
                               env=os.environ | environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failure(f"uncork table {result} ended with exit status {process.returncode}")
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


@contextmanager
def folder_open(named: str) -> Iterator[Path]:
    """Where the result is invented: a folder that is named and stays, or one that goes."""
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named)
    else:
        with tempfile.TemporaryDirectory(prefix="uncork-table-") as folder:
            yield Path(folder)


def cost_print(what: str, cost: Cost) -> None:
    print(f"{what:<14} {cost.seconds:6.2f} s  {cost.cpu_seconds:6.2f} s of CPU  "
          f"{cost.peak_mib:6.0f} MiB at most", flush=True)


def table_measure(records: int, folder: Path) -> None:
    """Invents the result, if it is not there, and prints what its tables cost."""
    from large_make import large_write
    result = folder / "large"
    if not (result / "records.jsonl").exists():
        large_write(records, folder)
    lines = sum(1 for _ in (result / "records.jsonl").open("rb"))
    size = (result / "records.jsonl").stat().st_size
    print(f"records        {lines}, {size / 2**20:.0f} MiB; {size / lines:.0f} bytes each",
          flush=True)
    print(f"load           {load_text()} before")
    shutil.rmtree(folder / "cache", ignore_errors=True)
    environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    cost_print("columns made", command_cost(result, environment))
    kept = list((folder / "cache").rglob("*.pickle"))
    if not kept:
        print(f"columns kept   none: of less than {CACHE_FROM_BYTES >> 10} KiB they are made anew")
        return
    for _ in range(TIMES_KEPT):
        cost_print("columns kept", command_cost(result, environment))
    print(f"file           {kept[0].stat().st_size / 2**20:.1f} MiB")
    print(
        f"reach          100000 records: made in {LARGE_MADE_S} s, kept in {LARGE_KEPT_S} s and "
        f"{LARGE_MIB} MiB")


def words_measure(words: dict[str, str]) -> None:
    """Makes the records and times their table."""
    with folder_open(words["folder"]) as folder:
        table_measure(count_parse("records", words["records"], 1), folder)


if __name__ == "__main__":
    sys.exit(words_answer({"records": "100000", "folder": ""}, "records=N, folder=DIR",
                          words_measure))
