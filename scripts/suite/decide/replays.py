# SPDX-License-Identifier: MIT
"""Published claims, as scenarios with an origin, and the verdict of a result on each.

The outcome of claims.py becomes a verdict; that of a ratio depends on its side too. The published
figure may be of a whole program, which does not run here. Then a ratio or a direction is at best
"direction only"; a count or a stall can be the same. What only other programs did contradicts
nothing, and is "not seen here". If `place` is swept and not named, each place is decided
separately.

Verdicts are plain data, as JSON keeps it: systems, each with its machine and by name its claims,
each with a row for each comparison. A report of `claims report --json` has the same. A folder of
`claims run` has a result for each claim, and `claims.json`: by claim why it could not run, or an
empty text. A claim that could not run has a scenario, but no result.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from suite.base import grouped
from suite.base.errors import Failure, UsageError
from suite.base.words import words_split, words_text
from suite.decide import expressions
from suite.decide.claims import ClaimVerdict, Decision, claim_decide, claims_decide, near_of
from suite.decide.expressions import Operation, claim_parse, references_of, unit_of
from suite.observe.frame import Cell, Matrix, matrix_load
from suite.observe.machines import machines_of
from suite.observe.metrics import METRICS, Metric
from suite.result.files import ARCHIVE_SUFFIX, CLAIMS, PLAN, SCENARIO, path_shown, result_find
from suite.scenario.scenario import CLAIM_KINDS, Claim, Origin, Scenario, scenario_load

SCHEMA = 2  # of a report
ROUNDING = 1e-9  # by which versions of a library may differ
REPRODUCED, DIRECTION = "reproduced", "direction only"
NOT_SEEN, CONTRADICTED = "not seen here", "contradicted"
UNDECIDED, DEPENDS_ON_PLACE = "undecided", "depends on place"
CANNOT_RUN, CANNOT_DECIDE = "cannot run here", "cannot decide here"
VERDICTS = (REPRODUCED, DIRECTION, CONTRADICTED, NOT_SEEN, DEPENDS_ON_PLACE, UNDECIDED,
            CANNOT_DECIDE, CANNOT_RUN)
COUNT, DIRECTED, RATIO, STALL = CLAIM_KINDS
DECIDED = (REPRODUCED, DIRECTION, CONTRADICTED, NOT_SEEN, DEPENDS_ON_PLACE)
EXPLAINED = DECIDED[1:]  # verdicts that an explanation follows
SEEN = (REPRODUCED, DIRECTION, DEPENDS_ON_PLACE)
RESENT = 0.01  # this share of the segments that a subject's client received may be retransmissions
ON_THE_WIRE = ("segments", "captured_segments", "records")  # follow from calls by the protocol
RECEIVED = "segments_per_reply"  # of a subject they are counted where they arrive
System = Mapping[str, Any]
Row = Mapping[str, Any]
# the machine, what was replayed, programs_of() and a row
Found = tuple[Mapping[str, str], Scenario, str, Row]


class Ran(NamedTuple):
    """A row, with its system and its claim, which has this name."""

    system: System
    name: str
    claim: Mapping[str, Any]
    row: Row


def replay_load(path: Path) -> Scenario:
    """A scenario with published claims; UsageError without an origin, or for a wrong sign."""
    scenario = scenario_load(path)
    if scenario.origin is None or not scenario.claims:
        raise UsageError(f"{path}: a claim has an [origin] and a [[claim]]")
    for claim in scenario.claims:
        if wrong := kind_error(claim):
            raise UsageError(f'{path}: [claim] that "{claim.that}": {wrong}')
        if [one.that for one in scenario.claims].count(claim.that) > 1:
            raise UsageError(f'{path}: [claim] that "{claim.that}": two claims compare the same')
    return scenario


def kind_error(claim: Claim) -> str:
    """What is wrong with the comparison of a claim of this kind, or empty."""
    if not claim.kind:
        return f"it has no kind: {', '.join(CLAIM_KINDS)}"
    parsed = claim_parse(claim.that)
    named, unit = set(references_of(parsed.left)), unit_of(parsed.left)
    signs, left, fits = {
        COUNT: ("==", "metrics that count", all(METRICS[one.metric].whole for one in named)),
        DIRECTED: ("> or < or >= or <=", "anything", True),
        RATIO: (expressions.ABOUT, "a ratio of two figures",
                unit in ("1", expressions.UNKNOWN) and len(named) > 1),
        STALL: (">= with a number", "a time", unit == "s")}[claim.kind]
    compares = f'a claim of kind = "{claim.kind}" compares '
    if parsed.sign not in signs.split() or (claim.kind == STALL and parsed.limit is None):
        return f"{compares}by {signs}"
    return "" if fits else compares + left


def count_verdict(claim: Operation, decided: Decision) -> str:
    """The verdict on a count that was not the claimed number in every run. Retransmissions add to
    the segments that the client of a subject receives; uncork's own ends subtract them."""
    value = claim.limit or 0.0
    received = decided.foreign and all(one.metric == RECEIVED for one in references_of(claim.left))
    if received and value > 0 and len(decided.span) == 3:
        least, most = (end / value - 1 for end in decided.span[1:])
        if least >= 0 and most <= RESENT:
            return REPRODUCED
        return CONTRADICTED if most < 0 or least > RESENT else UNDECIDED
    return CONTRADICTED if decided.outcome == "not ok" else UNDECIDED


def ratio_verdict(decided: Decision, whole_program: bool) -> str:
    """The verdict on a claimed change that is not surely of the claimed size. whole_program: the
    published ratio is of a whole program, so its size is not judged."""
    outside = decided.outcome == "not ok"  # the whole interval is outside the claimed range
    if decided.side > 0 and (outside or whole_program):
        return DIRECTION
    return CONTRADICTED if decided.side < 0 and outside else UNDECIDED


def verdict_of(origin: Origin, decided: ClaimVerdict) -> str:
    """The verdict on a claim at one place."""
    kind, parsed = decided.claim.kind, claim_parse(decided.claim.that)
    whole_program = bool(origin.fidelity)
    if decided.unable:
        return CANNOT_RUN
    if decided.outcome == "ok":
        verdict = DIRECTION if whole_program and kind in (DIRECTED, RATIO) else REPRODUCED
    elif kind == RATIO and near_of(parsed.limit or 1.0) != 1:
        verdict = ratio_verdict(decided, whole_program)
    elif kind == COUNT:
        verdict = count_verdict(parsed, decided)
    else:
        verdict = CONTRADICTED if decided.outcome == "not ok" else UNDECIDED
    if origin.needs and verdict in (UNDECIDED, CONTRADICTED):
        return CANNOT_DECIDE
    by_protocol = kind == COUNT and all(one.metric.startswith(ON_THE_WIRE)
                                        for one in references_of(parsed))
    ran = decided.foreign and not whole_program  # the program of the origin
    return NOT_SEEN if verdict == CONTRADICTED and not (ran or by_protocol) else verdict


def verdicts_join(verdicts: Iterable[str]) -> str:
    """One verdict from those at several places; figures of several places are never pooled."""
    found = set(verdicts) - {CANNOT_RUN} or {CANNOT_RUN}
    if found & {CONTRADICTED, NOT_SEEN} and found & {REPRODUCED, DIRECTION}:
        return DEPENDS_ON_PLACE
    return next(one for one in (UNDECIDED, CANNOT_DECIDE, CANNOT_RUN, CONTRADICTED, NOT_SEEN,
                                DIRECTION, REPRODUCED) if one in found)


def replays_status(verdicts: Sequence[str]) -> int:
    """Exit status: 0 all are SEEN, 1 one is contradicted, 3 one is unknown, 4 none ran."""
    if set(verdicts) <= {CANNOT_RUN}:
        return 4
    return 1 if CONTRADICTED in verdicts else 0 if set(verdicts) <= set(SEEN) else 3


def metrics_claimed(scenario: Scenario) -> tuple[Metric, ...]:
    """The metrics that claims name, each once."""
    names = dict.fromkeys(one.metric for one in expressions.claims_references(scenario))
    return tuple(METRICS[name] for name in names)


def claim_head(scenario: Scenario) -> dict[str, Any]:
    """The question, origin and disputes of a claim, as data."""
    origin = {key: text for key, text in vars(scenario.origin).items() if text}
    return {"question": scenario.question, "origin": origin, "disputes": list(scenario.disputes)}


def row_make(claim: Claim, verdict: str, places: Sequence[Decision],
             explained: Sequence[Sequence[float]] = ()) -> dict[str, Any]:
    """A claim with its verdict, and the decision at each place without defaults. explained: the
    figures, if the result shows why the verdict differs from the published figure."""
    told = [{field.name: value for field in fields(Decision)
             if (value := getattr(decision, field.name)) != field.default} for decision in places]
    return dict(json.loads(json.dumps(
        vars(claim) | {"verdict": verdict, "places": told, "explained": explained})))


def explained_by(matrix: Matrix, claim: Claim) -> tuple[Sequence[float], ...]:
    """The figures that explain why a claim differs from the published figure. Empty if its file has
    no explanation, or one that this result does not confirm."""
    if (explanation := claim.explanation) is None:
        return ()
    cells = {name: cell.words for name, cell in matrix.cells.items()}
    shown = [claim_decide(matrix, explanation, where)
             for where in expressions.claim_places(explanation, cells, matrix.axes)]
    return tuple(one.span for one in shown) if all(one.outcome == "ok" for one in shown) else ()


def machine_of(matrix: Matrix, cells: Iterable[Cell]) -> dict[str, str]:
    """The kernel and the machine of these cells."""
    targets = {cell.name: cell.target for cell in cells}
    facts = next((machine.facts for machine in machines_of(matrix.result, targets)), {})
    return {key: facts[key] for key in ("system", "kernel", "cpu", "cpus_online", "virtualisation")
            if key in facts}


def programs_of(matrix: Matrix, cells: Iterable[Cell]) -> str:
    """The subjects and TLS libraries, with their versions, that ran in these cells; else empty."""
    ran = [traits for cell in cells for traits in matrix.traits_of(cell.name)]
    versions = [program.version for traits in ran for program in traits.subjects]
    libraries = [end.library for traits in ran for end in traits.ends if end.library]
    return ", ".join(dict.fromkeys(filter(None, versions + libraries)))


def rows_decide(matrix: Matrix) -> list[Found]:
    """The verdict on every claim of a result, in order, for each system that ran it: a target and a
    build, where these vary. A scenario without published claims gives an empty list."""
    scenario = matrix.result.scenario
    if (origin := scenario.origin) is None:
        return []
    places: dict[tuple[str, Claim], list[Decision]] = {}
    for decided in claims_decide(matrix):
        words = words_split(decided.where.split())
        there = replace(decided, place=words.pop(expressions.PLACE, ""),
                        verdict=verdict_of(origin, decided))
        places.setdefault((words_text(words), decided.claim), []).append(there)
    found: list[Found] = []
    for (text, claim), decisions in places.items():
        words, verdict = words_split(text.split()), verdicts_join(one.verdict for one in decisions)
        cells = [cell for cell in matrix.cells.values() if words.items() <= cell.words.items()]
        explained = explained_by(matrix, claim) if verdict in EXPLAINED else ()
        found.append((machine_of(matrix, cells) | words, scenario, programs_of(matrix, cells),
                      row_make(claim, verdict, decisions, explained)))
    return found


def systems_make(found: Iterable[Found], name: str = "") -> list[dict[str, Any]]:
    """The systems of these rows. name: of their results."""
    systems: dict[str, dict[str, Any]] = {}
    for machine, scenario, programs, row in found:
        system = systems.setdefault(json.dumps(machine, sort_keys=True), {
            "name": name, "machine": dict(machine), "claims": {}})
        system["claims"].setdefault(scenario.name, claim_head(scenario) | {
            "programs": programs, "rows": []})["rows"].append(row)
    return list(systems.values())


def index_read(folder: Path) -> dict[str, str]:
    """By claim why it could not run, or an empty text; Failure if the index is damaged."""
    try:
        return dict(json.loads((folder / CLAIMS).read_text()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Failure(f"{folder / CLAIMS}: damaged: {error}") from None


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
    name, index = path_shown(folder.resolve().name), index_read(folder)
    single = (folder / PLAN).exists()
    if not index and not single:
        raise UsageError(f"{folder}: neither a result nor a folder of uncork claims run")
    places = [folder] if single else [folder / claim for claim in index]
    ran = [place for place in places if (place / PLAN).exists()]
    found: list[Found] = []
    for place in ran:
        matrix = matrix_load(place)
        if matrix.result.scenario.origin is None:
            raise UsageError(f"{place}: no published claim: its scenario has no [origin]")
        found += rows_decide(matrix)
    machines = [system["machine"] for system in systems_make(found)] or [{}]
    for place in places:
        if place not in ran:
            scenario = replay_load(place / SCENARIO)
            why = Decision(place="", verdict=CANNOT_RUN, reasons=(index[place.name],))
            found += ((machine, scenario, "", row_make(claim, CANNOT_RUN, [why]))
                      for claim in scenario.claims for machine in machines)
    return systems_make(found, name)


def rows_of(systems: Iterable[System]) -> list[Ran]:
    """Every row of these systems."""
    return [Ran(system, name, claim, row) for system in systems
            for name, claim in system["claims"].items() for row in claim["rows"]]


def verdicts_of(systems: Iterable[System]) -> list[str]:
    return [one.row["verdict"] for one in rows_of(systems)]


def figures_equal(one: Any, other: Any) -> bool:
    """Whether two values of a report are equal. Numbers are compared up to ROUNDING, also those
    within mappings and lists."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            figures_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(figures_equal, one, other))
    return bool(one == other)


def rows_compared(systems: Sequence[System]) -> dict[tuple[str, str, str], list[Row]]:
    """The rows with what their claims say, by machine, claim and comparison, in their order."""
    return grouped((
        (json.dumps(one.system["machine"], sort_keys=True), one.name, one.row["that"]),
        {**one.claim, **one.row, "rows": None}) for one in rows_of(systems))


def systems_differences(reported: Sequence[System], found: Sequence[System]) -> list[str]:
    """The differences between a report and the verdicts found in its results, a line each. Several
    runs of one machine are compared in their order."""
    told, here, lines = rows_compared(reported), rows_compared(found), []
    for key in told | here:
        for row, now in zip_longest(told.get(key, ()), here.get(key, ())):
            wrong = ["not in the results" if now is None else "not in the report"]
            if row is not None and now is not None:
                wrong = [f"{name} is {now.get(name)!r} and not {row.get(name)!r}"
                         for name in sorted({*row, *now})
                         if not figures_equal(row.get(name), now.get(name))]
            lines += [f"{key[1]}: {key[2]}: {'; '.join(wrong)}"] if wrong else []
    return lines
