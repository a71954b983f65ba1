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
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from suite.analyse.metrics import METRICS
from suite.analyse.runs import NUMBERS, TEXTS, Builder, Problems, Runs, record_parse
from suite.analyse.traits import traits_read
from suite.base import cache_place
from suite.base.errors import Failure
from suite.result.checks import Damaged
from suite.result.files import CHUNK_BYTES, Lines, digest_new, digest_read
from suite.result.record import Record

# of new records, from which on columns are cached: some 50, which take as long as the cache
LEAST_BYTES = 256 << 10
# in the folder: columns of some millions of records; the oldest files go first
CACHE_BYTES_MOST = 1 << 30
NAMED_BY_BYTES = 1 << 16  # of records.jsonl, whose digest names the cached file
SUITE = Path(__file__).resolve().parents[1]
TORN = ("records.jsonl: the last line is torn and was left out "
        "(the runner was stopped while it wrote)")
# What cached columns are of, as JSON has it: the first bytes of a file with that digest, how many
# lines these are, and Problems.
Covered = dict[str, Any]


@cache
def program_digest() -> str:
    """The digest of the source of this program: any change of it may change a formula."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(SUITE.rglob("*.py")):
        digest.update(f"{path.relative_to(SUITE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_file(records: Path) -> Path | None:
    """The cached columns of a records.jsonl, whose folder is made when it is first needed; None
    where there can be no folder, or others can write it."""
    with contextlib.suppress(OSError):
        folder = cache_place() / "columns"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            with open(records, "rb") as file:
                name = hashlib.blake2b(file.read(NAMED_BY_BYTES), digest_size=16).hexdigest()
            return folder / f"{name}.npz"
    return None


def folder_trim(folder: Path) -> None:
    """Removes the files that were used longest ago, until at most CACHE_BYTES_MOST are left."""
    found = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    totals = accumulate([path.stat().st_size for path in found])
    for path, total in zip(found, totals, strict=True):
        if total > CACHE_BYTES_MOST:
            path.unlink(missing_ok=True)


def cache_write(records: Path, runs: Runs, covered: Covered) -> None:
    """Caches the columns; where there is no place for them, the next command takes longer."""
    path = cache_file(records)
    if path is None:
        return
    places, texts = {}, {}
    for name in TEXTS:
        places[name], found = pd.factorize(runs.columns[name])
        texts[name] = found.tolist()
    head = {"program": program_digest(), "covered": covered, "texts": texts,
            "traits": list(map(astuple, runs.traits))}
    known = np.flatnonzero(~np.isnan(runs.metrics).all(axis=0))
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as fresh:
        with open(f"{fresh}/columns", "wb") as file:
            np.savez(file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
                     metrics=runs.metrics[:, known], known=known,
                     censored=np.packbits(runs.censored[:, known]),
                     **{**runs.columns, **places})
        os.replace(file.name, path)
        folder_trim(path.parent)


def cache_read(records: Path) -> tuple[Runs, Covered] | None:
    """The columns that this program cached; None where there are none, or damaged ones."""
    path = cache_file(records)
    if path is None:
        return None
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            head = json.loads(arrays["head"].tobytes())
            if head["program"] != program_digest():
                return None
            known, figures = arrays["known"], arrays["metrics"]
            metrics = np.full((len(figures), len(METRICS)), np.nan)
            metrics[:, known] = figures
            censored = np.zeros(metrics.shape, dtype=bool)
            censored[:, known] = np.unpackbits(arrays["censored"],
                                               count=figures.size).reshape(figures.shape)
            columns = {name: np.array(head["texts"][name], dtype=object)[arrays[name]]
                       for name in TEXTS} | {name: arrays[name] for name in NUMBERS}
            runs = Runs(columns, metrics, censored, tuple(map(traits_read, head["traits"])))
        os.utime(path)
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile):
        return None
    return runs, head["covered"]


def runs_load(path: Path, least_bytes: int = LEAST_BYTES) -> tuple[Runs, Problems, list[str]]:
    """Every whole record of a file, the damaged lines, and notes for the reader. Columns are cached
    when at least so many bytes had to be parsed. OSError as open(2)."""
    builder, cached = Builder(), cache_read(path)
    with io.BufferedReader(io.FileIO(path), CHUNK_BYTES) as file:
        lines = Lines(file, digest_new(), 0)
        if cached is not None:  # and if the file still begins with the same bytes
            runs, covered = cached
            digest = digest_read(file, covered["bytes"])
            if file.tell() == covered["bytes"] and digest.hexdigest() == covered["digest"]:
                builder.restart(runs, covered["lines"], Problems(**covered["problems"]))
                lines = Lines(file, digest, covered["bytes"])
            else:
                file.seek(0)
        parsed_from = lines.done_bytes
        for line in lines:
            builder.line(line)
    runs = builder.runs()
    if lines.done_bytes - parsed_from >= least_bytes:
        cache_write(path, runs, {
            "bytes": lines.done_bytes, "digest": lines.digest.hexdigest(), "lines": builder.lines,
            "problems": vars(builder.problems)})
    return runs, builder.problems, [TORN] if lines.torn else []


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
