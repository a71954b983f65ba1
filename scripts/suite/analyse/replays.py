# SPDX-License-Identifier: MIT
"""Published claims, as scenarios with an origin, and the verdict of a result on each.

The outcome of claims.py becomes a verdict; that of a ratio depends on its side of 1 too. The
published figure may be of a whole program, which does not run here. Then a ratio can at best be
reproduced in its direction, but a count can be the same. If `place` is swept and not named, each
place is decided separately.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.analyse.claims import NEAR, ClaimVerdict, claim_decide, claims_decide, evaluate
from suite.analyse.expressions import (
    ABOUT,
    PLACE,
    Expression,
    Operation,
    Reference,
    claim_parse,
    claim_places,
    references_of,
)
from suite.analyse.frame import Matrix
from suite.analyse.machines import machines_of
from suite.analyse.metrics import METRICS
from suite.base.errors import UsageError
from suite.base.units import number_text, value_text
from suite.base.words import words_split, words_text
from suite.scenario.scenario import CLAIM_KINDS, Claim, Scenario, scenario_load

REPRODUCED, DIRECTION, CONTRADICTED = "reproduced", "direction only", "contradicted"
UNDECIDED, DEPENDS_ON_PLACE = "undecided", "depends on place"
CANNOT_RUN, CANNOT_DECIDE = "cannot run here", "cannot decide here"
VERDICTS = (REPRODUCED, DIRECTION, CONTRADICTED, DEPENDS_ON_PLACE, UNDECIDED, CANNOT_DECIDE,
            CANNOT_RUN)
COUNT, DIRECTED, RATIO, STALL = CLAIM_KINDS
EXPLAINED = (DIRECTION, CONTRADICTED, DEPENDS_ON_PLACE)  # verdicts that an explanation follows
RESENT = 0.01  # this share of the segments of a count may be retransmitted
SIGNS = {COUNT: ("==",), DIRECTED: (">", "<", ">=", "<="), RATIO: (ABOUT,), STALL: (">=",)}


@dataclass(frozen=True)
class Replay:
    """The verdict of a result on one claim of a file. measured: the figures with intervals, or
    empty. spans: the same as numbers, by place; the place is empty if there is only one. remarks:
    how it was decided, or why not, by place if there are several. explained: why it differs from
    the published figure, if the result shows that. system: on what it ran."""

    claim: Claim
    verdict: str
    published: str
    measured: str
    spans: Mapping[str, Sequence[float]]
    remarks: tuple[str, ...]
    system: Mapping[str, Any]
    explained: str = ""


def replay_load(path: Path) -> Scenario:
    """A scenario with published claims; UsageError without an origin, or for a wrong sign."""
    scenario = scenario_load(path)
    if scenario.origin is None or not scenario.claims:
        raise UsageError(f"{path}: a claim has an [origin] and a [[claim]]")
    for claim in scenario.claims:
        parsed = claim_parse(claim.that)
        signs = SIGNS.get(claim.kind, ())
        if parsed.sign not in signs or (claim.kind == STALL and any(references_of(parsed.right))):
            raise UsageError(f'{path}: [claim] that "{claim.that}": ' + (
                f'a claim of kind = "{claim.kind}" compares by {" or ".join(signs)}'
                f'{" with a number" * (claim.kind == STALL)}' if claim.kind else
                f"it has no kind: {', '.join(CLAIM_KINDS)}"))
    return scenario


def unit_of(expression: Expression) -> str:
    """The unit of a metric, or of a sum of metrics; else "1"."""
    if isinstance(expression, Reference):
        return METRICS[expression.metric].unit
    if isinstance(expression, Operation) and expression.sign in ("+", "-"):
        units = {unit_of(expression.left), unit_of(expression.right)}
        return units.pop() if len(units) == 1 else "1"
    return "1"


def figure_text(claim: Operation, value: float) -> str:
    """A figure of the left side, or of the ratio or difference of both, as text."""
    unit = "1" if any(references_of(claim.right)) else unit_of(claim.left)
    if unit != "1":
        return value_text(value, unit)
    return f"{value:g}" if value == round(value) else number_text(value)


def published_text(claim: Operation) -> str:
    """The right side as text: `2`, `1.87x`, `>= 35.0 ms`, `> 1`."""
    if any(references_of(claim.right)):
        return f"{claim.sign.replace('==', '=')} the other"
    value = float(evaluate(claim.right, {}))
    if claim.sign == ABOUT:
        return f"{value:g}x" + (f" within {claim.within:g}" if claim.within else "")
    return f"{claim.sign.replace('==', '')} {figure_text(claim, value)}".strip()


def measured_text(claim: Operation, span: Sequence[float]) -> str:
    if not span:
        return ""
    centre, *ends = (figure_text(claim, value) for value in span)
    return f"{centre} [{', '.join(ends)}]" if ends else centre


def side_claimed(claim: Operation) -> int:
    """1 or -1 if a ratio above or below 1 is claimed; 0 if no ratio, or no change, is."""
    value = float(evaluate(claim.right, {})) if claim.sign == ABOUT else 1.0
    return (value >= NEAR) - (value <= 1 / NEAR)


def count_distance(claim: Operation, span: Sequence[float]) -> float:
    """The distance of a count from the claimed number, as a share of that: on a busy machine TCP
    retransmits some segments. Infinite if another whole number is nearer."""
    value = 0.0 if any(references_of(claim.right)) else float(evaluate(claim.right, {}))
    near = value > 0 and len(span) == 3 and round(span[0]) == value
    return max(abs(end / value - 1) for end in span) if near else math.inf


def ratio_verdict(decided: ClaimVerdict, side: int, whole_program: bool) -> str:
    """The verdict on a ratio that is not surely the claimed one. side: the claimed side of 1.
    whole_program: the published ratio is of a whole program, so its size is not judged."""
    outside = decided.outcome == "not ok"  # the whole interval is outside the claimed range
    if decided.side == side:
        return DIRECTION if outside or whole_program else UNDECIDED
    ends = decided.span[1:] or decided.span
    opposite = (min(ends) <= 1 and max(ends) < NEAR if side > 0 else  # or no change
                max(ends) >= 1 and min(ends) > 1 / NEAR)
    return CONTRADICTED if outside and opposite else UNDECIDED


def verdict_of(scenario: Scenario, decided: ClaimVerdict) -> str:
    """The verdict on a claim at one place."""
    origin, kind = scenario.origin, decided.claim.kind
    parsed = claim_parse(decided.claim.that)
    verdict = UNDECIDED
    if decided.unable:
        return CANNOT_RUN
    if decided.outcome == "ok":
        verdict = DIRECTION if origin and origin.fidelity and kind != COUNT else REPRODUCED
    elif kind == RATIO and side_claimed(parsed):
        verdict = ratio_verdict(decided, side_claimed(parsed), bool(origin and origin.fidelity))
    elif kind == COUNT and math.isfinite(distance := count_distance(parsed, decided.span)):
        verdict = REPRODUCED if distance <= RESENT else UNDECIDED
    elif decided.outcome == "not ok":
        verdict = CONTRADICTED
    # an idle machine lacks the load that `needs` names; a claim of no change for a whole program
    # lacks the own work of the program, which makes any change smaller
    lacking = bool(origin and (origin.needs or (
        origin.fidelity and kind == RATIO and not side_claimed(parsed))))
    return CANNOT_DECIDE if lacking and verdict in (UNDECIDED, CONTRADICTED) else verdict


def verdicts_join(verdicts: Sequence[str]) -> str:
    """One verdict from those at several places; figures of several places are never pooled."""
    found = set(verdicts) - {CANNOT_RUN, CANNOT_DECIDE} or set(verdicts)
    if CONTRADICTED in found and found & {REPRODUCED, DIRECTION}:
        return DEPENDS_ON_PLACE
    return next(one for one in (UNDECIDED, CANNOT_DECIDE, CANNOT_RUN, CONTRADICTED, DIRECTION,
                                REPRODUCED) if one in found)


def system_of(matrix: Matrix, where: Mapping[str, str]) -> dict[str, Any]:
    """The kernel and the machine of the cells with these words, and the words."""
    cells = {name: cell.target for name, cell in matrix.cells.items()
             if where.items() <= cell.words.items()}
    facts = next((machine.facts for machine in machines_of(matrix.result, cells)), {})
    return {key: facts[key] for key in ("system", "kernel", "cpu", "cpus_online", "virtualisation")
            if key in facts} | dict(where)


def replays_decide(matrix: Matrix) -> list[Replay]:
    """The verdict on every claim of a result, in order, for each system that ran it."""
    scenario, parts = matrix.result.scenario, dict[tuple[str, Claim], list[ClaimVerdict]]()
    for decided in claims_decide(matrix):
        where = {key: value for key, value in words_split(decided.where.split(), "").items()
                 if key != PLACE}
        claim = next(one for one in scenario.claims if one.that == decided.claim.that)
        parts.setdefault((words_text(where), claim), []).append(decided)
    replays = [replay_join(scenario, claim, found,
                           system_of(matrix, words_split(where.split(), "")))
               for (where, claim), found in parts.items()]
    return [replace(one, explained=explanation_text(matrix, one.claim))
            if one.verdict in EXPLAINED else one for one in replays]


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
        tuple((f"{place}: {verdict}: " if several else "") + "; ".join(one.remarks)
              for place, verdict, one in zip(places, verdicts, found, strict=True)), system)


def replays_status(verdicts: Sequence[str]) -> int:
    """Exit status: 0 all are decided, 1 one is contradicted, 3 one is undecided, 4 none ran."""
    if set(verdicts) <= {CANNOT_RUN}:
        return 4
    return 1 if CONTRADICTED in verdicts else 3 if UNDECIDED in verdicts else 0
