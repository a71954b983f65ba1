# SPDX-License-Identifier: MIT
"""The packets of runs with capture=on: which the runner keeps, and where.

Every such run sums up its segments, and that stands in its record. The packets themselves are kept
of one run of each cell, the first counted one, for every round has the same segments or says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suite.base.runner_words import LOCAL, target_of
from suite.measure.schedule import Run
from suite.scenario.scenario import LABEL

FOLDER = "captures"
KEPT_ROUND = 1


def capture_file(run: Run, cells: Sequence[str]) -> str | None:
    """The file for a run's packets within its result, by the number of its cell in the plan; None
    if they are not kept, as those of a client on another machine."""
    if not target_of(run.cell.words).startswith(LOCAL):
        return None
    if run.cell.words.get("capture") != "on" or run.round != KEPT_ROUND or run.label != LABEL:
        return None
    return f"{FOLDER}/cell-{cells.index(run.cell.name) + 1:03}.pcap"


def capture_options(folder: Path, file: str | None) -> tuple[str, ...]:
    """The client's options that make it write the file, whose folder is made."""
    if file is None:
        return ()
    (folder / FOLDER).mkdir(exist_ok=True)
    return "--pcap", str((folder / file).absolute())


def capture_rename(record: dict[str, Any], file: str | None) -> None:
    """The file as it is called within the result, which may be moved."""
    capture = record.get("client", {}).get("capture", {})
    if "file" in capture:
        capture["file"] = file
