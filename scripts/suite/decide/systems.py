# SPDX-License-Identifier: MIT
"""Verdicts on published claims by system, as plain data for JSON. Each system has its machine, and
by name its claims with their rows. Read from folders of results, or from the JSON of a report.

A folder of `claims run` has a result for each claim, and `claims.json`: by claim why it could not
run, or an empty text. A claim that could not run has a scenario, but no result.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from suite.base.errors import Failure, UsageError
from suite.decide.claims import Decision
from suite.decide.replays import CANNOT_RUN, Replay, replay_load, replays_decide
from suite.observe.frame import matrix_load
from suite.result.files import ARCHIVE_SUFFIX, CLAIMS, PLAN, SCENARIO, path_shown, result_find
from suite.scenario.scenario import Scenario

SCHEMA = 2  # of a report
ROUNDING = 1e-9  # by which versions of a library may differ
System = Mapping[str, Any]
Row = Mapping[str, Any]


class Ran(NamedTuple):
    """A row, with its system and its claim, which has this name."""

    system: System
    name: str
    claim: Mapping[str, Any]
    row: Row


def rows_of(systems: Iterable[System]) -> list[Ran]:
    """Every row of these systems."""
    return [Ran(system, name, claim, row) for system in systems
            for name, claim in system["claims"].items() for row in claim["rows"]]


def claim_head(scenario: Scenario) -> dict[str, Any]:
    """The question, origin and disputes of a claim, as data."""
    origin = {key: text for key, text in vars(scenario.origin).items() if text}
    return {"question": scenario.question, "origin": origin, "disputes": list(scenario.disputes)}


def row_of(replay: Replay) -> dict[str, Any]:
    """A claim and its verdict, as data that JSON keeps unchanged. Of a decision at a place only
    what is not the default."""
    places = [{"place": place, "verdict": verdict} | {
        field.name: value for field in fields(Decision)
        if (value := getattr(decision, field.name)) != field.default}
        for place, verdict, decision in replay.places]
    return dict(json.loads(json.dumps(vars(replay.claim) | {
        "verdict": replay.verdict, "places": places, "explained": replay.explained})))


def decision_of(place: Mapping[str, Any]) -> Decision:
    """The decision at a place of a row."""
    return Decision(**{key: value for key, value in place.items()
                       if key not in ("place", "verdict")})


def verdicts_of(systems: Iterable[System]) -> list[str]:
    return [one.row["verdict"] for one in rows_of(systems)]


def index_read(folder: Path) -> dict[str, str]:
    """By claim why it could not run, or an empty text; Failure if the index is damaged."""
    try:
        return dict(json.loads((folder / CLAIMS).read_text()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Failure(f"{folder / CLAIMS}: damaged: {error}") from None


def system_add(systems: dict[str, dict[str, Any]], name: str, scenario: Scenario,
               replay: Replay) -> None:
    """Adds a row to its system. name: of its results."""
    system = systems.setdefault(json.dumps(replay.system, sort_keys=True), {
        "name": name, "machine": dict(replay.system), "claims": {}})
    system["claims"].setdefault(scenario.name, claim_head(scenario) | {
        "programs": replay.programs, "rows": []})["rows"].append(row_of(replay))


def report_read(path: Path) -> list[dict[str, Any]]:
    """The systems of a `claims report --json` file. A report of several keeps the names of their
    results."""
    try:
        report = json.loads(path.read_text())
        if report["schema"] != SCHEMA:
            raise ValueError("another schema")
        systems = list(report["systems"])
        return [systems[0] | {"name": path.stem}] if len(systems) == 1 else systems
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not the output of uncork claims report --json of this "
                         "version") from None


def systems_read(source: Path) -> list[dict[str, Any]]:
    """The systems of a folder of results, of one result, or of a `claims report --json` file."""
    if source.is_file() and not source.name.endswith(ARCHIVE_SUFFIX):
        return report_read(source)
    folder = result_find(source)
    name = path_shown(folder.resolve().name)
    systems: dict[str, dict[str, Any]] = {}
    index, single = index_read(folder), (folder / PLAN).exists()
    if not index and not single:
        raise UsageError(f"{folder}: neither a result nor a folder of uncork claims run")
    places = [folder] if single else [folder / name for name in index]
    ran = [place for place in places if (place / PLAN).exists()]
    for place in ran:
        matrix = matrix_load(place)
        if matrix.result.scenario.origin is None:
            raise UsageError(f"{place}: no published claim: its scenario has no [origin]")
        for replay in replays_decide(matrix):
            system_add(systems, name, matrix.result.scenario, replay)
    machines = [system["machine"] for system in systems.values()] or [{}]
    for place in places:
        if place not in ran:
            scenario = replay_load(place / SCENARIO)
            why = Decision(reasons=(index[place.name],))
            for claim, machine in product(scenario.claims, machines):
                system_add(systems, name, scenario, Replay(
                    claim, CANNOT_RUN, (("", CANNOT_RUN, why),), machine))
    return list(systems.values())


def figures_equal(one: Any, other: Any) -> bool:
    """Whether two values of a report are equal. Numbers are compared up to ROUNDING, also those
    within mappings and lists."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            figures_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(figures_equal, one, other))
    return bool(one == other)


def rows_compared(systems: Sequence[System]) -> dict[tuple[str, int, str, str], Row]:
    """Every row with what its claim says, by machine, number of its run, claim and comparison."""
    rows: dict[tuple[str, int, str, str], Row] = {}
    machines = [json.dumps(system["machine"], sort_keys=True) for system in systems]
    for number, (machine, system) in enumerate(zip(machines, systems, strict=True)):
        run = machines[:number].count(machine)
        for _, name, claim, row in rows_of([system]):
            head = {key: value for key, value in claim.items() if key != "rows"}
            rows[machine, run, name, row["that"]] = {**row, **head}
    return rows


def difference_text(reported: Row | None, found: Row | None) -> str:
    if found is None or reported is None:
        return "not in the results" if found is None else "not in the report"
    return "; ".join(f"{key} is {found.get(key)!r} and not {reported.get(key)!r}"
                     for key in sorted({*reported, *found})
                     if not figures_equal(reported.get(key), found.get(key)))


def systems_differences(reported: Sequence[System], found: Sequence[System]) -> list[str]:
    """The differences between a report and the verdicts found in its results, a line each. Several
    runs of one machine are compared in their order."""
    told, here = rows_compared(reported), rows_compared(found)
    pairs = {key: (told.get(key), here.get(key)) for key in told | here}
    return [f"{name}: {that}: {difference_text(*pair)}"
            for (*_, name, that), pair in pairs.items() if not figures_equal(*pair)]
