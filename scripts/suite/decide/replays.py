# SPDX-License-Identifier: MIT
"""Published claims, as scenarios with an origin, and the verdict of a result on each.

The outcome of claims.py becomes a verdict; that of a ratio depends on its side too. The published
figure may be of a whole program, which does not run here. Then a ratio or a direction is at best
"direction only"; a count or a stall can be the same. What only other programs did contradicts
nothing, and is "not seen here". If `place` is swept and not named, each place is decided
separately.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from suite.base.errors import UsageError
from suite.base.words import words_split, words_text
from suite.decide.bands import near_of
from suite.decide.claims import ClaimVerdict, Decision, claim_decide, claims_decide
from suite.decide.expressions import (
    ABOUT,
    PLACE,
    UNKNOWN,
    Expression,
    Operation,
    claim_parse,
    claim_places,
    claims_references,
    references_of,
    unit_of,
)
from suite.observe.frame import Matrix
from suite.observe.machines import machines_of
from suite.observe.metrics import METRICS, Metric
from suite.scenario.scenario import CLAIM_KINDS, Claim, Origin, Scenario, scenario_load

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


class Kind(NamedTuple):
    """How a claim of this kind compares, and what stands on its left side: a text and a test."""

    signs: tuple[str, ...]
    left: str = ""
    is_left: Callable[[Expression], bool] = lambda left: True


KINDS = {
    COUNT: Kind(("==",), "metrics that count", lambda left: all(
        METRICS[one.metric].whole for one in references_of(left))),
    DIRECTED: Kind((">", "<", ">=", "<=")),
    RATIO: Kind((ABOUT,), "a ratio of two figures", lambda left: (
        unit_of(left) in ("1", UNKNOWN) and len(set(references_of(left))) > 1)),
    STALL: Kind((">=",), "a time", lambda left: unit_of(left) == "s"),
}


@dataclass(frozen=True)
class Replay:
    """The verdict of a result on one claim of a file. places: by place how it was decided there;
    the place is empty if there is only one. explained: the figures, if the result shows why the
    verdict differs from the published figure. system: on what it ran. programs: the subjects and
    TLS libraries that ran, with their versions."""

    claim: Claim
    verdict: str
    places: tuple[tuple[str, str, Decision], ...]
    system: Mapping[str, Any]
    explained: tuple[Sequence[float], ...] = ()
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
    parsed, kind = claim_parse(claim.that), KINDS[claim.kind]
    compares = f'a claim of kind = "{claim.kind}" compares '
    if parsed.sign not in kind.signs or (claim.kind == STALL and parsed.limit is None):
        number = " with a number" if claim.kind == STALL else ""
        return f"{compares}by {' or '.join(kind.signs)}{number}"
    return "" if kind.is_left(parsed.left) else compares + kind.left


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
    names = dict.fromkeys(one.metric for one in claims_references(scenario))
    return tuple(METRICS[name] for name in names)


def replays_decide(matrix: Matrix) -> list[Replay]:
    """The verdict on every claim of a result, in order, for each system that ran it; empty if
    nobody published the claims."""
    origin = matrix.result.scenario.origin
    if origin is None:
        return []
    replays, found = [], dict[tuple[str, Claim], list[tuple[str, str, ClaimVerdict]]]()
    for decided in claims_decide(matrix):
        where = words_split(decided.where.split())
        place, verdict = where.pop(PLACE, ""), verdict_of(origin, decided)
        found.setdefault((words_text(where), decided.claim), []).append((place, verdict, decided))
    for (text, claim), places in found.items():
        verdict = verdicts_join([verdict for _, verdict, _ in places])
        where = words_split(text.split())
        replays.append(Replay(
            claim, verdict, tuple(places), system_of(matrix, where),
            explained_by(matrix, claim) if verdict in EXPLAINED else (),
            programs_of(matrix, where)))
    return replays


def explained_by(matrix: Matrix, claim: Claim) -> tuple[Sequence[float], ...]:
    """The figures that explain why a claim differs from the published figure. Empty if its file has
    no explanation, or one that this result does not confirm."""
    if (explanation := claim.explanation) is None:
        return ()
    cells = {name: cell.words for name, cell in matrix.cells.items()}
    shown = [claim_decide(matrix, explanation, where)
             for where in claim_places(explanation, cells, matrix.axes)]
    return tuple(one.span for one in shown) if all(one.outcome == "ok" for one in shown) else ()


def replays_status(verdicts: Sequence[str]) -> int:
    """Exit status: 0 all are SEEN, 1 one is contradicted, 3 one is unknown, 4 none ran."""
    if set(verdicts) <= {CANNOT_RUN}:
        return 4
    return 1 if CONTRADICTED in verdicts else 0 if set(verdicts) <= set(SEEN) else 3
