# SPDX-License-Identifier: MIT
"""The columns of a large records.jsonl, kept beside it in `.columns` so that they are made once.

Nothing stale is ever believed: the columns are those of the first bytes of records.jsonl, whose digest is taken anew
each time, by the very source of this program, which knows the formulas. Nor is anything foreign: a result may come
from a stranger, and whoever can write its folder could put other figures there than its records give. So the file
begins with a keyed digest of the rest, by a key that only this user has; without it nothing is looked at. What is
not believed is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from suite.analyse.metrics import METRICS
from suite.analyse.runs import PLACES, WORDS, Coded, Problems, Runs
from suite.analyse.traits import traits_read, traits_write

FILE = ".columns"
LEAST_BYTES = 8 << 20  # of new records, from which on columns are kept: it takes about half a second to make them
KEPT_BYTES_MOST = 1 << 30  # columns of some millions of records
KEY_BYTES = SEAL_BYTES = 32
SUITE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Kept:
    """Columns of the first covers_bytes of a file with that digest: its first lines, whole or problems."""

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


def key_folder() -> Path:
    """Where this user's caches are."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uncork"


def key_read() -> bytes | None:
    """This user's key, made when it is first needed; None where there can be none, or others could know it."""
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
        path = key_folder() / "key"
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            file_replace(path, secrets.token_bytes(KEY_BYTES), only_new=True)
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            private = found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            key = file.read(KEY_BYTES + 1)
        return key if private and len(key) == KEY_BYTES else None
    return None


def file_replace(path: Path, data: bytes, only_new: bool = False) -> None:
    """Puts a file there whole or not at all, for its owner only; FileExistsError where only_new and there is one."""
    descriptor, fresh = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if only_new:
            os.link(fresh, path)
        else:
            os.replace(fresh, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)


def seal(key: bytes, data: bytes | memoryview) -> bytes:
    """The keyed digest of a cache."""
    return hashlib.blake2b(data, key=key, digest_size=SEAL_BYTES).digest()


def kept_write(folder: Path, kept: Kept) -> None:
    """Keeps the columns; does nothing where the folder cannot be written, which costs time and nothing else."""
    key = key_read()
    if key is None:
        return
    runs = kept.runs
    head = {"program": program_digest(), "covers_bytes": kept.covers_bytes, "digest": kept.digest,
            "lines": kept.lines, "problems": [kept.problems.told, kept.problems.count],
            "words": {name: column.values for name, column in runs.words.items()},
            "traits": [traits_write(traits) for traits in runs.traits.values]}
    known = [place for place in range(len(METRICS)) if not np.isnan(runs.metrics[:, place]).all()]
    out = io.BytesIO()
    np.savez(out, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
             metrics=runs.metrics[:, known], known=np.array(known, dtype=np.int64),
             censored=np.packbits(runs.censored[:, known]), traits=runs.traits.codes,
             **{f"word_{name}": column.codes for name, column in runs.words.items()},
             **{f"place_{name}": column for name, column in runs.places.items()})
    data = out.getvalue()
    with contextlib.suppress(OSError):
        file_replace(folder / FILE, seal(key, data) + data)


def file_read(path: Path) -> bytes:
    """The bytes of a file; none of what else a stranger may have put there: a pipe, a link, an endless file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= KEPT_BYTES_MOST else b""


def kept_read(folder: Path) -> Kept | None:
    """What was kept by this user and this program; None where there is nothing of the kind."""
    try:
        data = file_read(folder / FILE)
    except OSError:
        return None
    key = key_read()
    sealed = memoryview(data)[SEAL_BYTES:]
    if key is None or not hmac.compare_digest(seal(key, sealed), data[:SEAL_BYTES]):
        return None
    with np.load(io.BytesIO(sealed), allow_pickle=False) as arrays:
        head = json.loads(arrays["head"].tobytes())
        if head["program"] != program_digest():
            return None
        return kept_unpack(head, arrays)


def kept_unpack(head: dict, arrays: np.lib.npyio.NpzFile) -> Kept:
    """The parts of a cache that has been found to be ours."""
    metrics = np.full((len(arrays["traits"]), len(METRICS)), np.nan)
    metrics[:, arrays["known"]] = arrays["metrics"]
    censored = np.zeros(metrics.shape, dtype=bool)
    kept = arrays["metrics"]
    censored[:, arrays["known"]] = np.unpackbits(arrays["censored"], count=kept.size).reshape(kept.shape)
    runs = Runs({name: Coded(arrays[f"word_{name}"], tuple(head["words"][name])) for name in WORDS},
                {name: arrays[f"place_{name}"] for name in PLACES},
                Coded(arrays["traits"], tuple(map(traits_read, head["traits"]))), metrics, censored)
    told, count = head["problems"]
    return Kept(runs, head["covers_bytes"], head["digest"], head["lines"], Problems(told, count))
