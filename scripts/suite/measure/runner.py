# SPDX-License-Identifier: MIT
"""Runs a schedule: one record for each run, whatever happens.

A batch is one cell, or all cells of a round where a target is booted for them. `uncork-client
--batch` reads its lines and prints its records (places/batch.py). With timer=hyperfine, hyperfine
starts the client, which writes its record into a file. A run that hangs, crashes or leaves a torn
record gets a record of status `failed`.
"""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from suite.base.client import Client, client_batch
from suite.base.errors import Signalled, Unreachable
from suite.base.lab_words import CLIENT_HOST, place_arguments
from suite.base.runner_words import LOCAL, boot_of, line_for_client, subject_of, target_of
from suite.measure.host_facts import host_facts
from suite.measure.hyperfine import hyperfine_run
from suite.measure.progress import MatrixProgress
from suite.measure.resume import rounds_wanted, session_left
from suite.measure.schedule import Run, batches_make, concurrent_batches
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.lab import Lab, lab_of, namespace_inside
from suite.places.targets import Targets
from suite.result.files import Journal, machines_merge
from suite.result.plan import PlannedCell
from suite.result.record import JsonObject
from suite.scenario.scenario import LABEL
from suite.scenario.subject import definitions_file

OVERHEAD_S = 0.05  # estimate for connect, drain and report of a run
LOGS = "boots"  # the folder of a result with the logs of second boots
BOOT_S = 20.0  # estimate for a boot on an emulated processor; with hardware it is 2 s
Records = Iterator[tuple[int, JsonObject]]  # (number of a cell, its record)
FactsStore = Callable[[JsonObject, str], None]  # gets facts of machines, and their target
CAPTURES = "captures"
# Packets are stored for the first counted run of a cell only. Another round has the same segments,
# or the sums in its record show the difference.
CAPTURE_ROUND = 1


def cells_run(client: Client, cells: Sequence[PlannedCell], limit_s: float, lab: Lab | None = None,
              options: Sequence[str] = (), **others: Any) -> Records:
    """Runs each cell once by one client, which is ended after limit_s. others: for
    batch_records()."""
    lines = [line_for_client(cell.given) for cell in cells]
    with namespace_inside(lab.namespaces[CLIENT_HOST] if lab else None):
        output = client_batch(client, lines, limit_s, options)
    yield from batch_records(output, cells, **others)


def cells_retry(client: Client, cells: Sequence[PlannedCell], log: Path | None,
                **others: Any) -> Records:
    """Runs cells; those without a record once more, where the client has a place for that."""
    retry, lost = client.retry(), dict[int, JsonObject]()
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
              options: Sequence[str] = (), facts_store: FactsStore = lambda facts, target: None,
              log: Path | None = None) -> Records:
    """Runs each cell once on its target, in its lab. log: of a second boot. A target or a lab that
    cannot be reached makes failed runs."""
    words, left = cells[0].words, set(range(len(cells)))
    try:
        lab, target = lab_of(words), targets.target(words)
        if target.pairs:
            yield from target.pairs.run(cells)
            return
        client = target.client(words)
        options = [*(place_arguments(words, lab.namespaces) if lab else ()), *options]
        if any(subject_of(cell.words) for cell in cells):  # a boot has several cells
            options += ["--subjects", definitions_file()]
        records = (hyperfine_run(client, cells, runs_limit(cells), options)
                   if timer == "hyperfine" else
                   cells_retry(client, cells, log, lab=lab, options=options,
                               facts_store=lambda facts: facts_store(facts, target.value)))
        for number, record in records:
            left.discard(number)
            yield number, record | {"lab": lab.facts} if lab else record
    except Unreachable as error:
        for number in sorted(left):
            yield number, failed_record(str(error))


def capture_file(run: Run, cells: Sequence[str]) -> str | None:
    """The file of a run's packets in its result, named by the number of its cell in the plan; None
    where none are stored, as on other machines. cells: the names of all cells of the plan."""
    words = run.cell.words
    is_kept = (target_of(words).startswith(LOCAL) and words.get("capture") == "on"
               and run.round == CAPTURE_ROUND and run.label == LABEL)
    return f"{CAPTURES}/cell-{cells.index(run.cell.name) + 1:03}.pcap" if is_kept else None


def capture_rename(record: dict[str, Any], file: str | None) -> None:
    """Changes the path in a record to that inside the result, so that the result can be moved."""
    capture = record.get("client", {}).get("capture", {})
    if "file" in capture:
        capture["file"] = file


def matrix_batches(journal: Journal, progress: MatrixProgress,
                   is_wide: Callable[[Path], bool]) -> Iterator[list[Run]]:
    """The batches that are left of the session, then those of rounds that until= adds."""
    make = batches_make if journal.plan.hosts is None else concurrent_batches
    yield from make(session_left(journal.plan, journal.done))
    while wanted := rounds_wanted(journal.folder, journal.plan, is_wide):
        journal.extend(wanted)
        runs = session_left(journal.plan, journal.done)
        progress.total += len(runs)
        yield from make(runs)


def matrix_run(targets: Targets, journal: Journal, batches: Iterable[Sequence[Run]],
               progress: MatrixProgress) -> None:
    """Runs the batches in order and stores each record before it waits for the next."""
    def facts_store(facts: JsonObject, target: str) -> None:
        machines_merge(journal.folder, host_facts(facts, target))

    names, number_of_round = [cell.name for cell in journal.plan.cells], None
    for batch in batches:
        first = batch[0]
        if first.round != number_of_round:
            number_of_round = first.round
            targets.round_begin()
        progress.begin(first)
        cells, options = [run.cell for run in batch], list[str]()
        if file := capture_file(first, names):
            (journal.folder / CAPTURES).mkdir(exist_ok=True)
            options = ["--pcap", str((journal.folder / file).absolute())]
        records = batch_run(
            targets, cells, journal.plan.timer, options, facts_store,
            journal.folder / LOGS / f"round-{first.round}-position-{first.position}.log")
        for number, record in records:
            run = batch[number]
            capture_rename(record, file)
            record["run"] = {  # docs/record.md, "What the runner adds"
                "cell": run.cell.name, "label": run.label, "round": run.round,
                "position": run.position, "session": journal.plan.session.name}
            journal.append(record)
            progress.end(run, record)


def runs_seconds(runs: Sequence[Run], concurrent: bool = False) -> tuple[float, int]:
    """(estimated seconds of all runs and their boots, how many are fixed work of unknown time).
    concurrent: all targets run at the same time, so that the longest counts."""
    cells = [run.cell for run in runs]
    groups = list(cells_by_target(cells).values()) if concurrent else [list(range(len(cells)))]
    known = max((sum(OVERHEAD_S + (cells[number].planned_s or 0.0) for number in group)
                 for group in groups), default=0.0)
    boots = sum(bool(boot_of(batch[0].cell.words)) for batch in batches_make(runs))
    return known + BOOT_S * boots, sum(cell.planned_s is None for cell in cells)


def signals_handle() -> None:
    """Makes SIGTERM and SIGHUP end a matrix as Ctrl-C does: the child ends first, records stay."""
    def end(number: int, _: FrameType | None) -> None:
        raise Signalled(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup(1) ignores SIGHUP
            signal.signal(number, end)
