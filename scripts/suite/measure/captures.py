# SPDX-License-Identifier: MIT
"""The packets of runs with capture=on: which the runner keeps, and where.

The record of every such run has sums of its segments. The packets are kept of the first counted run
of each cell only: every other round has the same segments, or its record shows the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suite.base.runner_words import LOCAL, target_of
from suite.measure.schedule import Run
from suite.scenario.scenario import LABEL

CAPTURES = "captures"
KEPT_ROUND = 1


def capture_file(run: Run, cells: Sequence[str]) -> str | None:
    """The file of a run's packets within its result, named by the number of its cell in the plan.
    cells: the names of all cells of the plan. None where packets are not kept. A client on another
    machine keeps none."""
    words = run.cell.words
    is_kept = (target_of(words).startswith(LOCAL) and words.get("capture") == "on"
               and run.round == KEPT_ROUND and run.label == LABEL)
    return f"{CAPTURES}/cell-{cells.index(run.cell.name) + 1:03}.pcap" if is_kept else None


def capture_options(folder: Path, file: str | None) -> tuple[str, ...]:
    """The client's options for writing a file of capture_file(), whose folder is made; none for
    None. folder: of the result."""
    if file is None:
        return ()
    (folder / CAPTURES).mkdir(exist_ok=True)
    return "--pcap", str((folder / file).absolute())


def capture_rename(record: dict[str, Any], file: str | None) -> None:
    """Replaces the path in a record, in place, by the path within the result, which may be
    moved."""
    capture = record.get("client", {}).get("capture", {})
    if "file" in capture:
        capture["file"] = file
