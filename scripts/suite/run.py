# SPDX-License-Identifier: MIT
"""Runs a schedule: one process per run, one record for each, whatever happens.

On the local target a batch is one cell: its line goes into `uncork-client --batch`, its record and
the line `{"end": 1}` come out. By timer=hyperfine the client is started by hyperfine and writes its
record into a file. A run that hangs, dies or is torn becomes a record of status `failed`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import hyperfine
from suite.builds import build_of, line_own, record_mark
from suite.captures import capture_file, capture_options, capture_rename
from suite.client import Client, build_client, client_batch, complaint_text, exit_text, lifeline_open
from suite.document import document_cells
from suite.errors import Failure
from suite.journal import Journal, journal_extend, left_runs, record_append
from suite.lab.labs import Held, Labs, labs_open
from suite.plan import Cell
from suite.progress import Watch
from suite.schedule import Run

OVERHEAD_S = 0.05  # connect, drain and report of a run: design's budget for the matrix
SPARE_S = 30.0  # how much longer than planned a run may take before it is ended
FIXED_WORK_S = 3600.0  # a run of fixed work says nothing about its time
GRACE_S = 6.0  # the client tells its server within 5 s; after that both are killed


@dataclass(frozen=True)
class Output:
    """What one client left: its output, its exit status, and whether it had to be ended."""

    stdout: bytes
    stderr: str
    status: int
    overdue: bool


def run_limit(cell: Cell) -> float:
    """Seconds after which a run is taken to hang."""
    return FIXED_WORK_S if cell.planned_s is None else 2 * cell.planned_s + SPARE_S


def group_kill(child: subprocess.Popen[bytes]) -> None:
    """Kills the child's process group: the client and the server it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def child_end(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Asks the child's group to end, kills it if it does not, and reaps the child."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    try:
        return child.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        group_kill(child)
        return child.communicate()


def child_wait(child: subprocess.Popen[bytes], limit_s: float) -> Output:
    """Waits for a run; KeyboardInterrupt passes through after the child has ended."""
    overdue = False
    try:
        stdout, stderr = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        overdue = True
        stdout, stderr = child_end(child)
    except BaseException:
        child_end(child)
        raise
    return Output(stdout, stderr.decode(errors="replace"), child.returncode, overdue)


def overdue_text(limit_s: float) -> str:
    """That a run was taken to hang."""
    return f"not finished after {limit_s:.0f} s, so it was ended"


def output_complaint(output: Output, limit_s: float) -> str:
    """Why there is no whole record, in one line."""
    told = complaint_text(output.stderr)
    if output.overdue:
        what = overdue_text(limit_s)
    elif output.status != 0:
        what = f"uncork-client {exit_text(output.status)}"
    else:
        what = "uncork-client printed no whole record"
    return f"{what}: {told}" if told else what


def record_read(output: Output, limit_s: float) -> dict[str, Any]:
    """The record that the client printed, or one of status `failed` with the reason."""
    lines = output.stdout.split(b"\n")
    whole, torn = lines[:-1], lines[-1]
    try:
        record, end = (json.loads(line) for line in whole)
        good = not torn and not output.overdue and output.status == 0 and end == {"end": 1}
        if good and isinstance(record, dict) and isinstance(record.get("status"), str):
            return record
    except ValueError:
        pass
    return {"status": "failed", "reason": output_complaint(output, limit_s)}


def run_stamp(run: Run, session: str) -> dict[str, Any]:
    """What the runner adds to a record: docs/record.md, "What the runner adds"."""
    return {"cell": run.cell.name, "label": run.label, "round": run.round,
            "position": run.position, "session": session}


def cell_run(
    client: Client, cell: Cell, limit_s: float | None = None, held: Held | None = None,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """Runs a cell once and gives its record, without the runner's own part."""
    limit = run_limit(cell) if limit_s is None else limit_s
    with client_batch(build_client(client, build_of(cell.words)), line_own(cell.name), held, options) as child:
        output = child_wait(child, limit)
    return record_read(output, limit)


def timed_read(output: Output, folder: Path, version: str, limit_s: float) -> dict[str, Any]:
    """The record in the folder of a run with what hyperfine measured, or why there is none."""
    record, times = hyperfine.record_read(folder), hyperfine.times_read(folder, version)
    if record is None or output.overdue or (record["status"] == "ok" and times is None):
        told = hyperfine.complaint_text(output.stderr.splitlines())
        what = overdue_text(limit_s) if output.overdue else "uncork-client left no whole record"
        return {"status": "failed", "reason": f"{what}: {told}" if told else what}
    return record if times is None else record | {"hyperfine": times}


def hyperfine_run(
    client: Client, cell: Cell, limit_s: float | None = None, held: Held | None = None,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """As cell_run, timed by hyperfine as a whole; there is no lab where that is allowed."""
    limit = run_limit(cell) if limit_s is None else limit_s
    version = hyperfine.version_read()
    with tempfile.TemporaryDirectory(prefix="uncork-") as folder, lifeline_open() as lifeline:
        program = build_client(client, build_of(cell.words)).program
        command = hyperfine.client_timed(program, options, line_own(cell.name), lifeline)
        child = subprocess.Popen(command, cwd=folder, pass_fds=(lifeline,),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, process_group=0)
        output = child_wait(child, limit)
        return timed_read(output, Path(folder), version, limit)


# Each value of the word timer: what runs a cell once.
TIMERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "client": cell_run, "hyperfine": hyperfine_run,
}


def timer_require(name: str) -> None:
    """Failure where what is to time the runs is not there."""
    if name not in TIMERS:
        raise Failure(f"this runner does not know timer={name}")
    if name == "hyperfine":
        hyperfine.version_read()


def surrounded_run(
    client: Client, cell: Cell, labs: Labs, timer: str = "client", options: Sequence[str] = (),
) -> dict[str, Any]:
    """Runs a cell in the lab that it asks for; its record says what lab that was."""
    with contextlib.ExitStack() as holding:
        try:
            held = holding.enter_context(labs.hold(cell.words))
        except Failure as error:
            return {"status": "failed", "reason": f"lab: {error}"}
        record = TIMERS[timer](client, cell, held=held, options=options)
        return record | {"lab": held.facts} if held else record


def matrix_runs(journal: Journal, watch: Watch) -> Iterator[Run]:
    """What the session has left, and what until= adds when all of that is done and stored."""
    yield from left_runs(journal)
    while wanted := journal_extend(journal):
        runs = left_runs(journal)
        watch.extend(len(runs), wanted)
        yield from runs


def matrix_run(client: Client, journal: Journal, runs: Iterable[Run], watch: Watch) -> None:
    """Does the runs in order; each record is stored before the next run is asked for."""
    cells = [cell.name for cell in document_cells(journal.document)]
    with labs_open() as labs:
        for run in runs:
            watch.begin(run)
            file = capture_file(run, cells)
            options = capture_options(journal.folder, file)
            record = surrounded_run(client, run.cell, labs, journal.document["timer"], options)
            capture_rename(record, file)
            record_mark(record, run.cell.words)
            record["run"] = run_stamp(run, journal.session)
            record_append(journal, record)
            watch.end(run, record)


def runs_seconds(runs: Sequence[Run]) -> tuple[float, bool]:
    """(estimated seconds for all runs, whether some of them are fixed work of unknown time)."""
    times = [run.cell.planned_s for run in runs]
    known = sum(OVERHEAD_S + (seconds or 0.0) for seconds in times)
    return known, None in times


def signals_unify() -> None:
    """SIGTERM and SIGHUP end a matrix as Ctrl-C does: the child first, what is done kept."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:  # nohup: the user does not want it
            continue
        signal.signal(number, signal.default_int_handler)
