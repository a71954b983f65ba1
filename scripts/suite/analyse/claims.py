# SPDX-License-Identifier: MIT
"""Decides claims by a result (docs/scenarios.md, "Claims: [[claim]]"); `expressions.py` has the
grammar.

Both sides of a claim are evaluated in every round that all named cells share. The 95 % interval of
the Hodges-Lehmann shift of their log ratio decides; of their difference, if a side is not above 0
in some round. Exact counts are compared exactly. Two kernels share no round, so all boots of one
are compared with all boots of the other.

A claim to reach the best of several cells is ok if it is ok against every one of them. It is not ok
if it is not ok against the one with the best median. For a claim to stay behind the best, swap ok
and not ok in both sentences.

`X / Y ~ 1.87 within 1.5` claims that the ratio is from 1.87 / 1.5 to 1.87 * 1.5, and beyond
near_of(1.87): a smaller gain is none. A number within a factor of 1.1 of 1 claims that nothing
changes: without `within`, which says how near to 1 is meant, the claim is undecided.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from suite import stats
from suite.analyse.expressions import (
    ABOUT,
    COMPARISONS,
    WITHIN,
    Expression,
    Operation,
    Reference,
    best_of,
    cells_named,
    claim_parse,
    claim_places,
    evaluate,
    references_of,
)
from suite.analyse.frame import Cell, Matrix, Series, noise_floor_highest, rounds_common
from suite.analyse.machines import TIMES_INVALID
from suite.analyse.metrics import METRICS
from suite.analyse.verdicts import Verdict, pair_family, pair_verdict
from suite.base.errors import UsageError
from suite.base.runner_words import LOAD, subject_of
from suite.base.units import count_text, counted_text, noise_text, number_text, value_text
from suite.base.words import words_text
from suite.scenario.scenario import Claim

NEAR = 1.1  # a claimed ratio within this factor of 1 claims that nothing changes
Span = tuple[float, ...]


class Decision(NamedTuple):
    """outcome: ok, not ok or undecided. span: the left side, or the ratio of both: a centre and, if
    there is an interval, its ends; of counts that differ between rounds the median, the least and
    the most. side: of a claimed ratio 1 if it certainly changes in the claimed direction, -1 if it
    certainly does not. advice: how many rounds would decide the outcome, or the side."""

    outcome: str
    remark: str
    span: Span = ()
    side: int = 0
    advice: str = ""


@dataclass(frozen=True)
class ClaimVerdict:
    """outcome, span, side, advice: as of Decision. remarks: the measured figures, or why it is
    undecided, without the advice.
    absent: the result does not have its cells. unable: a cell cannot run there, or is emulated.
    where: the words of claim_places() for which it was decided. foreign: each cell has a server or
    a load that is not uncork's own."""

    claim: Claim
    outcome: str
    remarks: tuple[str, ...]
    absent: bool = False
    unable: bool = False
    where: str = ""
    span: Span = ()
    side: int = 0
    advice: str = ""
    foreign: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The remarks, and of an undecided claim the advice."""
        return (*self.remarks, *([self.advice] if self.advice and self.outcome == "undecided"
                                 else []))


class Undecidable(Exception):
    """Says why this result cannot decide a claim."""


class Absent(Undecidable):
    """The result does not have the cells."""


class Unable(Undecidable):
    """A cell cannot run there, or its times are emulated."""


@dataclass(frozen=True)
class Evidence:
    """The values of a metric of a cell by round. exact: as Matrix.is_exact()."""

    cell: Cell
    series: Series
    exact: bool


EvidenceMap = Mapping[Reference, Evidence]
Factor = tuple[Expression, int]  # an expression and its power: 1, or -1 where it divides


def reference_cells(matrix: Matrix, reference: Reference) -> list[Cell]:
    """The cell of a reference, or all cells whose best it names; Undecidable without any."""
    named = cells_named(reference, {name: cell.words for name, cell in matrix.cells.items()},
                        matrix.axes, matrix.result.scenario.exclude)
    if not named.cells:
        raise (Undecidable if named.axis else Absent)(named.why)
    return [matrix.cells[name] for name in named.cells]


def evidence_find(matrix: Matrix, cell: Cell, metric: str) -> Evidence:
    """The values of a metric of a cell; Undecidable if it has none."""
    if cell.status != "ok":
        status = "failed in every round" if cell.status == "failed" else cell.status
        raise (Unable if cell.status == "unsupported" else Undecidable)(
            f"{words_text(cell.axes) or cell.name}: {status}: {'; '.join(cell.reasons)}")
    series = matrix.series(cell.name, metric)
    if not len(series):
        why = matrix.coverage_text(cell, metric) or f"{metric} is not known here"
        if cell.emulated and METRICS[metric].timed:
            raise Unable(f"{words_text(cell.axes) or cell.name}: {TIMES_INVALID}: "
                         f"{cell.emulated}: {metric} says nothing there")
        raise Undecidable(f"{words_text(cell.axes) or cell.name}: {why}")
    return Evidence(cell, series, matrix.is_exact(cell.name, metric))


def candidates_find(matrix: Matrix, reference: Reference) -> list[Evidence]:
    """reference_cells() with values, the best median first; Undecidable if one has none."""
    found = [evidence_find(matrix, cell, reference.metric)
             for cell in reference_cells(matrix, reference)]
    return sorted(found, key=lambda one: stats.median(one.series.values),
                  reverse=METRICS[reference.metric].better == "higher")


def rounds_shared(evidence: EvidenceMap) -> dict[Reference, Series]:
    """The values in the rounds that all references have; Undecidable without such a round."""
    rounds = reduce(np.intersect1d, (one.series.rounds for one in evidence.values()))
    if not len(rounds):
        raise Undecidable("the cells share no good round")
    return {name: one.series.take(np.isin(one.series.rounds, rounds))
            for name, one in evidence.items()}


def sides_evaluate(claim: Operation, values: Mapping[Reference, np.ndarray]
                   ) -> tuple[list[float], list[float]]:
    """The left and the right side of a claim in each round."""
    rounds = len(next(iter(values.values())))
    left, right = (np.broadcast_to(evaluate(side, values), rounds).tolist()
                   for side in (claim.left, claim.right))
    return left, right


def outcome_of(sign: str, interval: stats.Interval | None, middle: float) -> str:
    """The outcome from the interval of left / right (middle 1) or left - right (middle 0)."""
    if interval is None:
        return "undecided"
    if sign == "==":  # an interval can refute equality, but never prove it
        return "undecided" if interval.contains(middle) else "not ok"
    holds, ends = COMPARISONS[sign], (interval.low, interval.high)
    least, most = ends if sign in (">=", ">") else ends[::-1]
    return "ok" if holds(least, middle) else "undecided" if holds(most, middle) else "not ok"


def near_of(value: float) -> float:
    """The smallest change that counts as one in the direction of a claimed ratio: NEAR, or the root
    of a ratio nearer to 1 than NEAR squared; 1 if the ratio claims that nothing changes."""
    if 1 / NEAR < value < NEAR:
        return 1.0
    return max(1 / NEAR, math.sqrt(value)) if value < 1 else min(NEAR, math.sqrt(value))


def band_of(claim: Operation) -> tuple[float, float] | None:
    """The range that a claim with ABOUT allows; None for a number near 1 without `within`."""
    value = float(evaluate(claim.right, {}))
    within, near = claim.within or WITHIN, near_of(value)
    low, high = value / within, value * within
    if near == 1:
        return (low, high) if claim.within else None
    return (max(low, near), high) if value > 1 else (low, min(high, near))


def side_of(value: float, low: float, high: float) -> int:
    """Where a measured interval lies: 1 if all of it changes as much as near_of() a claimed ratio
    and in its direction, -1 if none of it does, else 0; 0 if the ratio claims that nothing
    changes."""
    near = near_of(value)
    if near == 1:
        return 0
    return (low > near) - (high < near) if value > 1 else (high < near) - (low > near)


def band_decide(claim: Operation, ratio: stats.Estimate, floor: float | None) -> tuple[str, int]:
    """Outcome and side of a claim with ABOUT. ratio: left / right."""
    band, within = band_of(claim), ratio.interval
    if band is None or within is None:
        return "undecided", 0
    value, noise = float(evaluate(claim.right, {})), floor or 1.0
    low, high = within.low * value, within.high * value
    side = side_of(value, low, high)
    if side > 0 and stats.is_within_floor(ratio.value * value, floor):
        side = 0
    if band[0] <= low and high <= band[1] and (side > 0 or near_of(value) == 1):
        return "ok", side
    return "not ok" if high * noise < band[0] or low / noise > band[1] else "undecided", side


def span_of(claim: Operation, estimate: stats.Estimate, by_ratio: bool) -> Span:
    """The measured left side. If the right side is measured too: their ratio or difference."""
    if any(references_of(claim.right)):
        return estimate.span
    right = float(evaluate(claim.right, {}))
    return tuple((operator.mul if by_ratio else operator.add)(value, right)
                 for value in estimate.span)


def measured_text(claim: Operation, estimate: stats.Estimate, by_ratio: bool, shared: bool) -> str:
    """`measured 4.12, 95 % interval 3.90 to 4.31, 10 rounds`: span_of() in words. shared: the
    estimate is from rounds that all cells share, and not from boots."""
    fixed, (centre, *ends) = not any(references_of(claim.right)), span_of(claim, estimate, by_ratio)
    unit = METRICS[claim.left.metric].unit if isinstance(claim.left, Reference) and fixed else None

    def text(value: float) -> str:
        return value_text(value, unit) if unit else number_text(value)

    what = "measured" if fixed else "left / right" if by_ratio else "left - right"
    rounds = (counted_text(estimate.pairs, "round") if shared
              else f"{counted_text(estimate.pairs, 'boot')} a side")
    if not ends:
        needed = stats.ROUNDS_NEEDED if shared else stats.SIDES_NEEDED
        return f"{what} {text(centre)}, {rounds}: an interval needs {needed}"
    low, high = map(text, ends)
    return f"{what} {text(centre)}, 95 % interval {low} to {high}, {rounds}"


def figures_compare(claim: Operation, left: float, right: float) -> bool:
    """Whether a claim holds for two exact figures. They are equal if only rounding differs."""
    if claim.sign == ABOUT:
        band = band_of(claim)
        return band is not None and band[0] < left < band[1]
    if math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12):
        return claim.sign in (">=", "<=", "==")
    return COMPARISONS[claim.sign](left, right)


def directions_decide(claim: Operation, shared: Mapping[Reference, Series]) -> Decision:
    """Decides with censored values, of which only a lower bound is known: by the side that is
    certainly larger, round by round. A claim has each value once. So a side is certainly larger if
    it is larger with all combinations of bound and infinity of the censored values."""
    if claim.sign == ABOUT:
        raise Undecidable("requests were due and never sent: of some values only a lower bound is "
                          "known, which cannot be compared with a number")
    corners = []
    for ends in product(*((one.bounds, one.values) for one in shared.values())):
        left, right = map(np.array, sides_evaluate(claim, dict(zip(shared, ends, strict=True))))
        corners.append((left > right).astype(int) - (left < right))
    signs = np.where((np.array(corners) == corners[0]).all(axis=0), corners[0], 0)
    rounds = len(signs)
    estimate = stats.direction_estimate(signs, stats.sign_null(rounds), rounds)
    larger, smaller = (int((signs == sign).sum()) for sign in (1, -1))
    return Decision(
        outcome_of(claim.sign, estimate.interval, 1.0),
        f"left is certainly larger in {larger} and certainly smaller in {smaller} of "
        f"{counted_text(rounds, 'round')}; requests were due and never sent: of some values only a "
        "lower bound is known")


def cells_opposed(evidence: EvidenceMap) -> tuple[str, list[Cell]]:
    """The metric and the cells of a claim that compares cells by one metric; else no cells."""
    metric = next(iter(evidence)).metric
    cells = {one.cell.name: one.cell for one in evidence.values()}
    opposed = len(cells) > 1 and all(name.metric == metric for name in evidence)
    return metric, list(cells.values()) if opposed else []


def ratio_decide(claim: Operation, left: Sequence[float] | np.ndarray,
                 right: Sequence[float] | np.ndarray, floor: float | None, shared: bool
                 ) -> Decision:
    """Decides from the values of both sides, which are above 0. Undecided if their ratio is within
    the noise floor."""
    ratio, side, edges = stats.ratio_estimate(left, right, shared), 0, [1.0]
    remarks, advice = [measured_text(claim, ratio, True, shared)], ""
    if claim.sign == ABOUT:
        outcome, side = band_decide(claim, ratio, floor)
        value, band = float(evaluate(claim.right, {})), band_of(claim)
        is_open = outcome == "undecided" or (side == 0 and near_of(value) != 1)
        limits = sorted({*band, near_of(value)} - {1.0}) if band else []
        edges = [limit / value for limit in limits
                 if ratio.interval and ratio.interval.contains(limit / value)]
        if is_open and band and not edges and ratio.interval:
            remarks.append(f"the noise floor of {noise_text(floor or 1.0)} may explain it")
        if band is None:
            remarks.append(f"{number_text(value)} is near 1: the claim needs `within FACTOR`")
    else:
        outcome = outcome_of(claim.sign, ratio.interval, 1.0)
        is_open = outcome == "undecided"
    if claim.sign != ABOUT and outcome != "undecided" and stats.is_within_floor(ratio.value, floor):
        outcome, is_open = "undecided", True
        remarks.append(f"left / right is within the noise floor of {noise_text(floor or 1.0)}")
    needed = max([ratio.pairs + 1, *(stats.rounds_to_find(
        left, np.asarray(right) * edge, shared, 1, floor or 1.0) for edge in edges)])
    if is_open and claim.sign != "==" and edges and ratio.interval:
        advice = (f"rounds={needed} would decide it" if math.isfinite(needed) else
                  f"rounds={stats.ROUNDS_ADVISED} would not decide it")
    return Decision(outcome, "; ".join(remarks), span_of(claim, ratio, True), side, advice)


def factors_of(expression: Expression, power: int = 1) -> list[Factor]:
    """The factors of a product or quotient; any other expression is its own only factor."""
    if isinstance(expression, Operation) and expression.sign in ("*", "/"):
        right = power if expression.sign == "*" else -power
        return [*factors_of(expression.left, power), *factors_of(expression.right, right)]
    return [(expression, power)]


def products_of(factors: Sequence[Factor], evidence: EvidenceMap) -> np.ndarray:
    """The product of factors in every round that all have; Undecidable if one is not above 0."""
    names = {name for factor, _ in factors for name in references_of(factor)}
    shared = rounds_shared({name: evidence[name] for name in names})
    values = {name: one.values for name, one in shared.items()}
    figures = [np.asarray(evaluate(factor, values)) for factor, _ in factors]
    if min(map(np.min, figures)) <= 0:
        raise Undecidable("a factor is not above 0 in some boot")
    return math.prod(figure ** float(power)
                     for figure, (_, power) in zip(figures, factors, strict=True))


def boots_decide(claim: Operation, evidence: EvidenceMap, floor: float | None) -> Decision:
    """Decides about cells of two kernels: all boots of one against all boots of the other."""
    blocks: dict[str | None, list[Factor]] = {}  # by the booted image; None: numbers
    for factor, power in [*factors_of(claim.left), *factors_of(claim.right, -1)]:
        booted = {evidence[name].cell.block for name in references_of(factor)}
        if len(booted) > 1:
            raise Undecidable("figures of different kernels share no round: a claim can divide one "
                              "by the other, but not add or subtract them")
        blocks.setdefault(next(iter(booted), None), []).append((factor, power))
    numbers = blocks.pop(None, [])
    if len(blocks) != 2:
        raise Undecidable("a claim can compare two kernels, not more: their boots share no round")
    first, second = blocks.values()
    return ratio_decide(claim, products_of([*first, *numbers], evidence),
                        1 / products_of(second, evidence), floor, False)


def evidence_decide(matrix: Matrix, claim: Operation, evidence: EvidenceMap) -> Decision:
    """Decides from the values of every reference of a claim."""
    metric, cells = cells_opposed(evidence)
    floor = noise_floor_highest(((matrix, cell) for cell in cells), metric)
    exact = all(one.exact for one in evidence.values())
    censored = any(one.series.censored for one in evidence.values())
    if not rounds_common(one.cell for one in evidence.values()) and not exact:
        if censored:
            raise Undecidable("in some boot requests were due and never sent: of the value only a "
                              "lower bound is known")
        return boots_decide(claim, evidence, floor)
    shared = rounds_shared(evidence)
    if censored:
        return directions_decide(claim, shared)
    left, right = sides_evaluate(claim, {name: one.values for name, one in shared.items()})
    if exact:
        return Decision(
            "ok" if figures_compare(claim, left[0], right[0]) else "not ok",
            f"exactly {count_text(left[0])} against {count_text(right[0])} "
            f"in all of {len(left)} rounds", (left[0],) * (3 if claim.sign == "==" else 1),
            side_of(right[0], left[0], left[0]) if claim.sign == ABOUT else 0)
    if min(*left, *right) > 0:
        decision = ratio_decide(claim, left, right, floor, True)
    elif claim.sign == ABOUT:
        raise Undecidable("a figure is not above 0 in some round: it has no ratio")
    else:
        shift = stats.shift_estimate(left, right, True)
        decision = Decision(outcome_of(claim.sign, shift.interval, 0.0),
                            measured_text(claim, shift, False, True), span_of(claim, shift, False))
    if claim.sign == "==":
        several = len(left) > 1
        return decision._replace(
            span=(float(stats.median(left)), min(left), max(left)) if several else ())
    return decision


def needs_difference(claim: Operation, evidence: EvidenceMap, outcome: str) -> bool:
    """Whether the outcome would differ if all cells had the same value."""
    value = stats.median(next(iter(evidence.values())).series.bounds)
    left, right = sides_evaluate(claim, {name: np.array([value]) for name in evidence})
    return figures_compare(claim, left[0], right[0]) is not (outcome == "ok")


def pair_decide(matrix: Matrix, claim: Operation, evidence: EvidenceMap) -> Decision:
    """As evidence_decide(), but undecided if it needs a difference that tables doubt."""
    decision = evidence_decide(matrix, claim, evidence)
    metric, cells = cells_opposed(evidence)
    needs = decision.outcome != "undecided" and needs_difference(claim, evidence, decision.outcome)
    if len(cells) != 2 or not (needs or decision.side > 0):
        return decision
    verdict = pair_verdict(matrix, cells[0], cells[1], metric)
    if not verdict.doubtful:
        return decision
    family, _ = pair_family(matrix, cells[0], cells[1], metric)
    why = ("is within the noise floor" if verdict is Verdict.WITHIN_NOISE else
           f"may be chance among {counted_text(family.tested, 'row')}")
    if needs and (claim.sign, decision.outcome) != (ABOUT, "not ok"):
        decision = decision._replace(outcome="undecided")
    remark = f"{decision.remark}; the difference of the two cells {why}"
    return decision._replace(side=min(decision.side, 0), remark=remark)


def claim_decide(matrix: Matrix, claim: Claim, where: str = "") -> ClaimVerdict:
    """Decides one claim, for cells with the words where; UsageError if it names no metric."""
    parsed = claim_parse(claim.that, where)
    if where:
        claim = replace(claim, says=f"{claim.says} ({where})")
    names = list(references_of(parsed))
    if not names:
        raise UsageError(f'claim "{claim.that}": it names no metric')
    try:
        candidates = {name: candidates_find(matrix, name) for name in names}
        evidence = {name: first for name, (first, *_) in candidates.items()}
        foreign = all(subject_of(one.cell.words) or LOAD in one.cell.words
                      for one in evidence.values())
        best = best_of(parsed)
        if best is None:
            decision = pair_decide(matrix, parsed, evidence)
            return ClaimVerdict(claim, decision.outcome, (decision.remark,), where=where,
                                span=decision.span, side=decision.side, advice=decision.advice,
                                foreign=foreign)
        decisions = [pair_decide(matrix, parsed, evidence | {best: candidate})
                     for candidate in candidates[best]]
    except (Undecidable, ZeroDivisionError) as error:
        return ClaimVerdict(claim, "undecided", (str(error),), isinstance(error, Absent),
                            isinstance(error, Unable), where)
    outcome, index = best_decide(parsed, best, [one.outcome for one in decisions])
    return ClaimVerdict(claim, outcome,
                        (decisions[index].remark, f"against {candidates[best][index].cell.name}"),
                        where=where, span=decisions[index].span, advice=decisions[index].advice,
                        foreign=foreign)


def best_decide(claim: Operation, best: Reference, outcomes: list[str]) -> tuple[str, int]:
    """The outcome of a claim about the best, and the index of the outcome that shows it, from the
    outcomes against each cell, the best median first."""
    reaches = (METRICS[best.metric].better == "higher") == (claim.sign in (">=", ">"))
    every, some = ("ok", "not ok") if reaches else ("not ok", "ok")
    index = next((index for index, outcome in enumerate(outcomes) if outcome != every), None)
    if index is None:
        return every, 0
    return (some, 0) if outcomes[0] == some else ("undecided", index)


def claim_is_shown(matrix: Matrix, claim: Claim, where: str) -> bool:
    """Whether a narrowed matrix shows all cells of a claim; True for a whole matrix."""
    try:
        return matrix.narrowed_from is None or all(
            cell.name in matrix.cells for name in references_of(claim_parse(claim.that, where))
            for cell in reference_cells(matrix.whole, name))
    except Undecidable:
        return False


def claims_decide(matrix: Matrix) -> list[ClaimVerdict]:
    """Decides every claim of the scenario, in order, one by one for claim_places(). A narrowed
    matrix leaves out claims about cells that it does not show."""
    cells = {name: cell.words for name, cell in matrix.whole.cells.items()}
    return [claim_decide(matrix.whole, claim, where)
            for claim in matrix.result.scenario.claims
            for where in claim_places(claim, cells, matrix.axes)
            if claim_is_shown(matrix, claim, where)]


def tap_text(verdicts: list[ClaimVerdict]) -> str:
    """The verdicts in the Test Anything Protocol; remarks follow their line as comments."""
    if not verdicts:
        return "1..0 # SKIP the scenario makes no claim\n"
    lines = [f"1..{len(verdicts)}"]
    for number, verdict in enumerate(verdicts, start=1):
        result = "ok" if verdict.outcome == "ok" else "not ok"
        says = verdict.claim.says.replace("\\", "\\\\").replace("#", "\\#")
        todo = " # TODO undecided" if verdict.outcome == "undecided" else ""
        lines.append(f"{result} {number} - {says}{todo}")
        lines += [f"# {remark}" for remark in (verdict.claim.that, *verdict.texts)]
    return "\n".join(lines) + "\n"


def claims_status(verdicts: list[ClaimVerdict]) -> int:
    """Exit status: 0 all are ok, 1 one is not ok, 3 one is undecided and none is not ok."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return 1 if "not ok" in outcomes else 3 if "undecided" in outcomes else 0
