# SPDX-License-Identifier: MIT
"""Loads and checks a result on disk (docs/record.md, "Files of a result"). Damaged parts are left
out with a note, and the rest is shown: no figure of a cell with a damaged line is used. A folder
without a plan or a scenario is no result."""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.errors import Failure, UsageError
from suite.base.units import counted_text
from suite.observe.load import runs_load
from suite.observe.runs import Runs
from suite.result import files
from suite.result.checks import Damaged
from suite.result.machine import Machine
from suite.result.plan import Plan
from suite.result.record import Record
from suite.scenario.scenario import Scenario, scenario_load

NOTES_SHOWN = 5  # of one kind; the others are counted

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
        """The whole records of these rows, one at a time; Failure if the file changed meanwhile."""
        path = self.folder / files.RECORDS
        places = self.runs.frame.loc[list(rows), ["offset", "size_bytes", "cell", "label", "round"]]
        with open(path, "rb") as file:
            for offset, size_bytes, *planned in places.itertuples(index=False, name=None):
                file.seek(offset)
                with contextlib.suppress(Damaged):
                    record = Record(files.record_parse(file.read(size_bytes)))
                    if [record.cell, record.label, record.round] == planned:
                        yield record
                        continue
                raise Failure(f"{path}: changed while it was read: run the command again")


def machines_known(folder: Path, notes: list[str]) -> dict[str, Machine]:
    """The machines by host id; none, with a note, if hosts.json is missing or damaged."""
    try:
        machines = files.machines_read(folder)
    except (OSError, Damaged) as error:
        why = error.strerror if isinstance(error, OSError) else f"damaged: {error}"
        notes.append(f"hosts.json: {why}: nothing is known of the machine")
        return {}
    return {host: Machine((host,), facts) for host, facts in machines.items()}


def notes_shown(notes: Sequence[str], others: str) -> list[str]:
    """The first of these notes. others: what is said of the number of those left out."""
    more = len(notes) - NOTES_SHOWN
    return [*notes[:NOTES_SHOWN], *([f"{more} more {others}"] if more > 0 else [])]


def runs_select(runs: Runs, cells: Collection[str], notes: list[str]) -> Runs:
    """The records of the plan's cells, the first of each (cell, label, round); notes on others."""
    keys = runs.frame[["cell", "label", "round", "session"]]
    planned = keys["cell"].isin(cells)
    # each session has a round 0
    repeated = planned & keys.assign(
        session=keys["session"].where(keys["round"] == 0, "")).duplicated()
    notes += notes_shown([
        f"{cell}, run {label} of round {number}, is there twice: the first was kept"
        for cell, label, number, _ in keys[repeated].itertuples(index=False)],
        "records are there twice: the first was kept")
    if not planned.all():
        notes.append(f"{sum(~planned)} records of cells that are not in plan.json were left out")
    kept = (planned & ~repeated).to_numpy()
    return runs if kept.all() else runs.take(kept)


def runs_refuse(runs: Runs, reasons: Mapping[str, str]) -> Runs:
    """The runs of these cells count as failed, for the reason of their cell."""
    why = runs.frame["cell"].map(reasons)
    return replace(runs, frame=runs.frame.assign(
        status=runs.frame["status"].mask(why.notna(), "failed"),
        reason=why.fillna(runs.frame["reason"])))


def result_load(folder: Path) -> Result:
    """Loads a result by its path, or by its name in results/. UsageError: no such folder or file,
    no record yet, a newer plan. Failure: a damaged plan, no whole record."""
    folder = files.result_find(folder)
    plan, path, notes = files.plan_read(folder), folder / files.RECORDS, list[str]()
    if plan is None and (folder / files.CLAIMS).exists():
        raise UsageError(f"{folder} has results of claims: name one, {folder}/ID")
    if plan is None or not path.exists():
        missing = folder / files.PLAN if plan is None else path
        raise UsageError(f"{missing}: no such file, so {folder} is no result "
                         "(a result has scenario.toml, plan.json, hosts.json, records.jsonl)")
    try:
        runs, builder, torn = runs_load(path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    cells = frozenset(cell.name for cell in plan.cells)
    damaged = builder.damaged.items()
    refused = {cell: text for text, cell in reversed(damaged) if cell in cells}
    unknown = [text for text, cell in damaged if cell not in cells]
    notes += notes_shown([
        f"{text}; " + (f"no figure of {cell} is used" if cell in cells else
                       "the line was left out, and no check of this result passes")
        for text, cell in damaged], "lines of records.jsonl are damaged and were left out")
    selected = runs_select(runs, cells, notes)
    if not len(selected) and notes:
        raise Failure(f"{path}: no record can be used: {notes[0]}")
    if not len(selected):
        raise UsageError("; ".join([f"{path}: no record yet, nothing was measured", *torn]))
    notes += torn
    return Result(folder, scenario_load(folder / files.SCENARIO), plan,
                  machines_known(folder, notes),
                  runs_refuse(selected, refused) if refused else selected, tuple(notes),
                  frozenset(refused), unknown[0] if unknown else "")
