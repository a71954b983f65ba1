# SPDX-License-Identifier: MIT
"""A result on disk (docs/record.md, "Files of a result"): loaded and checked here only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.errors import Failure, UsageError
from suite.scenario import Scenario, scenario_load

SCHEMA = 1
STATUSES = ("ok", "unsupported", "failed")


@dataclass(frozen=True)
class Result:
    """One folder of results; notes are remarks for the reader, one line each."""

    folder: Path
    scenario: Scenario
    plan: dict[str, Any]
    hosts: dict[str, Any]
    records: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the run: its folder's."""
        return self.folder.resolve().name


def file_read(path: Path) -> bytes:
    """The bytes of one file of a result; UsageError if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file, so {path.parent} is no result "
                         "(a result has scenario.toml, plan.json, hosts.json, records.jsonl)"
                         ) from None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None


def object_read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; Failure if it is damaged."""
    try:
        value = json.loads(file_read(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Failure(f"{path}: not a JSON object")
    return value


def schema_check(value: dict[str, Any], where: str) -> None:
    """Refuses what a newer uncork wrote."""
    schema = value.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise UsageError(f"{where}: schema {schema} is of a newer uncork; "
                         f"this one understands schema {SCHEMA}")


def record_check(record: Any, where: str) -> dict[str, Any]:
    """The record if it has what the runner writes into each one; else Failure."""
    if not isinstance(record, dict):
        raise Failure(f"{where}: not a JSON object")
    schema_check(record, where)
    if record.get("status") not in STATUSES:
        raise Failure(f'{where}: status {record.get("status")!r} is none of {", ".join(STATUSES)}')
    run = record.get("run")
    if not isinstance(run, dict) or not {"cell", "label", "round"} <= run.keys():
        raise Failure(f'{where}: no "run" with cell, label and round: not written by the runner')
    return record


def records_parse(data: bytes, path: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    """The records in a file; a last line that is torn is left out and noted."""
    lines = data.split(b"\n")
    torn = lines.pop() if not data.endswith(b"\n") else b""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise Failure(f"{where}: not JSON: {error}") from None
        yield record_check(record, where)
    if torn.strip():
        notes.append(f"{path.name}: the last line is torn and was left out "
                     "(the runner was stopped while it wrote)")


def records_select(records: Iterator[dict[str, Any]], cells: set[str],
                   notes: list[str]) -> Iterator[dict[str, Any]]:
    """The records of the plan's cells, the first of each (cell, label, round); notes the rest.

    Every session has a round 0 of its own.
    """
    seen: set[tuple[str, str, int, str]] = set()
    strange = 0
    for record in records:
        run = record["run"]
        session = run.get("session", "") if run["round"] == 0 else ""
        key = (run["cell"], run["label"], run["round"], session)
        if run["cell"] not in cells:
            strange += 1
        elif key in seen:
            notes.append(f"{key[0]}, run {key[1]} of round {key[2]}, is there twice: "
                         "the first was kept")
        else:
            seen.add(key)
            yield record
    if strange:
        notes.append(f"{strange} records of cells that are not in plan.json were left out")


def plan_check(plan: dict[str, Any], path: Path) -> None:
    """Refuses a plan without what everything else relies on."""
    schema_check(plan, str(path))
    cells = plan.get("cells")
    whole = isinstance(cells, list) and isinstance(plan.get("axes"), list) and all(
        isinstance(cell, dict) and {"cell", "words"} <= cell.keys() for cell in cells)
    if not whole:
        raise Failure(f'{path}: no "axes" or "cells" with cell and words')


def result_load(folder: Path) -> Result:
    """Loads a result.

    UsageError: no such folder or file, nothing measured yet, a newer schema. Failure: damage.
    """
    if not folder.is_dir():
        what = "is a file, not the folder of a result" if folder.exists() else "no such folder"
        raise UsageError(f"{folder}: {what}")
    plan = object_read(folder / "plan.json")
    plan_check(plan, folder / "plan.json")
    hosts = object_read(folder / "hosts.json")
    path = folder / "records.jsonl"
    data = file_read(path)
    notes: list[str] = []
    names = {cell["cell"] for cell in plan["cells"]}
    records = tuple(records_select(records_parse(data, path, notes), names, notes))
    if not records:
        raise UsageError(f"{path}: no record yet, nothing was measured")
    scenario = scenario_load(folder / "scenario.toml")
    return Result(folder, scenario, plan, hosts, records, tuple(notes))
