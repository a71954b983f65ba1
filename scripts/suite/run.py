# SPDX-License-Identifier: MIT
"""Runs a schedule: one record for each run, whatever happens.

A batch is one cell, or where a target is booted for it all cells of a round: their lines go into `uncork-client --batch`, their
records come out (batch.py). By timer=hyperfine the client is started by hyperfine and writes its record into a file. A run
that hangs, dies or is torn becomes a record of status `failed`.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from suite import hyperfine
from suite.batch import Record, batch_records, failed, overdue_text
from suite.captures import capture_file, capture_options, capture_rename
from suite.child import Listener
from suite.client import Client, client_batch, lifeline_open
from suite.document import document_cells
from suite.errors import Failure, Unreachable
from suite.journal import Journal, journal_extend, left_runs, record_append
from suite.lab.labs import Held, Labs, labs_open
from suite.places import HERE
from suite.plan import Cell
from suite.progress import Watch
from suite.schedule import Run, batches_make
from suite.targets import Targets
from suite.withheld import line_told, record_restore

OVERHEAD_S = 0.05  # connect, drain and report of a run: design's budget for the matrix
SPARE_S = 30.0  # how much longer than planned a run may take before it is ended
FIXED_WORK_S = 3600.0  # a run of fixed work says nothing about its time


def run_limit(cell: Cell) -> float:
    """Seconds after which a run is taken to hang."""
    return FIXED_WORK_S if cell.planned_s is None else 2 * cell.planned_s + SPARE_S


def run_stamp(run: Run, session: str) -> dict[str, Any]:
    """What the runner adds to a record: docs/record.md, "What the runner adds"."""
    return {"cell": run.cell.name, "label": run.label, "round": run.round,
            "position": run.position, "session": session}


def cells_run(
    client: Client, cells: Sequence[Cell], limit_s: float, held: Held | None = None, options: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, Record]]:
    """Runs cells once by one client and gives (number, record) of each, without the runner's own part; more: words that say
    where ends are which the runner has started."""
    lines = [line_told(cell.given, more) for cell in cells]
    with client_batch(client, lines, held, options) as child:
        yield from batch_records(Listener(child, limit_s), cells)


def timed_read(heard: Listener, folder: Path, version: str) -> Record:
    """The record in the folder of a run with what hyperfine measured, or why there is none."""
    record, times = hyperfine.record_read(folder), hyperfine.times_read(folder, version)
    if record is None or heard.overdue or (record["status"] == "ok" and times is None):
        told = hyperfine.complaint_text(heard.stderr.splitlines())
        what = overdue_text(heard.limit_s) if heard.overdue else "uncork-client left no whole record"
        return failed(f"{what}: {told}" if told else what)
    return record if times is None else record | {"hyperfine": times}


def hyperfine_run(
    client: Client, cells: Sequence[Cell], limit_s: float, held: Held | None = None, options: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, Record]]:
    """As cells_run of one cell, timed by hyperfine as a whole; it is here, and in no lab, where that is allowed."""
    version = hyperfine.version_read()
    with tempfile.TemporaryDirectory(prefix="uncork-") as folder, lifeline_open() as lifeline:
        line = line_told(cells[0].given)
        command = hyperfine.client_timed(client.program, options, line, lifeline)
        child = subprocess.Popen(command, cwd=folder, pass_fds=(lifeline,),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, process_group=0)
        heard = Listener(child, limit_s)
        for _ in heard.lines():
            pass  # its standard output is nobody's
        yield 0, timed_read(heard, Path(folder), version)


# Each value of the word timer: what runs cells once.
TIMERS: Mapping[str, Callable[..., Iterator[tuple[int, Record]]]] = {
    "client": cells_run, "hyperfine": hyperfine_run,
}


def timer_require(name: str) -> None:
    """Failure where what is to time the runs is not there."""
    if name not in TIMERS:
        raise Failure(f"this runner does not know timer={name}")
    if name == "hyperfine":
        hyperfine.version_read()


def batch_run(
    targets: Targets, cells: Sequence[Cell], labs: Labs, timer: str = "client", options: Sequence[str] = (),
) -> Iterator[tuple[int, Record]]:
    """(number, record) of each cell: in the lab that it asks for, of which its record tells, where its target is.

    What is not to be had, there or of a lab, is a failed run; that nothing starts on this machine is a Failure.
    """
    words, left = cells[0].words, set(range(len(cells)))
    try:
        with contextlib.ExitStack() as holding:
            held = holding.enter_context(labs.hold(words))
            target = targets.of(words)
            ends = holding.enter_context(target.ends(words))
            limit = target.starting_s + sum(run_limit(cell) for cell in cells)
            client = target.client(words)
            for number, record in TIMERS[timer](client, cells, limit, held, (*options, *ends.options), ends.words):
                left.discard(number)
                record = target.explain(words, record)
                record_restore(record, cells[number].words)
                yield number, record | {"lab": held.facts} if held else record
    except Unreachable as error:
        for number in sorted(left):
            yield number, failed(str(error))


def matrix_batches(journal: Journal, watch: Watch) -> Iterator[list[Run]]:
    """What the session has left, and what until= adds when all of that is done and stored; runs of one batch together."""
    yield from batches_make(left_runs(journal))
    while wanted := journal_extend(journal):
        runs = left_runs(journal)
        watch.extend(len(runs), wanted)
        yield from batches_make(runs)


def matrix_run(targets: Targets, journal: Journal, batches: Iterable[Sequence[Run]], watch: Watch) -> None:
    """Does the batches in order; each record is stored before the next is waited for."""
    names, number_of_round = [cell.name for cell in document_cells(journal.document)], None
    with labs_open() as labs:
        for batch in batches:
            if batch[0].round != number_of_round:
                number_of_round = batch[0].round
                targets.round_begin()
            watch.begin(batch[0])
            file = capture_file(batch[0], names)
            options = capture_options(journal.folder, file)
            cells = [run.cell for run in batch]
            for number, record in batch_run(targets, cells, labs, journal.document["timer"], options):
                run = batch[number]
                capture_rename(record, file)
                record["run"] = run_stamp(run, journal.session)
                record_append(journal, record)
                watch.end(run, record)
                if number + 1 < len(batch):
                    watch.begin(batch[number + 1])


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
