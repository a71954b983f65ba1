# SPDX-License-Identifier: MIT
"""The folder of a result while it is written: nothing that was measured is lost by any kill.

Records are appended to records.jsonl, flushed and synced run by run; a torn last line is cut off
when the matrix is resumed, and that run is done again. One runner writes a folder at a time: it
holds a lock (flock(2)) on records.jsonl, which the kernel drops with the process.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.base.errors import Failure, UsageError
from suite.result.checks import SCHEMA, Damaged
from suite.result.files import (
    HOSTS,
    PLAN,
    RECORDS,
    SCENARIO,
    file_named,
    file_write,
    machines_merge,
    object_parse,
    plan_write,
)
from suite.result.machine import Facts
from suite.result.plan import Plan
from suite.result.record import STORED_SHAPE, WARMUP_ROUND, JsonObject, RunKey, key_of
from suite.scenario.scenario import LABEL, Scenario, scenario_text

# what a start leaves that was killed before it had written plan.json
CREATED_FIRST = {RECORDS, SCENARIO, HOSTS, *(f"{name}.new" for name in (PLAN, HOSTS, SCENARIO))}


@dataclass
class Journal:
    """An open result: its plan, whose last session is being run, and the runs that are stored."""

    folder: Path
    plan: Plan
    done: set[RunKey]
    descriptor: int

    @property
    def resumed(self) -> bool:
        """Whether an earlier start stored runs of this session. Every start stores the cells that
        cannot run; these do not count."""
        cells = {cell.name for cell in self.plan.runnable}
        return any(session == self.plan.session.name and name in cells
                   for session, _, name, _ in self.done)

    def append(self, record: JsonObject) -> None:
        """Stores one record: written in one piece, flushed and synced before it returns."""
        rest = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with file_named(self.folder / RECORDS):
            while rest:
                rest = rest[os.write(self.descriptor, rest):]
            os.fsync(self.descriptor)
        self.done.add(key_of(record))

    def extend(self, rounds: int) -> None:
        """Adds so many rounds to the session; plan.json says so before the first of them runs."""
        self.plan = self.plan.extended(rounds)
        plan_write(self.folder, self.plan)

    def begin(self, scenario: Scenario, machines: Mapping[str, Facts]) -> None:
        """Writes the files beside the records, plan.json last: it makes the folder a result. Each
        cell that cannot run gets one record, of round 0, with the reason."""
        file_write(self.folder / SCENARIO, scenario_text(scenario))
        machines_merge(self.folder, machines)
        plan_write(self.folder, self.plan)
        session = self.plan.session.name
        for cell in self.plan.cells:
            if cell.unsupported is not None and (
                    session, WARMUP_ROUND, cell.name, LABEL) not in self.done:
                self.append({
                    "schema": SCHEMA, "uncork": self.plan.programs.uncork, "status": "unsupported",
                    "reason": cell.unsupported, "words": cell.words,
                    "run": {"cell": cell.name, "label": LABEL, "round": WARMUP_ROUND,
                            "session": session},
                })

    def close(self) -> None:
        """Gives the lock back."""
        os.close(self.descriptor)


def records_lock(folder: Path) -> int:
    """Opens records.jsonl to append, and takes the folder's lock; Failure if another has it."""
    descriptor = os.open(folder / RECORDS, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Failure(f"{folder} is being written by another uncork run") from None
    return descriptor


def records_done(folder: Path) -> tuple[set[RunKey], int]:
    """The runs that are stored, and the size of their lines in bytes: the last line may be torn.
    Failure where a whole line is damaged."""
    path = folder / RECORDS
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    done = set()
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        try:
            done.add(key_of(object_parse(line, STORED_SHAPE)))
        except Damaged as damage:
            raise Failure(f"{path}:{number}: {damage}: it cannot be continued") from None
    return done, whole


def journal_create(folder: Path, plan: Plan) -> Journal:
    """Opens a new result in folder, which may be there; UsageError where it has other files or
    records, Failure where another run writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    strange = {path.name for path in folder.iterdir()} - CREATED_FIRST
    if strange:
        raise UsageError(f"{folder} is no result and not empty ({min(strange)}): "
                         "choose another folder with -o")
    descriptor = records_lock(folder)
    if os.fstat(descriptor).st_size:
        os.close(descriptor)
        raise UsageError(f"{folder} has records but no plan.json: "
                         "choose another folder with -o")
    (folder / HOSTS).unlink(missing_ok=True)  # of a start that was killed before it had a plan
    return Journal(folder, plan, set(), descriptor)
