# SPDX-License-Identifier: MIT
"""Loads and checks a result on disk (docs/record.md, "Files of a result"). Damaged parts are left
out with a note, and the rest is shown: no figure of a cell with a damaged line is used. A folder
without a plan or a scenario is no result."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.errors import Failure, UncorkError, UsageError
from suite.base.units import counted_text
from suite.observe.load import records_read, runs_load
from suite.observe.runs import PROBLEMS_SHOWN, Runs, RunsBuilder
from suite.result import files
from suite.result.checks import Damaged
from suite.result.machine import Machine
from suite.result.plan import Plan
from suite.result.record import Record
from suite.scenario.scenario import Scenario, scenario_load


@dataclass(frozen=True)
class Result:
    """A loaded result. notes: for the reader, one line each. damaged_cells: cells with a damaged
    line, whose runs count as failed. damage_unknown: a damaged line whose cell is not certain; no
    check passes then, because any cell may lack a run. Empty without one."""

    folder: Path
    scenario: Scenario
    plan: Plan
    machines: Mapping[str, Machine]
    runs: Runs
    notes: tuple[str, ...]
    damaged_cells: frozenset[str] = frozenset()
    damage_unknown: str = ""

    @property
    def name(self) -> str:
        return files.path_shown(self.folder.resolve().name)

    @property
    def damage_text(self) -> str:
        """What follows from damaged lines; empty without any."""
        cells = counted_text(len(self.damaged_cells), "cell")
        follows = [f"no figure of {cells} is used"] if self.damaged_cells else []
        follows += ["no check of this result passes"] if self.damage_unknown else []
        return f"records.jsonl is damaged: {', and '.join(follows)}" if follows else ""

    def records(self, rows: Iterable[int]) -> Iterator[Record]:
        return records_read(self.folder / files.RECORDS, self.runs, rows)


def missing_error(path: Path) -> UsageError:
    if (path.parent / files.CLAIMS).exists():
        return UsageError(f"{path.parent} has results of claims: name one, {path.parent}/ID")
    return UsageError(f"{path}: no such file, so {path.parent} is no result "
                      "(a result has scenario.toml, plan.json, hosts.json, records.jsonl)")


def machines_known(folder: Path, notes: list[str]) -> dict[str, Machine]:
    """The machines by host id; none, with a note, if hosts.json is missing or damaged."""
    try:
        machines = files.machines_read(folder)
        return {host: Machine((host,), facts) for host, facts in machines.items()}
    except FileNotFoundError:
        notes.append("hosts.json is missing: nothing is known of the machine")
    except OSError as error:
        notes.append(f"hosts.json: {error.strerror}: nothing is known of the machine")
    except Damaged as damage:
        notes.append(f"hosts.json is damaged ({damage}): nothing is known of the machine")
    return {}


def runs_select(runs: Runs, cells: Collection[str], notes: list[str]) -> Runs:
    """The records of the plan's cells, the first of each (cell, label, round); notes on others."""
    planned = runs.frame["cell"].isin(cells).to_numpy()
    strange = int((~planned).sum())
    runs = runs.take(planned) if strange else runs
    keys = runs.frame[["cell", "label", "round", "session"]]
    # each session has a round 0
    repeated = keys.assign(session=keys["session"].where(keys["round"] == 0, "")).duplicated()
    texts = [f"{cell}, run {label} of round {number}, is there twice: the first was kept"
             for cell, label, number, _ in keys[repeated].itertuples(index=False)]
    notes += texts[:PROBLEMS_SHOWN]
    if len(texts) > PROBLEMS_SHOWN:
        notes.append(
            f"{len(texts) - PROBLEMS_SHOWN} more records are there twice: the first was kept")
    if strange:
        notes.append(f"{strange} records of cells that are not in plan.json were left out")
    return runs.take(~repeated.to_numpy()) if texts else runs


def runs_refuse(runs: Runs, reasons: Mapping[str, str]) -> Runs:
    """The runs of these cells count as failed, for the reason of their cell."""
    why = runs.frame["cell"].map(reasons)
    return replace(runs, frame=runs.frame.assign(
        status=runs.frame["status"].where(why.isna(), "failed"),
        reason=runs.frame["reason"].where(why.isna(), why))) if reasons else runs


def result_load(folder: Path) -> Result:
    """Loads a result by its path, or by its name in results/. UsageError: no such folder or file,
    no record yet, a newer plan. Failure: a damaged plan, no whole record."""
    folder = files.result_find(folder)
    notes: list[str] = []
    plan = files.plan_read(folder)
    if plan is None:
        raise missing_error(folder / files.PLAN)
    machines, path = machines_known(folder, notes), folder / files.RECORDS
    try:
        runs, builder, torn = runs_load(path)
    except FileNotFoundError:
        raise missing_error(path) from None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    cells = frozenset(cell.name for cell in plan.cells)
    notes += builder.notes(cells)
    selected = runs_select(runs, cells, notes)
    notes += torn
    if not len(selected):
        raise nothing_error(path, runs, builder, bool(torn))
    reasons = {line.cell: line.text for line in reversed(builder.problems) if line.cell in cells}
    unknown = [line.text for line in builder.problems if line.cell not in cells]
    return Result(folder, scenario_load(folder / files.SCENARIO), plan, machines,
                  runs_refuse(selected, reasons), tuple(notes), frozenset(reasons),
                  unknown[0] if unknown else "")


def nothing_error(path: Path, runs: Runs, builder: RunsBuilder, torn: bool) -> UncorkError:
    """Why a file has no record to show."""
    if len(runs):
        return Failure(f"{path}: all {len(runs)} records are of cells that are not in plan.json")
    if builder.damaged:
        more = f", nor is any of {builder.damaged - 1} others" if builder.damaged > 1 else ""
        return Failure(f"{path.parent / builder.problems[0].text}{more}")
    why = ", its only line is torn" if torn else ""
    return UsageError(f"{path}: no record yet, nothing was measured{why}")
