# SPDX-License-Identifier: MIT
"""records.jsonl -> columns, parsed or from the user's cache; and single records.

The columns of a large file are cached, so that they are made once. No stale columns are used: those
of a file are of its first bytes, whose digest is taken anew each time, and of the source of this
program, which has the formulas. Nor are foreign ones: only this user can write the folder. The name
of a cached file is the digest of the first records, so that a result may be moved. Of a file that
grew only new lines are parsed.
"""

import contextlib
import hashlib
import io
import os
import pickle
import stat
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

from suite.analyse.runs import Runs, RunsBuilder, record_parse
from suite.base import cache_place
from suite.base.errors import Failure
from suite.result.checks import Damaged
from suite.result.files import CHUNK_BYTES, Lines, digest_new, digest_read
from suite.result.record import Record

# of new records, from which on columns are cached: some 50, which take as long as the cache
CACHE_FROM_BYTES = 256 << 10
# in the folder: of more than a million records; the oldest files go first
CACHE_MAX_BYTES = 1 << 30
NAME_FROM_BYTES = 1 << 16  # of records.jsonl, whose digest names the cached file
SUITE = Path(__file__).resolve().parents[1]
TORN = ("records.jsonl: the last line is torn and was left out "
        "(the runner was stopped while it wrote)")
# What the first lines of a file came to, how many bytes these are, and their digest.
CachedColumns = tuple[RunsBuilder, int, str]
DIGEST_BYTES = 16


@cache
def program_digest() -> str:
    """The digest of the source of this program: any change of it may change a formula."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for path in sorted(SUITE.rglob("*.py")):
        digest.update(f"{path.relative_to(SUITE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def keyed_digest(data: bytes) -> bytes:
    """What stands in front of cached data: nothing is unpickled that another program wrote, or
    that was damaged."""
    key = program_digest().encode()
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, key=key).digest()


def cache_file(records: Path) -> Path | None:
    """The cached columns of a records.jsonl, whose folder is made when it is first needed; None
    where there can be no folder, or others can write it."""
    with contextlib.suppress(OSError):
        folder = cache_place() / "columns"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            with open(records, "rb") as file:
                name = hashlib.blake2b(file.read(NAME_FROM_BYTES), digest_size=16).hexdigest()
            return folder / f"{name}.pickle"
    return None


def folder_trim(folder: Path) -> None:
    """Removes the files that were used longest ago, until at most CACHE_MAX_BYTES are left."""
    found = sorted(folder.glob("*.pickle"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    totals = accumulate([path.stat().st_size for path in found])
    for path, total in zip(found, totals, strict=True):
        if total > CACHE_MAX_BYTES:
            path.unlink(missing_ok=True)


def cache_write(records: Path, kept: CachedColumns) -> None:
    """Caches what was parsed; where there is no place for it, the next command takes longer."""
    path = cache_file(records)
    if path is None:
        return
    data = pickle.dumps(kept, protocol=5)
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as fresh:
        Path(fresh, "columns").write_bytes(keyed_digest(data) + data)
        Path(fresh, "columns").replace(path)
        folder_trim(path.parent)


def cache_read(records: Path) -> CachedColumns | None:
    """What this program cached; None where there is nothing, or what another one wrote."""
    path = cache_file(records)
    if path is None:
        return None
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    digest, data = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    kept: CachedColumns | None = pickle.loads(data) if digest == keyed_digest(data) else None
    return kept


def runs_load(path: Path, cache_from_bytes: int = CACHE_FROM_BYTES
              ) -> tuple[Runs, RunsBuilder, list[str]]:
    """Every whole record of a file, their builder, which knows the damaged lines, and notes for the
    reader. Columns are cached if at least so many bytes were parsed. OSError as open(2)."""
    builder, cached = RunsBuilder(), cache_read(path)
    with io.BufferedReader(io.FileIO(path), CHUNK_BYTES) as file:
        lines = Lines(file, digest_new(), 0)
        if cached is not None:  # and if the file still begins with the same bytes
            known, done_bytes, digest_text = cached
            digest = digest_read(file, done_bytes)
            if file.tell() == done_bytes and digest.hexdigest() == digest_text:
                builder, lines = known, Lines(file, digest, done_bytes)
            else:
                file.seek(0)
        parsed_from = lines.done_bytes
        for line in lines:
            builder.add_line(line)
    runs = builder.build()
    if lines.done_bytes - parsed_from >= cache_from_bytes:
        cache_write(path, (builder, lines.done_bytes, lines.digest.hexdigest()))
    return runs, builder, [TORN] if lines.torn else []


def records_read(path: Path, runs: Runs, rows: Iterable[int]) -> Iterator[Record]:
    """The whole records of these rows, one at a time; Failure if the file was changed since."""
    with open(path, "rb") as file:
        for row in rows:
            planned = {name: column[row] for name, column in runs.columns.items()}
            file.seek(planned["offset"])
            with contextlib.suppress(Damaged):
                record = record_parse(file.read(planned["size_bytes"]))
                if all(getattr(record, name) == planned[name]
                       for name in ("cell", "label", "round")):
                    yield record
                    continue
            raise Failure(f"{path}: was changed while it was read: ask again")
