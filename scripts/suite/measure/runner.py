# SPDX-License-Identifier: MIT
"""Runs a schedule. A batch is one cell, or all cells of a round where a target is booted for them.
A run that hangs, crashes or leaves a torn record gets a record of status `failed`.
"""

import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from suite.base.by_hand import TIMER
from suite.base.client import Client, client_batch
from suite.base.errors import Signalled
from suite.base.lab_words import CLIENT_HOST, place_arguments
from suite.base.runner_words import LOCAL, boot_of, line_for_client, subject_of, target_of
from suite.measure.host_facts import host_facts
from suite.measure.hyperfine import hyperfine_run
from suite.measure.progress import MatrixProgress
from suite.measure.resume import rounds_wanted, session_left
from suite.measure.schedule import Run, batches_make
from suite.places.batch import batch_records, failed_record, runs_limit
from suite.places.lab import Lab, lab_of, namespace_inside
from suite.places.targets import Targets
from suite.result.files import Journal, machines_merge
from suite.result.plan import Plan, PlannedCell
from suite.result.record import JsonObject
from suite.scenario.scenario import LABEL
from suite.scenario.subject import definitions_file

OVERHEAD_S = 0.05  # estimate for connect, drain and report of a run
LOGS = "boots"  # the folder of a result with the logs of second boots
BOOT_S = 20.0  # estimate for a boot on an emulated processor; with hardware it is 2 s
Records = Iterator[tuple[int, JsonObject]]  # (number of a cell, its record)
CAPTURES = "captures"
# Packets are stored for the first counted run of a cell only. Another round has the same segments,
# or the sums in its record show the difference.
CAPTURE_ROUND = 1


def cells_run(client: Client, cells: Sequence[PlannedCell], limit_s: float, lab: Lab | None = None,
              options: Sequence[str] = (), **others: Any) -> Records:
    """Runs each cell once by one client, ended after limit_s. others: for batch_records()."""
    lines = [line_for_client(cell.given) for cell in cells]
    with namespace_inside(lab.namespaces[CLIENT_HOST] if lab else None):
        output = client_batch(client, lines, limit_s, options)
    yield from batch_records(output, cells, **others)


def cells_retry(client: Client, cells: Sequence[PlannedCell], log: Path | None = None,
                **others: Any) -> Records:
    """Runs cells; those without a record once more, where the client has a place for that. log: of
    that second attempt."""
    retry, lost = client.retry, dict[int, JsonObject]()
    for number, record in cells_run(client, cells, runs_limit(cells), **others):
        if retry and "words" not in record:  # the client left none
            lost[number] = record
        else:
            yield number, record
    if not retry or not lost:
        return
    numbers, left = list(lost), [cells[number] for number in lost]
    where = f", log: {log.parent.name}/{log.name}" if log else ""
    for index, record in cells_run(retry, left, runs_limit(left), log=log, **others):
        if "words" not in record:
            record = failed_record(f"{lost[numbers[index]]['reason']}; tried twice{where}")
        yield numbers[index], record


def batch_run(targets: Targets, cells: Sequence[PlannedCell], timer: str = "client",
              options: Sequence[str] = (), **others: Any) -> Records:
    """Runs each cell once on its target, in its lab. others: for cells_retry(). A lab that
    cannot be had makes failed runs."""
    words = cells[0].words
    lab, target = lab_of(words), targets.target(words)
    if isinstance(lab, str):
        yield from ((number, failed_record(lab)) for number, _ in enumerate(cells))
        return
    if target.pairs:
        yield from target.pairs.run(cells)
        return
    client = target.client(words)
    options = [*(place_arguments(words, lab.namespaces) if lab else ()), *options]
    if any(subject_of(cell.words) for cell in cells):  # a boot has several cells
        options += ["--subjects", definitions_file()]
    records = (hyperfine_run(client, cells, runs_limit(cells), options) if timer == TIMER
               else cells_retry(client, cells, lab=lab, options=options, **others))
    for number, record in records:
        yield number, record | {"lab": lab.facts} if lab else record


def capture_file(run: Run, plan: Plan) -> str | None:
    """The file of a run's packets, by the number of its cell in the plan; None: none are stored."""
    words = run.cell.words
    is_kept = (target_of(words).startswith(LOCAL) and words.get("capture") == "on"
               and run.round == CAPTURE_ROUND and run.label == LABEL)
    names = [cell.name for cell in plan.cells]
    return f"{CAPTURES}/cell-{names.index(run.cell.name) + 1:03}.pcap" if is_kept else None


def matrix_batches(journal: Journal, progress: MatrixProgress,
                   is_wide: Callable[[Path], bool]) -> Iterator[list[Run]]:
    """The batches that are left of the session, then those of rounds that until= adds."""
    while True:
        runs = session_left(journal.plan, journal.done)
        progress.total = progress.done + len(runs)
        yield from batches_make(runs, journal.plan.hosts is not None)
        if not (wanted := rounds_wanted(journal.folder, journal.plan, is_wide)):
            return
        journal.extend(wanted)


def matrix_run(targets: Targets, journal: Journal, is_wide: Callable[[Path], bool]) -> None:
    """Runs what is left, and stores each record before it waits for the next."""
    plan = journal.plan
    with MatrixProgress(journal, sys.stderr) as progress:
        for batch in matrix_batches(journal, progress, is_wide):
            first = batch[0]
            target = target_of(first.cell.words)
            if first.round != progress.round:
                targets.round_begin()
            progress.begin(first)
            options = list[str]()
            if file := capture_file(first, plan):
                (journal.folder / CAPTURES).mkdir(exist_ok=True)
                options = ["--pcap", str((journal.folder / file).absolute())]
            records = batch_run(
                targets, [run.cell for run in batch], plan.timer, options,
                facts_store=lambda facts, target=target: machines_merge(
                    journal.folder, host_facts(facts, target)),
                log=journal.folder / LOGS / f"round-{first.round}-position-{first.position}.log")
            for number, record in records:
                run = batch[number]
                capture = record.get("client", {}).get("capture", {})
                if "file" in capture:
                    capture["file"] = file  # in the result, so that the result can be moved
                record["run"] = {  # docs/record.md, "What the runner adds"
                    "cell": run.cell.name, "label": run.label, "round": run.round,
                    "position": run.position, "session": plan.session.name}
                journal.append(record)
                progress.end(run, record)


def runs_seconds(runs: Sequence[Run], concurrent: bool = False) -> tuple[float, int]:
    """(estimated seconds of all runs and their boots, how many are fixed work of unknown time).
    concurrent: all targets run at the same time, so that the longest counts."""
    seconds: dict[str, float] = defaultdict(float)
    for run in runs:
        seconds[target_of(run.cell.words)] += OVERHEAD_S + (run.cell.planned_s or 0.0)
    known = max(seconds.values(), default=0.0) if concurrent else sum(seconds.values())
    boots = {(run.round, boot_of(run.cell.words)) for run in runs if boot_of(run.cell.words)}
    return known + BOOT_S * len(boots), sum(run.cell.planned_s is None for run in runs)


def signals_handle() -> None:
    """Makes SIGTERM and SIGHUP end a matrix as Ctrl-C does: the child ends first, records stay."""
    def end(number: int, _: FrameType | None) -> None:
        raise Signalled(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup(1) ignores SIGHUP
            signal.signal(number, end)
