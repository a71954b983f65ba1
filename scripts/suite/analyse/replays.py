# SPDX-License-Identifier: MIT
"""Published claims, as scenarios with an origin, and the verdict of a result on each.

The outcome of claims.py becomes a verdict; that of a ratio depends on its side too. The published
figure may be of a whole program, which does not run here. Then a ratio or a direction is at best
"direction only"; a count or a stall can be the same. What only other programs did contradicts
nothing, and is "not seen here". If `place` is swept and not named, each place is decided
separately.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.analyse.claims import ClaimVerdict, claim_decide, claims_decide, near_of
from suite.analyse.expressions import (
    ABOUT,
    PLACE,
    UNKNOWN,
    Operation,
    claim_parse,
    claim_places,
    evaluate,
    references_of,
    unit_of,
)
from suite.analyse.frame import Matrix
from suite.analyse.machines import machines_of
from suite.analyse.metrics import METRICS, Metric
from suite.base.errors import UsageError
from suite.base.units import number_text, value_text
from suite.base.words import words_split, words_text
from suite.scenario.scenario import CLAIM_KINDS, Claim, Scenario, scenario_load

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
SIGNS = {COUNT: ("==",), DIRECTED: (">", "<", ">=", "<="), RATIO: (ABOUT,), STALL: (">=",)}


@dataclass(frozen=True)
class Replay:
    """The verdict of a result on one claim of a file. measured: the figures with intervals, or
    empty. spans: the same as numbers, by place; the place is empty if there is only one. remarks:
    how it was decided, or why not, by place if there are several. explained: why it differs from
    the published figure, if the result shows that. system: on what it ran. programs: the subjects
    and TLS libraries that ran, with their versions."""

    claim: Claim
    verdict: str
    published: str
    measured: str
    spans: Mapping[str, Sequence[float]]
    remarks: tuple[str, ...]
    system: Mapping[str, Any]
    explained: str = ""
    programs: str = ""


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
    parsed, compares = claim_parse(claim.that), f'a claim of kind = "{claim.kind}" compares '
    fixed = not any(references_of(parsed.right))
    if parsed.sign not in SIGNS[claim.kind] or (claim.kind == STALL and not fixed):
        return (f"{compares}by {' or '.join(SIGNS[claim.kind])}"
                f"{' with a number' * (claim.kind == STALL)}")
    unit = unit_of(parsed.left)
    if claim.kind == STALL and unit != "s":
        return f"{compares}a time"
    if claim.kind == RATIO and (unit not in ("1", UNKNOWN) or len(set(references_of(parsed.left))) < 2):
        return f"{compares}a ratio of two figures"
    if claim.kind == COUNT and not all(METRICS[one.metric].whole
                                       for one in references_of(parsed.left)):
        return f"{compares}metrics that count"
    return ""


def figure_text(claim: Operation, value: float) -> str:
    """A figure of the left side, or of the ratio or difference of both, as text."""
    unit = "1" if any(references_of(claim.right)) else unit_of(claim.left)
    if unit not in ("", "1", UNKNOWN):
        return value_text(value, unit)
    return f"{value:g}" if value == round(value) else number_text(value)


def published_text(claim: Operation) -> str:
    """The right side as text: `2`, `1.87x`, `>= 35.0 ms`, `> 1`."""
    if any(references_of(claim.right)):
        return f"{claim.sign.replace('==', '=')} the other"
    value = float(evaluate(claim.right, {}))
    if claim.sign == ABOUT:
        return f"{value:g}x" + (f" within {claim.within:g}" if claim.within else "")
    text = f"{value:g}" if unit_of(claim.left) == "1" else figure_text(claim, value)
    return f"{claim.sign.replace('==', '')} {text}".strip()


def measured_text(claim: Operation, span: Sequence[float]) -> str:
    if not span:
        return ""
    centre, *ends = (figure_text(claim, value)
                     for value in (span if len(set(span)) > 1 else span[:1]))
    return f"{centre} [{', '.join(ends)}]" if ends else centre


def claims_change(claim: Operation) -> bool:
    """Whether a claim by ABOUT is of a change, and not that nothing changes."""
    return near_of(float(evaluate(claim.right, {}))) != 1


def count_verdict(claim: Operation, decided: ClaimVerdict) -> str:
    """The verdict on a count that was not the claimed number in every run. Retransmissions add to
    the segments that the client of a subject receives; uncork's own ends subtract them."""
    value = 0.0 if any(references_of(claim.right)) else float(evaluate(claim.right, {}))
    received = decided.foreign and all(one.metric == RECEIVED for one in references_of(claim.left))
    if received and value > 0 and len(decided.span) == 3:
        least, most = (end / value - 1 for end in decided.span[1:])
        if least >= 0 and most <= RESENT:
            return REPRODUCED
        return CONTRADICTED if most < 0 or least > RESENT else UNDECIDED
    return CONTRADICTED if decided.outcome == "not ok" else UNDECIDED


def ratio_verdict(decided: ClaimVerdict, whole_program: bool) -> str:
    """The verdict on a claimed change that is not surely of the claimed size. whole_program: the
    published ratio is of a whole program, so its size is not judged."""
    outside = decided.outcome == "not ok"  # the whole interval is outside the claimed range
    if decided.side > 0:
        return DIRECTION if outside or whole_program else UNDECIDED
    return CONTRADICTED if outside and decided.side < 0 else UNDECIDED


def verdict_of(scenario: Scenario, decided: ClaimVerdict) -> str:
    """The verdict on a claim at one place."""
    origin, kind = scenario.origin, decided.claim.kind
    parsed = claim_parse(decided.claim.that)
    whole_program = bool(origin and origin.fidelity)
    verdict = UNDECIDED
    if decided.unable:
        return CANNOT_RUN
    if decided.outcome == "ok":
        verdict = DIRECTION if whole_program and kind in (DIRECTED, RATIO) else REPRODUCED
    elif kind == RATIO and claims_change(parsed):
        verdict = ratio_verdict(decided, whole_program)
    elif kind == COUNT:
        verdict = count_verdict(parsed, decided)
    elif decided.outcome == "not ok":
        verdict = CONTRADICTED
    if origin and origin.needs and verdict in (UNDECIDED, CONTRADICTED):
        return CANNOT_DECIDE
    by_protocol = kind == COUNT and all(one.metric.startswith(ON_THE_WIRE)
                                        for one in references_of(parsed))
    ran = decided.foreign and not whole_program  # the program of the origin
    return NOT_SEEN if verdict == CONTRADICTED and not (ran or by_protocol) else verdict


def verdicts_join(verdicts: Sequence[str]) -> str:
    """One verdict from those at several places; figures of several places are never pooled."""
    found = set(verdicts) - {CANNOT_RUN} or {CANNOT_RUN}
    if found & {CONTRADICTED, NOT_SEEN} and found & {REPRODUCED, DIRECTION}:
        return DEPENDS_ON_PLACE
    return next(one for one in (UNDECIDED, CANNOT_DECIDE, CANNOT_RUN, CONTRADICTED, NOT_SEEN,
                                DIRECTION, REPRODUCED) if one in found)


def system_of(matrix: Matrix, where: Mapping[str, str]) -> dict[str, Any]:
    """The kernel and the machine of the cells with these words, and the words."""
    cells = {name: cell.target for name, cell in matrix.cells.items()
             if where.items() <= cell.words.items()}
    facts = next((machine.facts for machine in machines_of(matrix.result, cells)), {})
    return {key: facts[key] for key in ("system", "kernel", "cpu", "cpus_online", "virtualisation")
            if key in facts} | dict(where)


def programs_of(matrix: Matrix, where: Mapping[str, str]) -> str:
    """The subjects and TLS libraries, with their versions, that ran in the cells with these words;
    else empty."""
    ran = [traits for name, cell in matrix.cells.items() if where.items() <= cell.words.items()
           for traits in matrix.traits_of(name)]
    versions = [program.version for traits in ran for program in traits.subjects]
    libraries = [end.library for traits in ran for end in traits.ends if end.library]
    return ", ".join(dict.fromkeys(filter(None, versions + libraries)))


def metrics_claimed(scenario: Scenario) -> tuple[Metric, ...]:
    """The metrics that claims name, each once."""
    names = [one.metric for claim in scenario.claims
             for one in references_of(claim_parse(claim.that))]
    return tuple(METRICS[name] for name in dict.fromkeys(names))


def replays_decide(matrix: Matrix) -> list[Replay]:
    """The verdict on every claim of a result, in order, for each system that ran it."""
    scenario, parts = matrix.result.scenario, dict[tuple[str, Claim], list[ClaimVerdict]]()
    for decided in claims_decide(matrix):
        where = {key: value for key, value in words_split(decided.where.split(), "").items()
                 if key != PLACE}
        claim = next(one for one in scenario.claims if one.that == decided.claim.that)
        parts.setdefault((words_text(where), claim), []).append(decided)
    replays = []
    for (text, claim), found in parts.items():
        where = words_split(text.split(), "")
        one = replay_join(scenario, claim, found, system_of(matrix, where))
        explained = explanation_text(matrix, claim) if one.verdict in EXPLAINED else ""
        replays.append(replace(one, explained=explained, programs=programs_of(matrix, where)))
    return replays


def explanation_text(matrix: Matrix, claim: Claim) -> str:
    """Why a claim differs from the published figure, with the measured figures. Empty if its file
    has no explanation, or one that this result does not confirm."""
    if (explanation := claim.explanation) is None:
        return ""
    cells = {name: cell.words for name, cell in matrix.cells.items()}
    shown = [claim_decide(matrix, explanation, where)
             for where in claim_places(explanation, cells, matrix.axes)]
    if any(one.outcome != "ok" for one in shown):
        return ""
    parsed = claim_parse(explanation.that)
    return f"{explanation.says}: " + "; ".join(measured_text(parsed, one.span) for one in shown)


def replay_join(scenario: Scenario, claim: Claim, found: Sequence[ClaimVerdict],
                system: Mapping[str, Any]) -> Replay:
    """The verdict on a claim, from the verdicts at each place."""
    parsed, verdicts = claim_parse(claim.that), [verdict_of(scenario, one) for one in found]
    places = [words_split(one.where.split(), "").get(PLACE, "") for one in found]
    several = len(found) > 1
    return Replay(
        claim, verdicts_join(verdicts), published_text(parsed),
        "; ".join(f"{place} {measured_text(parsed, one.span)}".strip()
                  for place, one in zip(places, found, strict=True) if one.span),
        {place: one.span for place, one in zip(places, found, strict=True) if one.span},
        tuple((f"{place}: {verdict}: " if several else "") + "; ".join(
            filter(None, (*one.remarks, one.advice if verdict == UNDECIDED else "")))
              for place, verdict, one in zip(places, verdicts, found, strict=True)), system)


def replays_status(verdicts: Sequence[str]) -> int:
    """Exit status: 0 all are SEEN, 1 one is contradicted, 3 one is unknown, 4 none ran."""
    if set(verdicts) <= {CANNOT_RUN}:
        return 4
    return 1 if CONTRADICTED in verdicts else 0 if set(verdicts) <= set(SEEN) else 3
