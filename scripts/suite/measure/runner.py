# SPDX-License-Identifier: MIT
"""Runs a schedule: one record for each run, whatever happens.

A batch is one cell, or where a target is booted for it all cells of a round: their lines go into
`uncork-client --batch`, their records come out (batch.py). By timer=hyperfine the client is started
by hyperfine and writes its record into a file. A run that hangs, dies or is torn becomes a record
of status `failed`.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from suite.base.child import Listener
from suite.base.client import Client, client_batch, lifeline_open
from suite.base.errors import Failure, Signalled, Unreachable
from suite.base.runner_words import boot_of, line_told, record_restore, target_of
from suite.measure import hyperfine
from suite.measure.captures import capture_file, capture_options, capture_rename
from suite.measure.host_facts import host_facts
from suite.measure.progress import Watch
from suite.measure.resume import rounds_wanted, session_left
from suite.measure.schedule import Run, batches_make, concurrent_batches
from suite.places.batch import (
    Artifacts,
    batch_records,
    cells_by_target,
    failed_record,
    is_placeholder,
    overdue_text,
    runs_limit,
)
from suite.places.lab.lab import HeldLab, Labs, labs_open
from suite.places.targets import Targets
from suite.result.files import machines_merge
from suite.result.journal import Journal
from suite.result.plan import PlannedCell
from suite.result.record import Document

OVERHEAD_S = 0.05  # connect, drain and report of a run: design's budget for the matrix
LOGS = "boots"  # the folder of a result for what machines said that were started twice
BOOT_S = 20.0  # of a kernel on an emulated processor; with hardware it is 2


def run_stamp(run: Run, session: str) -> dict[str, Any]:
    """What the runner adds to a record: docs/record.md, "What the runner adds"."""
    return {"cell": run.cell.name, "label": run.label, "round": run.round,
            "position": run.position, "session": session}


def cells_run(
    client: Client, cells: Sequence[PlannedCell], limit_s: float, held: HeldLab | None = None,
    options: Sequence[str] = (),
    more: Mapping[str, str] | None = None, artifacts: Artifacts = Artifacts(),
) -> Iterator[tuple[int, Document]]:
    """Runs cells once by one client and gives (number, record) of each, without the runner's own
    part; more: words that say where ends are which the runner has started."""
    lines = [line_told(cell.given, more) for cell in cells]
    yield from batch_records(client_batch(client, lines, limit_s, held, options), cells, artifacts)


def timed_read(heard: Listener, folder: Path, version: str) -> Document:
    """The record in the folder of a run with what hyperfine measured, or why there is none."""
    record, times = hyperfine.record_read(folder), hyperfine.times_read(folder, version)
    if record is None or heard.overdue or (record["status"] == "ok" and times is None):
        told = hyperfine.complaint_text(heard.stderr.splitlines())
        what = overdue_text(
            heard.limit_s) if heard.overdue else "uncork-client left no whole record"
        return failed_record(f"{what}: {told}" if told else what)
    return record if times is None else record | {"hyperfine": times}


def hyperfine_run(
    client: Client, cells: Sequence[PlannedCell], limit_s: float, held: HeldLab | None = None,
    options: Sequence[str] = (),
    more: Mapping[str, str] | None = None, artifacts: Artifacts = Artifacts(),
) -> Iterator[tuple[int, Document]]:
    """As cells_run of one cell, timed by hyperfine as a whole; it is here, and in no lab, where
    that is allowed."""
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
TIMERS: Mapping[str, Callable[..., Iterator[tuple[int, Document]]]] = {
    "client": cells_run, "hyperfine": hyperfine_run,
}


def timer_require(name: str) -> None:
    """Failure where what is to time the runs is not there."""
    if name not in TIMERS:
        raise Failure(f"this runner does not know timer={name}")
    if name == "hyperfine":
        hyperfine.version_read()


def cells_retry(
    timer: str, client: Client, cells: Sequence[PlannedCell], starting_s: float, *how: Any,
    artifacts: Artifacts,
) -> Iterator[tuple[int, Document]]:
    """Runs cells by a timer; those that left no record once more, where the client has another
    place for it. What was said there the second time is kept."""
    again, lost = client.retry(), dict[int, Document]()
    for number, record in TIMERS[timer](client, cells, starting_s + runs_limit(cells), *how,
                                        replace(artifacts, log=None)):
        if again and is_placeholder(record):
            lost[number] = record
        else:
            yield number, record
    if not again or not lost:
        return
    numbers, left = list(lost), [cells[number] for number in lost]
    for index, record in TIMERS[timer](again, left, starting_s + runs_limit(left), *how, artifacts):
        first, log = lost[numbers[
            index]], f", log: {artifacts.log.parent.name}/{artifacts.log.name}" if artifacts.log else ""
        yield numbers[index], failed_record(
            f"{first['reason']}; tried twice{log}") if is_placeholder(
            record) else record


def batch_run(
    targets: Targets, cells: Sequence[PlannedCell], labs: Labs, timer: str = "client",
    options: Sequence[str] = (),
    artifacts: Artifacts = Artifacts(),
) -> Iterator[tuple[int, Document]]:
    """(number, record) of each cell: in the lab that it asks for, of which its record tells, where
    its target is.

    What is not to be had, there or of a lab, is a failed run; that nothing starts on this machine
    is a Failure.
    """
    words, left = cells[0].words, set(range(len(cells)))
    try:
        with contextlib.ExitStack() as holding:
            held = holding.enter_context(labs.hold(words))
            target = targets.target(words)
            ends = holding.enter_context(target.ends(words))
            client = target.client(words)
            for number, record in cells_retry(timer, client, cells, target.starting_s, held,
                                              (*options, *ends.options),
                                              ends.words, artifacts=artifacts):
                left.discard(number)
                record = target.failure_explain(words, record)
                record_restore(record, cells[number].words)
                yield number, record | {"lab": held.facts} if held else record
    except Unreachable as error:
        for number in sorted(left):
            yield number, failed_record(str(error))


def matrix_batches(journal: Journal, watch: Watch,
                   is_wide: Callable[[Path], bool]) -> Iterator[list[Run]]:
    """What the session has left, and what until= adds when all of that is done and stored; runs of
    one batch together."""
    make = batches_make if journal.plan.hosts is None else concurrent_batches
    yield from make(session_left(journal.plan, journal.done))
    while wanted := rounds_wanted(journal.folder, journal.plan, is_wide):
        journal.extend(wanted)
        runs = session_left(journal.plan, journal.done)
        watch.extend(len(runs), wanted)
        yield from make(runs)


def batch_artifacts(journal: Journal, batch: Sequence[Run]) -> Artifacts:
    """What a batch leaves in the folder of a result beside records: machines in hosts.json, and
    what was said there in a file."""
    first = batch[0]
    target = target_of(first.cell.words)
    return Artifacts(lambda facts: machines_merge(journal.folder, host_facts(facts, target)),
                  journal.folder / LOGS / f"round-{first.round}-position-{first.position}.log")


def matrix_run(targets: Targets, journal: Journal, batches: Iterable[Sequence[Run]],
               watch: Watch) -> None:
    """Does the batches in order; each record is stored before the next is waited for."""
    names, number_of_round = [cell.name for cell in journal.plan.cells], None
    with labs_open() as labs:
        for batch in batches:
            if batch[0].round != number_of_round:
                number_of_round = batch[0].round
                targets.round_begin()
            watch.begin(batch[0])
            file = capture_file(batch[0], names)
            options = capture_options(journal.folder, file)
            cells = [run.cell for run in batch]
            records = targets.group.run(targets.target, cells) if targets.group else \
                batch_run(targets, cells, labs, journal.plan.timer, options,
                          batch_artifacts(journal, batch))
            for number, record in records:
                run = batch[number]
                capture_rename(record, file)
                record["run"] = run_stamp(run, journal.plan.session.name)
                journal.append(record)
                watch.end(run, record)


def runs_seconds(runs: Sequence[Run], together: bool = False) -> tuple[float, bool]:
    """(estimated seconds for all runs with the boots for them, whether some of them are fixed work
    of unknown time).

    together: targets have their runs at the same time, so that the longest of them counts.
    """
    cells = [run.cell for run in runs]
    groups = list(cells_by_target(cells).values()) if together else [list(range(len(cells)))]
    known = max((sum(OVERHEAD_S + (cells[number].planned_s or 0.0) for number in group)
                 for group in groups), default=0.0)
    boots = sum(bool(boot_of(batch[0].cell.words)) for batch in batches_make(runs))
    return known + BOOT_S * boots, any(cell.planned_s is None for cell in cells)


def signals_unify() -> None:
    """SIGTERM and SIGHUP end a matrix as Ctrl-C does: the child first, what is done kept."""
    def end(number: int, _: FrameType | None) -> None:
        raise Signalled(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:  # nohup: the user does not want it
            continue
        signal.signal(number, end)
