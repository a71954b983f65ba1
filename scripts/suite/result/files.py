# SPDX-License-Identifier: MIT
"""The files of a result (docs/record.md, "Files of a result"). Only this module uses them.

A folder with a plan.json is a result. A file that cannot be parsed or has the wrong shape raises
Damaged, whose message says where. A file is replaced as a whole; a journal appends records.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base import ROOT, cache_place
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.installation import RESULTS
from suite.result import checks
from suite.result.checks import SCHEMA, Damaged, Newer, object_parse
from suite.result.machine import Facts
from suite.result.plan import Plan, plan_document, plan_from
from suite.result.record import WARMUP_ROUND, JsonObject, Outcomes, key_of
from suite.scenario.scenario import LABEL, Scenario, scenario_text

CRC = b',"crc":'  # begins the last member of a line of records.jsonl
RECORDS, PLAN, HOSTS, SCENARIO = "records.jsonl", "plan.json", "hosts.json", "scenario.toml"
CLAIMS = "claims.json"  # in a folder with results of claims: why some could not run
REFERENCE, ARCHIVE_SUFFIX = "reference", ".tar.xz"
ARCHIVES = ROOT / "results" / REFERENCE
LINE_BYTES_MAX = 64 << 20  # a record with hundreds of threads has some MiB


def results_folder() -> Path:
    """The folder of results that users name: $UNCORK_RESULTS, else that of the installation."""
    chosen = os.environ.get("UNCORK_RESULTS")
    return Path(chosen) if chosen else RESULTS


def results_newest() -> list[Path]:
    """The folders of the results in results_folder(), those with the newest plan first."""
    plans = sorted(results_folder().glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime,
                   reverse=True)
    return [plan.parent for plan in plans]


def path_shown(path: Path | str) -> str:
    """A path as text, for a file: bytes that are not UTF-8 are U+FFFD in it."""
    return os.fsencode(path).decode(errors="replace")


def result_find(given: Path) -> Path:
    """The folder of a result. given: a path, which may lead into an archive; a name in
    results_folder(); or reference/NAME. UsageError where there is no such folder."""
    if given.is_dir():
        return given
    is_reference_name = len(given.parts) == 2 and given.parts[0] == REFERENCE
    path = ARCHIVES / f"{given.name}{ARCHIVE_SUFFIX}" if is_reference_name else given
    for archive in (path, *path.parents):
        if archive.name.endswith(ARCHIVE_SUFFIX) and archive.is_file():
            folder = archive_unpack(archive) / path.relative_to(archive)
            if not folder.is_dir():
                raise UsageError(f"{given}: no such folder in {archive}")
            return folder
    if given.exists():
        raise UsageError(f"{given}: is a file, not the folder of a result")
    if is_reference_name:
        raise UsageError(f"{given}: no such folder, and no reference result"
                         f"{nearest_hint(str(given), reference_names())}")
    if len(given.parts) != 1:
        raise UsageError(f"{given}: no such folder")
    results = results_folder()
    if (results / given).is_dir():
        return results / given
    names = [path.name for path in results.iterdir() if path.is_dir()] if results.is_dir() else []
    mine = sorted(name for name in names if name.startswith(f"{given}-"))
    hint = f": did you mean {mine[-1]}?" if mine else nearest_hint(str(given), names)
    raise UsageError(f"{given}: no such folder, here or in {results}{hint}")


def line_make(head: bytes) -> bytes:
    """A line of records.jsonl without its end. head: a JSON object without its last brace, of which
    crc is the CRC-32."""
    return b"%s%s%d}" % (head, CRC, zlib.crc32(head))


def record_parse(data: bytes) -> JsonObject:
    """As object_parse(), for a line of records.jsonl: Damaged too where its crc is wrong. Results
    of older versions have no crc."""
    if len(data) == LINE_BYTES_MAX:
        raise Damaged(f"longer than {LINE_BYTES_MAX >> 20} MiB: no record is")
    value = object_parse(data, checks.RECORD_SHAPE)
    if "crc" in value and data.rstrip() != line_make(data.rpartition(CRC)[0]):
        raise Damaged("its bytes are not those that were written: its crc differs")
    return value


def plan_read(folder: Path) -> Plan | None:
    """The plan of a result; None without one. UsageError for a newer schema, Failure for damage."""
    path = folder / PLAN
    try:
        return plan_from(object_parse(path.read_bytes(), checks.PLAN_SHAPE))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except Newer as error:
        raise UsageError(f"{path}: {error}") from None
    except Damaged as damage:
        raise Failure(f"{path}: damaged: {damage}") from None


def machines_read(folder: Path) -> dict[str, Facts]:
    """hosts.json; Damaged, or OSError as open(2)."""
    return object_parse((folder / HOSTS).read_bytes(), checks.MACHINES_SHAPE)


def machines_merge(folder: Path, machines: Mapping[str, Facts]) -> None:
    """Adds machines to hosts.json. Machines that it has keep their facts, and get the new findings
    of the doctor. A damaged file is renamed to hosts.json.damaged."""
    path = folder / HOSTS
    known: dict[str, Facts] = {}
    try:
        known = machines_read(folder) if path.exists() else {}
    except Damaged:
        path.replace(path.with_name(f"{path.name}.damaged"))
    merged = {**machines, **known}
    for host in machines.keys() & known.keys():
        inspections = [*known[host].get("doctor", ()), *machines[host].get("doctor", ())]
        merged[host] = {**known[host], **({"doctor": inspections} if inspections else {})}
    if merged != known:
        file_write(path, json_text(merged))


@contextlib.contextmanager
def file_named(path: Path) -> Iterator[None]:
    """An OSError that is raised meanwhile gets the name of the file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def writable_check(path: Path) -> None:
    """Failure where path is a link, a device, a pipe or a folder: rename(2) would replace a link or
    a device, for root even /dev/null."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Failure(f"cannot write {path}: it is a link, a folder or a special file; "
                      "name a regular file or a new one")


def file_write(path: Path, content: str | bytes) -> None:
    """Writes a file as a whole: after a kill there is the old one or the new one, after a failure
    the old one. Failure as writable_check(). Every file at a path that users choose comes from
    here."""
    fresh = path.with_name(path.name + ".new")
    with file_named(path):
        for place in (path, fresh):
            writable_check(place)
        try:
            with open(fresh, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)


def json_text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


# ---- the folder of a result while it is written: a kill loses no record. Each record is appended
# to records.jsonl and synced. When the matrix is resumed, a torn last line is cut off, and its run
# runs again. One runner writes a folder at a time: it holds a lock (flock(2)) on records.jsonl,
# which the kernel drops with the process. ----

# the files that a start may leave if it is killed before it has written plan.json
BEFORE_PLAN = {RECORDS, SCENARIO, HOSTS, *(f"{name}.new" for name in (PLAN, HOSTS, SCENARIO))}


@dataclass
class Journal:
    """An open result. plan: its last session runs. done: the status of each run that is stored, and
    why it is not ok. descriptor: of records.jsonl, with the lock."""

    folder: Path
    plan: Plan
    done: Outcomes
    descriptor: int

    @property
    def resumed(self) -> bool:
        """Whether an earlier start stored runs of this session. Records of cells that cannot run do
        not count, because every start stores them."""
        cells = {cell.name for cell in self.plan.runnable}
        return any(session == self.plan.session.name and name in cells
                   for session, _, name, _ in self.done)

    def append(self, record: JsonObject) -> None:
        """Appends one record and syncs it before it returns."""
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
        rest = line_make(text.removesuffix(b"}")) + b"\n"
        with file_named(self.folder / RECORDS):
            while rest:
                rest = rest[os.write(self.descriptor, rest):]
            os.fsync(self.descriptor)
        self.done[key_of(record)] = record["status"], record.get("reason", "")

    def extend(self, rounds: int) -> None:
        """Adds rounds to the session, in plan.json before the first of them runs."""
        self.plan = self.plan.with_rounds(rounds)
        file_write(self.folder / PLAN, json_text(plan_document(self.plan)))

    def begin(self, scenario: Scenario, machines: Mapping[str, Facts]) -> None:
        """Writes the files beside the records: plan.json last, which makes the folder a result.
        Each cell that cannot run gets one record, of round 0, with the reason."""
        file_write(self.folder / SCENARIO, scenario_text(scenario))
        machines_merge(self.folder, machines)
        file_write(self.folder / PLAN, json_text(plan_document(self.plan)))
        session = self.plan.session.name
        for cell in self.plan.cells:
            if cell.unsupported is not None and (
                    session, WARMUP_ROUND, cell.name, LABEL) not in self.done:
                self.append({
                    "schema": SCHEMA, "uncork": self.plan.programs.own.uncork,
                    "status": "unsupported", "reason": cell.unsupported, "words": cell.words,
                    "run": {"cell": cell.name, "label": LABEL, "round": WARMUP_ROUND,
                            "session": session},
                })

    def close(self) -> None:
        os.close(self.descriptor)


def records_lock(folder: Path) -> int:
    """Opens records.jsonl to append, and takes its lock; Failure if another process has it."""
    writable_check(folder / RECORDS)
    descriptor = os.open(folder / RECORDS, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Failure(f"{folder} is being written by another uncork run") from None
    return descriptor


def journal_create(folder: Path, plan: Plan) -> Journal:
    """Opens a new result in folder, which may exist. UsageError where it has other files or
    records, Failure where another run writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    foreign = {path.name for path in folder.iterdir()} - BEFORE_PLAN
    if foreign:
        raise UsageError(f"{folder} is no result and not empty ({min(foreign)}): "
                         "choose another folder with -o")
    descriptor = records_lock(folder)
    if os.fstat(descriptor).st_size:
        os.close(descriptor)
        raise UsageError(f"{folder} has records but no plan.json: "
                         "choose another folder with -o")
    (folder / HOSTS).unlink(missing_ok=True)  # of a start that was killed before it had a plan
    return Journal(folder, plan, {}, descriptor)


# ---- reference results: finished ones that come with uncork, named `reference/NAME`. Each is an
# archive, which `scripts/reference` writes. It is unpacked into the user's cache when it is first
# read, and never changed there. ----

def reference_names() -> list[str]:
    return [f"{REFERENCE}/{path.name.removesuffix(ARCHIVE_SUFFIX)}"
            for path in sorted(ARCHIVES.glob(f"*{ARCHIVE_SUFFIX}"))]


def is_reference(folder: Path) -> bool:
    return cache_place() / REFERENCE in folder.parents


def archive_unpack(archive: Path) -> Path:
    """The folder of an archive, unpacked in the user's cache; Failure where that fails."""
    name, place = archive.name.removesuffix(ARCHIVE_SUFFIX), cache_place() / REFERENCE
    try:
        place /= hashlib.blake2b(archive.read_bytes(), digest_size=8).hexdigest()
        if not (place / name).is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as fresh:
                members_write(archive, Path(fresh) / place.name / name)
                (Path(fresh) / place.name).rename(place)
    except (OSError, tarfile.TarError) as error:
        if not (place / name).is_dir():  # else another process was faster
            raise Failure(f"{archive}: cannot be unpacked into {place.parent}: {error}; "
                          "UNCORK_CACHE=FOLDER names another place") from None
    return place / name


def members_write(archive: Path, folder: Path) -> None:
    """Writes the files in the top folder of an archive into a new folder, and nothing else."""
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            path = folder.joinpath(*Path(member.name).parts[1:])
            if member.isfile() and ".." not in path.parts and (file := tar.extractfile(member)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())


def output_path(chosen: str | None, folder: Path, name: str) -> Path:
    """The path of -o for what is made from a result; without -o, name in the folder of the result,
    or of a reference in the working directory."""
    return Path(chosen or (Path() if is_reference(folder) else folder) / name)
