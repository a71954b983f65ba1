# SPDX-License-Identifier: MIT
"""records.jsonl -> columns, by what was kept of them as far as that goes; and single records
again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path

import numpy as np

from suite.analyse.cache import LEAST_BYTES, Kept, kept_read, kept_write
from suite.analyse.runs import Builder, Problems, Runs, record_parse
from suite.base.errors import Failure
from suite.result.checks import Damaged
from suite.result.files import CHUNK_BYTES, Lines, digest_new, digest_read
from suite.result.record import Record

TORN = "records.jsonl: the last line is torn and was left out (the runner was stopped while it wrote)"


def begin(file: BufferedReader, kept: Kept | None, builder: Builder) -> Lines:
    """The lines that are still to be parsed: those behind what was kept, if the file still begins
    with that."""
    if kept is not None:
        digest = digest_read(file, kept.covers_bytes)
        if file.tell() == kept.covers_bytes and digest.hexdigest() == kept.digest:
            builder.restart(kept.runs, kept.lines, kept.problems)
            return Lines(file, digest, kept.covers_bytes)
        file.seek(0)
    return Lines(file, digest_new(), 0)


def runs_load(path: Path, least_bytes: int = LEAST_BYTES) -> tuple[Runs, Problems, list[str]]:
    """Every whole record of a file, the lines that are none, and notes for the reader.

    Columns are kept when at least so many bytes had to be parsed. OSError as open(2).
    """
    builder, parsed_from = Builder(), 0
    with open(path, "rb", buffering=CHUNK_BYTES) as file:
        lines = begin(file, kept_read(path), builder)
        parsed_from = lines.done_bytes
        for line in lines:
            builder.line(line)
    runs = builder.runs()
    if lines.done_bytes - parsed_from >= least_bytes:
        kept_write(path, Kept(runs, lines.done_bytes, lines.digest.hexdigest(), builder.lines,
                              builder.problems))
    return runs, builder.problems, [TORN] if lines.torn else []


def records_read(path: Path, runs: Runs, rows: Iterable[int]) -> Iterator[Record]:
    """The whole records of these rows, one at a time; Failure if the file was changed since its
    columns were made."""
    cells, labels = runs.words["cell"], runs.words["label"]
    with open(path, "rb") as file:
        for row in rows:
            file.seek(int(runs.places["offset"][row]))
            expected = cells.values[cells.codes[row]], labels.values[labels.codes[row]], int(
                runs.places["round"][row])
            with contextlib.suppress(Damaged):
                record = record_parse(file.read(int(runs.places["size_bytes"][row])))
                if (record.cell, record.label, record.round) == expected:
                    yield record
                    continue
            raise Failure(f"{path}: was changed while it was read: ask again")


def rows_sorted(runs: Runs, rows: np.ndarray) -> np.ndarray:
    """These rows by round and label."""
    labels = runs.words["label"].expanded()[rows].astype(str)
    return rows[np.lexsort([labels, runs.places["round"][rows]])]
