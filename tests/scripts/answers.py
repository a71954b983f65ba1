# SPDX-License-Identifier: MIT
"""What the tests of the answers share: invented results, the command line, golden files.

`UNCORK_GOLDEN=write` writes every golden file again instead of comparing with it; read the diff.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = HERE / "data"
GOLDEN = HERE / "golden"
for folder in (ROOT / "scripts", DATA):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import result_make  # noqa: E402, F401  (for the tests, which cannot find it themselves)

from suite import stats  # noqa: E402
from suite.contrast.contrast import Contrast, Status, Verdict  # noqa: E402
from suite.contrast.verdicts import Family, Judged  # noqa: E402
from suite.observe.frame import NO_SERIES, Matrix, matrix_build  # noqa: E402
from suite.observe.results import result_load  # noqa: E402
from suite.observe.runs import Runs, RunsBuilder  # noqa: E402
from suite.observe.traits import remarks_of  # noqa: E402
from suite.result.record import Record  # noqa: E402
from within import uncork_call  # noqa: E402

NODELAY = DATA / "nodelay"
NO_CONTRAST = Contrast(NO_SERIES, NO_SERIES, Status.ABSENT)


def matrix_of(folder: Path) -> Matrix:
    """The frames of a result."""
    return matrix_build(result_load(folder))


def changed(source: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of a result within folder, each record of which went through change()."""
    copy = Path(shutil.copytree(source, folder / source.name))
    records = [json.loads(line) for line in (source / "records.jsonl").read_text().splitlines()]
    for record in records:
        change(record)
    (copy / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return copy


def emulated(matrix: Matrix) -> Matrix:
    """The same result as if its machine had been emulated."""
    machines = {host: replace(machine, facts={**machine.facts, "virtualisation": "tcg"})
                for host, machine in matrix.result.machines.items()}
    return matrix_build(replace(matrix.result, machines=machines))


def reframed(matrix: Matrix, **columns: Any) -> Matrix:
    """The same result with other columns of records."""
    runs = matrix.result.runs
    return matrix_build(replace(matrix.result, runs=replace(
        runs, frame=runs.frame.assign(**columns))))


def runs_of(*records: dict[str, Any]) -> Runs:
    """The columns of good runs of one cell, of which only their ends are told."""
    builder = RunsBuilder()
    for number, record in enumerate(records, start=1):
        builder.add_record(Record({"status": "ok"} | record |
                                  {"run": {"cell": "", "label": "A", "round": number}}))
    return builder.build()


def remarks(*records: dict[str, Any]) -> tuple[str, ...]:
    """The notes on these good runs of a cell."""
    runs = runs_of(*records)
    return remarks_of(runs.frame, runs.traits_counts(runs.frame.index.to_numpy()))


def judged_as(verdict: Verdict, ratio: stats.Estimate | None = None,
              contrast: Contrast = NO_CONTRAST) -> Judged:
    """A contrast with this verdict and ratio, whatever its values are."""
    judged = Judged(contrast, Family({}))
    vars(judged).update(verdict=verdict, estimate=ratio)  # in place of what would be computed
    return judged


def uncork(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `uncork ARGUMENTS` says in a terminal of 100 columns, within this process."""
    return uncork_call(arguments, {"COLUMNS": "100"} | environment)


def refused(*arguments: str | Path, status: int = 2, **environment: str) -> str:
    """Runs what must be refused and gives its one line on standard error."""
    done = uncork(*arguments, **environment)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("uncork: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("uncork: ").strip()


def page_body(page: str) -> str:
    """The body of a page without its script: style and script are files that stand as they are."""
    return page.partition("<body>")[2].partition("<script>")[0]


JSON_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def golden_check(name: str, text: str) -> None:
    """Compares text, byte for byte, with tests/scripts/golden/NAME. In JSON 12 digits of a number
    must be the same: the last ones of a ratio differ between versions of numpy, by its logarithm.
    """
    path = GOLDEN / name
    if os.environ.get("UNCORK_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert path.exists(), f"{path} is missing: UNCORK_GOLDEN=write makes it"
    golden = path.read_bytes().decode()
    if name.endswith(".json"):
        found = [float(number) for number in JSON_NUMBER.findall(text)]
        stored = [float(number) for number in JSON_NUMBER.findall(golden)]
        assert found == pytest.approx(stored, rel=1e-12, abs=0), f"differs from {path}"
        text, golden = JSON_NUMBER.sub("#", text), JSON_NUMBER.sub("#", golden)
    assert text == golden, "\n".join(
        difflib.unified_diff(golden.splitlines(), text.splitlines(), str(path), "now", lineterm=""))
