# SPDX-License-Identifier: MIT
"""The columns of a large records.jsonl, kept in the user's cache folder so that they are made once.

Nothing stale is used: the columns are those of the first bytes of records.jsonl, whose digest is
taken anew each time, made by the source of this program, which has the formulas. Nor is anything
foreign: the folder is this user's and nobody else can write there. A file is found by the digest of
how its records begin, so that a result may be moved, and of one that grew only new lines are
parsed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from suite.analyse.metrics import METRICS
from suite.analyse.runs import PLACES, WORDS, Coded, Problems, Runs
from suite.analyse.traits import traits_read, traits_write

# of new records, from which on columns are kept: it takes about half a second to make them
LEAST_BYTES = 8 << 20
# in the folder: columns of some millions of records; the oldest files go first
KEPT_BYTES_MOST = 1 << 30
NAMED_BY_BYTES = 1 << 16  # of records.jsonl, whose digest names the file
SUITE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Kept:
    """Columns of the first covers_bytes of a file with that digest: its first lines, whole or
    problems."""

    runs: Runs
    covers_bytes: int
    digest: str
    lines: int
    problems: Problems


@cache
def program_digest() -> str:
    """What made the columns: any change of the source may change a formula."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(SUITE.rglob("*.py")):
        digest.update(f"{path.relative_to(SUITE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """The folder of columns, made when it is first needed; None where there can be none, or others
    can write it."""
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() /
                      ".cache") / "uncork" / "columns"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder
    return None


def kept_file(records: Path) -> Path | None:
    """Where the columns of a records.jsonl are kept; None where they cannot be."""
    folder = cache_folder()
    with open(records, "rb") as file:
        return folder and folder / f"{hashlib.blake2b(file.read(NAMED_BY_BYTES), digest_size=16).hexdigest()}.npz"


def folder_trim(folder: Path) -> None:
    """Removes the files that were used longest ago, until no more than KEPT_BYTES_MOST are left."""
    found = sorted(((path.stat().st_mtime_ns, path.stat().st_size, path)
                    for path in folder.glob("*.npz")), reverse=True)
    total = 0
    for _, size_bytes, path in found:
        total += size_bytes
        if total > KEPT_BYTES_MOST:
            path.unlink(missing_ok=True)


def kept_write(records: Path, kept: Kept) -> None:
    """Keeps the columns; does nothing where there is no place for them, which costs time and
    nothing else."""
    path = kept_file(records)
    if path is None:
        return
    runs = kept.runs
    head = {"program": program_digest(), "covers_bytes": kept.covers_bytes, "digest": kept.digest,
            "lines": kept.lines, "problems": [kept.problems.told, kept.problems.count],
            "words": {name: column.values for name, column in runs.words.items()},
            "traits": [traits_write(traits) for traits in runs.traits.values]}
    known = [place for place in range(len(METRICS)) if not np.isnan(runs.metrics[:, place]).all()]
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent) as fresh:
        with open(f"{fresh}/columns", "wb") as file:
            np.savez(file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
                     metrics=runs.metrics[:, known], known=np.array(known, dtype=np.int64),
                     censored=np.packbits(runs.censored[:, known]), traits=runs.traits.codes,
                     **{f"word_{name}": column.codes for name, column in runs.words.items()},
                     **{f"place_{name}": column for name, column in runs.places.items()})
        os.replace(file.name, path)
        folder_trim(path.parent)


def kept_read(records: Path) -> Kept | None:
    """What was kept by this program; None where there is nothing, or what a disk has spoilt."""
    path = kept_file(records)
    if path is None:
        return None
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            head = json.loads(arrays["head"].tobytes())
            kept = kept_unpack(head, arrays) if head["program"] == program_digest() else None
        os.utime(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    return kept


def kept_unpack(head: dict, arrays: np.lib.npyio.NpzFile) -> Kept:
    """The parts of a file of columns."""
    metrics = np.full((len(arrays["traits"]), len(METRICS)), np.nan)
    metrics[:, arrays["known"]] = arrays["metrics"]
    censored = np.zeros(metrics.shape, dtype=bool)
    kept = arrays["metrics"]
    censored[:, arrays["known"]] = np.unpackbits(arrays["censored"],
                                                 count=kept.size).reshape(kept.shape)
    runs = Runs({name: Coded(arrays[f"word_{name}"], tuple(head["words"][name])) for name in WORDS},
                {name: arrays[f"place_{name}"] for name in PLACES},
                Coded(arrays["traits"], tuple(map(traits_read, head["traits"]))), metrics, censored)
    told, count = head["problems"]
    return Kept(runs, head["covers_bytes"], head["digest"], head["lines"], Problems(told, count))
