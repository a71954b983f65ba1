# SPDX-License-Identifier: MIT
"""The folder of a result while it is written: nothing that was measured is lost by any kill.

Records are appended to records.jsonl, flushed and synced run by run; a torn last line is cut off
when the matrix is resumed, and that run is done again. One runner writes a folder at a time: it
holds a lock (flock(2)) on records.jsonl, which the kernel drops with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base.errors import Failure, UsageError
from suite.measure.document import (
    Identity,
    Key,
    boot_changed,
    document_cells,
    key_of,
    plan_document,
    plan_same,
    session_begin,
    session_left,
    session_rounds,
)
from suite.measure.plan import Plan, plan_seeded, rounds_added, rounds_most
from suite.measure.schedule import WARMUP_ROUND, Run, runs_per_round
from suite.result.files import object_parse, plan_read
from suite.result.shape import SCHEMA, STORED, Damaged
from suite.result.shape import hosts as hosts_shape
from suite.scenario.scenario import LABEL, scenario_text

PLAN, RECORDS = "plan.json", "records.jsonl"
CREATED_FIRST = {RECORDS, "scenario.toml", "hosts.json", "plan.json.new", "hosts.json.new",
                 "scenario.toml.new"}  # all that a start which was killed may leave behind


@dataclass
class Journal:
    """An open result: its plan document, the session being run, and what is done already."""

    folder: Path
    document: dict[str, Any]
    session: str
    done: set[Key]
    descriptor: int

    @property
    def resumed(self) -> bool:
        """Whether runs of this session were stored by an earlier start; cells that cannot run are stored by each."""
        cells = {cell.name for cell in document_cells(self.document) if cell.unsupported is None}
        return any(session == self.session and name in cells for session, _, name, _ in self.done)


def rounds_wanted(folder: Path, document: dict[str, Any]) -> int:
    """How many rounds until= adds to the last session, whose runs are all done: 0 where every interval of the result
    is narrow enough or there are as many as there may be.

    It depends on nothing but the stored result, so that who goes on after a kill comes to the same.
    """
    done = len(session_rounds(document["sessions"][-1]))
    most = rounds_most(document["rounds"], document.get("until"))
    if done >= most:
        return 0
    from suite.analyse.frame import matrix_build  # pandas is slow to import
    from suite.analyse.precision import precision_measure
    from suite.analyse.results import result_load
    precision = precision_measure(matrix_build(result_load(folder)))
    return rounds_added(done, most) if precision and precision.wide else 0


def session_unfinished(folder: Path, document: dict[str, Any], done: set[Key]) -> str | None:
    """What the last session of a folder still has to do; None: it is finished."""
    left = len(session_left(document, document["sessions"][-1], done))
    if left:
        return f"{left} runs left"
    wanted = rounds_wanted(folder, document)
    return f"rounds left that until={document['until']} adds" if wanted else None


def file_write(path: Path, text: str) -> None:
    """Replaces a file as a whole: a reader, or a kill, finds the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def json_text(value: Any) -> str:
    """JSON for a file that people may look at."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def records_open(folder: Path) -> int:
    """Opens records.jsonl to append, and takes the folder's lock; Failure if another has it."""
    descriptor = os.open(folder / RECORDS, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Failure(f"{folder} is being written by another uncork run") from None
    return descriptor


def records_done(folder: Path) -> tuple[set[Key], int]:
    """What is done already, and how many bytes that is: the last line may be torn.

    Failure where a whole line is damaged.
    """
    path = folder / RECORDS
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    done = set()
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        try:
            done.add(key_of(object_parse(line, STORED)))
        except (Damaged, UsageError) as damage:
            raise Failure(f"{path}:{number}: {damage}: it cannot be continued") from None
    return done, whole


def record_append(journal: Journal, record: dict[str, Any]) -> None:
    """Stores one record: written in one piece, flushed and synced before it returns."""
    line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    view = memoryview(line)
    while view:
        view = view[os.write(journal.descriptor, view):]
    os.fsync(journal.descriptor)
    journal.done.add(key_of(record))


def unsupported_store(journal: Journal) -> None:
    """One record, of round 0, for each cell that this machine cannot run."""
    for cell in document_cells(journal.document):
        key = (journal.session, WARMUP_ROUND, cell.name, LABEL)
        if cell.unsupported is None or key in journal.done:
            continue
        record_append(journal, {
            "schema": SCHEMA, "uncork": journal.document["uncork"], "status": "unsupported",
            "reason": cell.unsupported, "words": cell.words,
            "run": {"cell": cell.name, "label": LABEL, "round": WARMUP_ROUND,
                    "session": journal.session},
        })


def folder_prepare(folder: Path) -> None:
    """Makes the folder of a new result; UsageError where it holds something else."""
    folder.mkdir(parents=True, exist_ok=True)
    strange = {path.name for path in folder.iterdir()} - CREATED_FIRST
    if strange:
        raise UsageError(f"{folder} is no result and not empty ({sorted(strange)[0]}): "
                         "choose another folder with -o")


def journal_create(
    folder: Path, plan: Plan, identity: Identity, hosts: dict[str, Any],
) -> Journal:
    """Starts a result in folder, which is new or empty; plan.json comes last and makes it one."""
    folder_prepare(folder)
    descriptor = records_open(folder)
    try:
        if os.fstat(descriptor).st_size:
            raise UsageError(f"{folder} has records but no plan.json: "
                             "choose another folder with -o")
        document: dict[str, Any] = plan_document(plan, identity) | {"sessions": []}
        session = session_begin(document, identity)
        document["sessions"].append(session)
        file_write(folder / "scenario.toml", scenario_text(plan.scenario))
        file_write(folder / "hosts.json", json_text(hosts))
        file_write(folder / PLAN, json_text(document))
        journal = Journal(folder, document, session["session"], set(), descriptor)
        unsupported_store(journal)
        return journal
    except BaseException:
        os.close(descriptor)
        raise


def build_same(document: dict[str, Any], identity: Identity) -> bool:
    """Whether a folder was measured with these programs."""
    return (document["build"] == identity.build and digests(document.get("builds", {})) == digests(identity.builds)
            and document.get("targets", {}) == identity.targets)


def digests(builds: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The digest of each build."""
    return {value: build["digest"] for value, build in builds.items()}


def facts_text(facts: Mapping[str, str]) -> str:
    """`runsc release-20240729.0`."""
    return ", ".join(f"{key} {value}" for key, value in facts.items())


def build_refuse(folder: Path, document: dict[str, Any], identity: Identity) -> None:
    """Refuses to mix two builds in one folder, naming both."""
    known = document.get("builds", {})
    for value, build in identity.builds.items():
        if value in known and known[value]["digest"] != build["digest"]:
            raise UsageError(f"{folder} was measured with another build={value} ({known[value]['revision']}, "
                             f"{known[value]['digest']}; now it is {build['revision']}, {build['digest']}): "
                             "choose another folder with -o")
    for value, found in identity.targets.items():
        known = document.get("targets", {}).get(value, found)
        if known != found:
            raise UsageError(f"{folder} was measured where target={value} was another ({facts_text(known)}; now it is "
                             f"{facts_text(found)}): choose another folder with -o")
    if document["build"] != identity.build:
        raise UsageError(
            f"{folder} was measured with another build ({document['revision']}, "
            f"{document['build']}; this one is {identity.revision}, {identity.build}): "
            "choose another folder with -o")


def boot_refuse(folder: Path, session: dict[str, Any], identity: Identity) -> None:
    """Refuses to go on with a session that another boot began, naming both."""
    if changed := boot_changed(session, identity):
        raise UsageError(f"{folder} was measured on {changed}: choose another folder with -o, or add a session of this "
                         "boot with --more")


def hosts_merge(folder: Path, hosts: dict[str, Any]) -> None:
    """Adds machines to hosts.json; those that are there stay as they were found first, but for what the doctor found,
    which is added to what it found before. A file that cannot be read is put aside."""
    path = folder / "hosts.json"
    try:
        known = object_parse(path.read_bytes(), hosts_shape)
    except FileNotFoundError:
        known = {}
    except Damaged:
        known = {}
        path.replace(path.with_name(f"{path.name}.damaged"))
    merged = hosts | known
    for host, facts in hosts.items():
        if host in known and "doctor" in facts:
            merged[host] = known[host] | {"doctor": known[host].get("doctor", []) + facts["doctor"]}
    if merged != known:
        file_write(path, json_text(merged))


def session_choose(
    folder: Path, document: dict[str, Any], done: set[Key], identity: Identity, more: bool,
) -> dict[str, Any]:
    """The session to run: the last one where it is unfinished, with more a new one."""
    session = document["sessions"][-1]
    left = session_unfinished(folder, document, done)
    if more:
        if left and not boot_changed(session, identity):
            raise UsageError(f"{folder} has {left}: finish it without --more first")
        return session_begin(document, identity)
    boot_refuse(folder, session, identity)
    if not left:
        raise UsageError(f"{folder} is finished: add a session with --more, "
                         "or choose another folder with -o")
    return session


def journal_continue(
    folder: Path, plan: Plan, identity: Identity, hosts: dict[str, Any], more: bool,
) -> Journal:
    """Goes on with a folder that has a plan: its unfinished session, or with more a new one.

    UsageError where it has another plan, is finished (without more), or is of another build or
    boot.
    """
    descriptor = records_open(folder)
    try:
        document = plan_read(folder / PLAN)
        if document is None:
            raise Failure(f"{folder / PLAN} is gone")
        build_refuse(folder, document, identity)
        if not plan_same(document, plan):
            raise UsageError(f"{folder} has another plan: choose another folder with -o")
        done, whole = records_done(folder)
        os.ftruncate(descriptor, whole)
        session = session_choose(folder, document, done, identity, more)
        if more:
            document["sessions"].append(session)
            file_write(folder / PLAN, json_text(document))
        # The cells are the same; what is claimed about them may have been edited since.
        as_run = plan_seeded(plan, document["seed"]).scenario
        file_write(folder / "scenario.toml", scenario_text(as_run))
        hosts_merge(folder, hosts)
        journal = Journal(folder, document, session["session"], done, descriptor)
        unsupported_store(journal)
        return journal
    except BaseException:
        os.close(descriptor)
        raise


def folder_finished(folder: Path, document: dict[str, Any]) -> bool:
    """Whether the last session of a folder is finished; reads only."""
    return not session_unfinished(folder, document, records_done(folder)[0])


@contextlib.contextmanager
def damaged_passed(say: Callable[[str], None]) -> Iterator[None]:
    """A folder that is damaged is none to go on with: one line says where and why."""
    try:
        yield
    except (Failure, UsageError) as error:
        say(f"passed over: {error}")


def folders_read(results: Path, say: Callable[[str], None]) -> list[tuple[Path, dict[str, Any]]]:
    """The results in a folder of results, newest first."""
    found = []
    for folder in results.iterdir() if results.is_dir() else ():
        with damaged_passed(say):
            if document := plan_read(folder / PLAN):
                found.append((folder, document))
    return sorted(found, key=lambda one: one[1]["sessions"][0]["started_unix_ns"], reverse=True)


def folder_find(
    results: Path, plan: Plan, identity: Identity, more: bool, say: Callable[[str], None],
) -> Path | None:
    """The newest folder to go on with: unfinished, of this plan, build and boot; with more, the
    newest finished one of this plan and build."""
    for folder, document in folders_read(results, say):
        if plan_same(document, plan) and build_same(document, identity):
            same_boot = not boot_changed(document["sessions"][-1], identity)
            with damaged_passed(say):
                if (more or same_boot) and folder_finished(folder, document) == more:
                    return folder
    return None


def folder_name(results: Path, name: str) -> Path:
    """results/NAME-YYYYmmdd-HHMMSS, with a number where two start in one second."""
    stem = results / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem, *(stem.with_name(f"{stem.name}-{number}") for number in range(2, 1000)))
    return next(path for path in names if not path.exists())


def left_runs(journal: Journal) -> list[Run]:
    """What the journal's session still has to run, in order."""
    return session_left(journal.document, journal.document["sessions"][-1], journal.done)


def journal_extend(journal: Journal) -> int:
    """Adds the rounds that until= still asks for to a session whose runs are all done; how many these are.

    plan.json says so before the first of them runs.
    """
    wanted = rounds_wanted(journal.folder, journal.document)
    if wanted:
        journal.document["sessions"][-1]["rounds"][1] += wanted
        file_write(journal.folder / PLAN, json_text(journal.document))
    return wanted


def session_total(journal: Journal) -> int:
    """All runs of the journal's session."""
    runnable = [cell for cell in document_cells(journal.document) if cell.unsupported is None]
    return runs_per_round(runnable) * (len(session_rounds(journal.document["sessions"][-1])) + 1)


def journal_close(journal: Journal) -> None:
    """Gives the lock back."""
    os.close(journal.descriptor)
