# SPDX-License-Identifier: MIT
"""Loads records.jsonl as columns, by parsing it or from the user's cache.

The columns of a large file are cached. They are used only if the file still begins with the same
bytes, by a new digest of these, if the source of this program, which has the formulas, is the same,
and if only this user can write the cache folder. Of a file that grew, only new lines are parsed. A
cached file is named by the digest of the first records, so that a result may be moved.
"""

import contextlib
import hashlib
import io
import os
import pickle
import stat
import tempfile
from functools import cache
from itertools import accumulate
from pathlib import Path

from suite.base import cache_place
from suite.base.errors import Failure
from suite.observe.runs import Runs, RunsBuilder
from suite.result.files import LINE_BYTES_MAX, RECORDS
from suite.result.record import Outcomes

# fewer new bytes (some 50 records) are parsed as fast as a cached file is read
CACHE_FROM_BYTES = 256 << 10
# of all cached files, enough for more than a million records; the oldest files are removed first
CACHE_MAX_BYTES = 1 << 30
NAME_FROM_BYTES = 1 << 16  # the digest of the first bytes of records.jsonl names the cached file
CHUNK_BYTES = 1 << 20
SUITE = Path(__file__).resolve().parents[1]
TORN = ("records.jsonl: the last line is torn and was left out "
        "(the runner was stopped while it wrote)")
DIGEST_BYTES = 16
LAST: dict[Path, RunsBuilder] = {}  # of the file that was read last: a run reads one repeatedly


@cache
def program_digest() -> bytes:
    """The digest of the source of this program, because any change may change a formula."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for path in sorted(SUITE.rglob("*.py")):
        digest.update(f"{path.relative_to(SUITE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.digest()


def keyed_digest(data: bytes) -> bytes:
    """The digest in front of cached data: damaged or foreign data is never unpickled."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, key=program_digest()).digest()


def cache_file(records: Path) -> Path | None:
    """The path of the cached columns, in a folder that it creates; None if others can write it, or
    if it cannot be created."""
    with contextlib.suppress(OSError):
        folder = cache_place() / "columns"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            with open(records, "rb") as file:
                name = hashlib.blake2b(file.read(NAME_FROM_BYTES), digest_size=DIGEST_BYTES)
            return folder / f"{name.hexdigest()}.pickle"
    return None


def cache_write(records: Path, columns: RunsBuilder) -> None:
    """Caches parsed columns, and removes the least recently used files beyond CACHE_MAX_BYTES.
    Ignores errors: then the next command parses again."""
    if (path := cache_file(records)) is None:
        return
    data = pickle.dumps(columns, protocol=5)
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as fresh:
        Path(fresh, "columns").write_bytes(keyed_digest(data) + data)
        Path(fresh, "columns").replace(path)
        found = sorted(path.parent.glob("*.pickle"), key=lambda one: -one.stat().st_mtime_ns)
        totals = accumulate([one.stat().st_size for one in found])
        for one, total in zip(found, totals, strict=True):
            if total > CACHE_MAX_BYTES:
                one.unlink(missing_ok=True)


def cache_read(records: Path) -> RunsBuilder | None:
    """The cached columns; None without a file, or if another program wrote it."""
    columns: RunsBuilder | None = None
    with contextlib.suppress(OSError):
        if path := cache_file(records):
            data = path.read_bytes()
            os.utime(path)
            if data[:DIGEST_BYTES] == keyed_digest(data[DIGEST_BYTES:]):
                columns = pickle.loads(data[DIGEST_BYTES:])
    return columns


def digest_read(file: io.BufferedIOBase, size_bytes: int) -> hashlib.blake2b:
    """The digest of the next size_bytes of a file, or of its rest if that is shorter."""
    digest, chunk = hashlib.blake2b(), memoryview(bytearray(CHUNK_BYTES))
    while size_bytes > 0 and (count := file.readinto(chunk[:size_bytes])):
        digest.update(chunk[:count])
        size_bytes -= count
    return digest


def runs_load(path: Path) -> tuple[Runs, RunsBuilder, list[str]]:
    """Every whole record of a file, the builder, which has the damaged lines, and notes for the
    reader. Caches the columns if it parsed at least CACHE_FROM_BYTES. OSError as open(2)."""
    builder = LAST.pop(path, None) or cache_read(path) or RunsBuilder()
    with io.BufferedReader(io.FileIO(path), CHUNK_BYTES) as file:
        digest = digest_read(file, builder.done_bytes)
        if file.tell() != builder.done_bytes or digest.hexdigest() != builder.digest:
            builder, digest = RunsBuilder(), hashlib.blake2b()  # other bytes than in the cache
            file.seek(0)
        begin_bytes, torn = builder.done_bytes, b""
        # a line that is too long is read in parts, each a damaged line
        while line := file.readline(LINE_BYTES_MAX):
            if not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX:
                torn = line.strip()
                break
            digest.update(line)
            builder.add_line(line)
    builder.digest = digest.hexdigest()
    LAST.clear()
    LAST[path] = builder
    if builder.done_bytes - begin_bytes >= CACHE_FROM_BYTES:
        cache_write(path, builder)
    return builder.build(), builder, [TORN] if torn else []


def stored_runs(folder: Path) -> tuple[Outcomes, int]:
    """The runs of a result that can be continued, and the size of their lines in bytes, without a
    torn last line. Failure where a whole line is damaged."""
    path = folder / RECORDS
    if not path.exists():
        return {}, 0
    runs, builder, _ = runs_load(path)
    if builder.damaged:
        raise Failure(f"{folder / next(iter(builder.damaged))}: it cannot be continued")
    rows = runs.frame[["session", "round", "cell", "label", "status", "reason"]]
    return {(session, number, cell, label): (status, reason) for session, number, cell, label,
            status, reason in rows.itertuples(index=False, name=None)}, builder.done_bytes
