# SPDX-License-Identifier: MIT
"""Verdicts on published claims by system, as plain data for JSON. Each system has its machine, and
by name its claims with their rows. Read from folders of results, or from the JSON of a report.

A folder of `claims run` has a result for each claim, and `claims.json`: by claim why it could not
run, or an empty text. A claim that could not run has a scenario, but no result.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from suite.base.errors import Failure, UsageError
from suite.decide.claims import Decision
from suite.decide.replays import CANNOT_RUN, Replay, replay_load, replays_decide
from suite.observe.frame import matrix_load
from suite.result.files import ARCHIVE_SUFFIX, CLAIMS, PLAN, SCENARIO, path_shown, result_find
from suite.scenario.scenario import Scenario

SCHEMA = 2  # of a report
ROUNDING = 1e-9  # by which versions of a library may differ
System = Mapping[str, Any]


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


def verdicts_of(systems: Sequence[System]) -> list[str]:
    return [row["verdict"] for system in systems for claim in system["claims"].values()
            for row in claim["rows"]]


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


def systems_read(source: Path) -> list[dict[str, Any]]:
    """The systems of a folder of results, of one result, or of a `claims report --json` file."""
    if source.is_file() and not source.name.endswith(ARCHIVE_SUFFIX):
        try:
            report = json.loads(source.read_text())
            reported = report["systems"] if report["schema"] == SCHEMA else report[""]
            # a report of several keeps the names of their results
            return [system | ({"name": source.stem} if len(reported) == 1 else {})
                    for system in reported]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{source}: not the output of uncork claims report --json of this "
                             "version") from None
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
            for claim, machine in product(scenario.claims, machines):
                why = Decision(reasons=(index[place.name],))
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


def systems_differences(reported: Sequence[System], found: Sequence[System]) -> list[str]:
    """The differences between a report and the verdicts found in its results, a line each. Several
    runs of one machine are compared in their order."""
    def rows_of(systems: Sequence[System]) -> dict[tuple[str, int, str, str], Mapping[str, Any]]:
        rows: dict[tuple[str, int, str, str], Mapping[str, Any]] = {}
        runs = Counter[str]()
        for system in systems:
            machine = json.dumps(system["machine"], sort_keys=True)
            runs[machine] += 1
            rows.update({(machine, runs[machine], name, row["that"]): {
                **row, **{key: value for key, value in claim.items() if key != "rows"}}
                for name, claim in system["claims"].items() for row in claim["rows"]})
        return rows

    def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        return "; ".join(f"{key} is {other.get(key)!r} and not {one.get(key)!r}"
                         for key in sorted({*one, *other})
                         if not figures_equal(one.get(key), other.get(key)))

    rows, found_rows = rows_of(reported), rows_of(found)
    return [f"{name}: {that}: " + ("not in the results" if key not in found_rows else
                                   "not in the report" if key not in rows else
                                   differing(rows[key], found_rows[key]))
            for key in {**rows, **found_rows}
            if not figures_equal(rows.get(key), found_rows.get(key))
            for *_, name, that in [key]]
