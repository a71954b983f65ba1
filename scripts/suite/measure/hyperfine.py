# SPDX-License-Identifier: MIT
"""Runs a cell under hyperfine(1): wall, user and system time of whole processes with fixed work.

hyperfine is called once for each run (`-r 1 -w 0`), because the runner chooses order, rounds and
seeds. Its times include the client, and the server and the proxy that the client started.
"""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from suite.base.by_hand import RECORD_FILE, TIMER, TIMER_OPTIONS, TIMES_FILE
from suite.base.client import Client, line_read
from suite.base.errors import Failure, UsageError
from suite.base.installation import setup_hint
from suite.base.process import ProcessOutput, first_line
from suite.base.runner_words import LOCAL, OWN_ENDS, TARGET, line_for_client, words_restore
from suite.places.batch import failed_record, output_complaint
from suite.result.plan import PlannedCell

VERSION_LEAST = (1, 13)  # the first with -N
VERSION_LIMIT_S = 10
# words of cells in which hyperfine sees all processes, with this value if they are there
ALL_SEEN = {**OWN_ENDS, "peer": None, TARGET: LOCAL, "lab": "off"}


def hyperfine_check(cells: Iterable[PlannedCell]) -> None:
    """UsageError for a cell that hyperfine cannot time."""
    for cell in cells:
        words, why = cell.words, ""
        unseen = [f"{key}={words[key]}" for key, seen in ALL_SEEN.items()
                  if words.get(key, seen) != seen]
        if words.get("workload") == "command":
            why = "workload=command is timed by hyperfine already"
        elif cell.planned_s is not None:
            why = "it times fixed work: add bytes=... or messages=..."
        elif words.get("warmup") != "0s":
            why = "a warm-up would be in the time: add warmup=0s"
        elif unseen:
            why = f"it cannot see all CPU of such a run: leave out {unseen[0]}"
        if why:
            raise UsageError(f"timer=hyperfine: {cell.name or 'the only cell'}: {why}")


def version_read() -> str:
    if shutil.which(TIMER) is None:
        raise Failure(f"timer=hyperfine: hyperfine is missing: {setup_hint()}")
    printed = first_line([TIMER, "--version"], VERSION_LIMIT_S) or ""
    found = re.search(r"(\d+)\.(\d+)\S*", printed)
    if not found or (int(found[1]), int(found[2])) < VERSION_LEAST:
        raise Failure(f"timer=hyperfine: hyperfine --version prints {printed!r}, and 1.13 or newer "
                      f"is needed: {setup_hint()}")
    return found[0]


def object_read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    return (line_read(path.read_bytes()) if path.exists() else None) or {}


def times_read(folder: Path, version: str) -> dict[str, Any] | None:
    """The times of hyperfine for a record; None without a time that is finite and not negative."""
    try:
        (result,) = object_read(folder / TIMES_FILE)["results"]
        (wall,) = result["times"]
        seconds = {"wall_ns": wall, "user_ns": result["user"], "system_ns": result["system"]}
        if any(value < 0 for value in seconds.values()):
            return None
        return {"version": version} | {key: round(1e9 * value) for key, value in seconds.items()}
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def record_read(output: ProcessOutput, folder: Path, version: str) -> dict[str, Any]:
    """The record in the folder of a run, with hyperfine's times, or a failed one with a reason."""
    record, times = object_read(folder / RECORD_FILE), times_read(folder, version)
    status = record.get("status")
    if output.overdue or not isinstance(status, str) or (status == "ok" and times is None):
        # the last line of the client; without one, that of hyperfine
        lines = [line for line in output.stderr.splitlines() if line.startswith("uncork-")]
        output.stderr = "\n".join(lines) or output.stderr.partition(". Use the '-i'")[0]
        return failed_record(output_complaint(output, TIMER))
    return record if times is None else record | {"hyperfine": times}


def hyperfine_run(client: Client, cells: Sequence[PlannedCell], limit_s: float,
                  options: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Runs one cell, which has passed hyperfine_check(), under hyperfine."""
    version, (reader, writer) = version_read(), os.pipe()
    # The client watches a pipe, because hyperfine gives its commands no standard input. The pipe
    # closes when this process is killed, and the client ends.
    with (open(reader, "rb"), open(writer, "wb"),
          tempfile.TemporaryDirectory(prefix="uncork-") as folder):
        command = [client.program, *options, "--json", RECORD_FILE, f"--with-parent={reader}",
                   *line_for_client(cells[0].given).split()]
        output = ProcessOutput([TIMER, *TIMER_OPTIONS, shlex.join(command)], limit_s, cwd=folder,
                               pass_fds=(reader,))
        for _ in output.lines():
            pass  # the record is in a file
        record = record_read(output, Path(folder), version)
        yield 0, words_restore(record, cells[0].words)
