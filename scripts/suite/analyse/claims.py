# SPDX-License-Identifier: MIT
"""Claims held against a result (docs/scenarios.md, "Claims: [[claim]]"); `expressions.py` has the
grammar.

Both sides are evaluated in every round that all named cells share. The claim is decided on the
log ratio of the two (on their difference, if one is not above 0 in some round) by the interval of
its Hodges-Lehmann shift; exact counts decide exactly, and boots of two kernels by all of one and
of the other. A claim to reach the best of several cells is ok if it is ok against every one of
them, and not ok if it is not ok against that with the best median. With a claim to stay behind the
best it is the other way round.

`X / Y ~ 1.87 within 1.5` claims that the ratio is from 1.87 / 1.5 to 1.87 * 1.5, and on that side
of 1. A number within 1.1 of 1 claims that nothing changes, which only a factor that was chosen can
mean: such a claim without `within` is undecided.
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
    OPERATORS,
    WITHIN,
    Expression,
    Operation,
    Reference,
    best_of,
    cells_named,
    claim_parse,
    claim_places,
    references_of,
)
from suite.analyse.frame import Cell, Matrix, Series, noise_floor_highest, rounds_common
from suite.analyse.machines import TIMES_INVALID
from suite.analyse.metrics import METRICS
from suite.analyse.verdicts import Verdict, pair_family, pair_verdict
from suite.base.errors import UsageError
from suite.base.units import count_text, counted_text, noise_text, number_text, value_text
from suite.base.words import words_text
from suite.scenario.scenario import Claim

NEAR = 1.1  # a ratio that is claimed to be within this factor of 1 is one of no change
Span = tuple[float, ...]


class Decision(NamedTuple):
    """outcome: as of a verdict. span: what was measured, in terms of the left side, or the ratio of
    both: a centre with the ends of its interval where there is one. side: of ABOUT, 1 or -1 where
    the left side is surely above or below 1."""

    outcome: str
    remark: str
    span: Span = ()
    side: int = 0


@dataclass(frozen=True)
class ClaimVerdict:
    """outcome: ok, not ok or undecided; remarks: what was measured, or why nothing can be said.
    absent: whether it is about cells that the result does not have. unable: whether one of them
    cannot run, or says nothing, there. where: the words of the target, build and place that it is
    about one by one. span, side: as of a decision."""

    claim: Claim
    outcome: str
    remarks: tuple[str, ...]
    absent: bool = False
    unable: bool = False
    where: str = ""
    span: Span = ()
    side: int = 0


class Undecidable(Exception):
    """A reason why this result cannot decide a claim."""


class Absent(Undecidable):
    """The same: it does not have the cells."""


class Unable(Undecidable):
    """The same: a cell cannot run there."""


@dataclass(frozen=True)
class Evidence:
    """The values of a metric of a cell by round. exact: as Matrix.is_exact()."""

    cell: Cell
    series: Series
    exact: bool


Found = Mapping[Reference, Evidence]
Factor = tuple[Expression, int]  # an expression and its power: 1, or -1 where it divides


def reference_cells(matrix: Matrix, reference: Reference) -> list[Cell]:
    """The cell that a reference means, or those whose best is searched; Undecidable without any."""
    named = cells_named(reference, {name: cell.words for name, cell in matrix.cells.items()},
                        matrix.axes, matrix.result.scenario.exclude)
    if not named.cells:
        raise (Undecidable if named.axis else Absent)(named.why)
    return [matrix.cells[name] for name in named.cells]


def evidence_find(matrix: Matrix, cell: Cell, metric: str) -> Evidence:
    """The values of a metric of a cell; Undecidable where it has none."""
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
    """The cells that a reference may mean with their values, the best median first. Undecidable
    where one has none: it might be the best."""
    found = [evidence_find(matrix, cell, reference.metric)
             for cell in reference_cells(matrix, reference)]
    return sorted(found, key=lambda one: stats.median(one.series.values),
                  reverse=METRICS[reference.metric].better == "higher")


def evaluate(expression: Expression, values: Mapping[Reference, np.ndarray]) -> np.ndarray | float:
    """The value of an expression in each round, a float if it names no metric; Undecidable for a
    division by 0. values: by round, all of the same rounds."""
    if isinstance(expression, Operation):
        left, right = evaluate(expression.left, values), evaluate(expression.right, values)
        if expression.sign == "/" and np.any(np.equal(right, 0)):
            raise Undecidable("a division by 0")
        with np.errstate(all="ignore"):  # a censored value is infinite
            return OPERATORS[expression.sign](left, right)
    return values[expression] if isinstance(expression, Reference) else expression


def rounds_shared(found: Found) -> dict[Reference, Series]:
    """Every metric in the rounds that all have, ascending; Undecidable where there is none."""
    rounds = reduce(np.intersect1d, (one.series.rounds for one in found.values()))
    if not len(rounds):
        raise Undecidable("the cells share no good round")
    return {name: one.series.take(np.isin(one.series.rounds, rounds))
            for name, one in found.items()}


def sides_evaluate(claim: Operation, values: Mapping[Reference, np.ndarray]
                   ) -> tuple[list[float], list[float]]:
    """Left and right of a claim in each round."""
    rounds = len(next(iter(values.values())))
    left, right = (np.broadcast_to(evaluate(side, values), rounds).tolist()
                   for side in (claim.left, claim.right))
    return left, right


def outcome_of(sign: str, interval: stats.Interval | None, middle: float) -> str:
    """The outcome when left over (or less) right lies in interval, and middle means equality."""
    if interval is None:
        return "undecided"
    if sign == "==":  # no interval of something measured can prove equality, only refute it
        return "undecided" if interval.contains(middle) else "not ok"
    holds, ends = COMPARISONS[sign], (interval.low, interval.high)
    least, most = ends if sign in (">=", ">") else ends[::-1]
    return "ok" if holds(least, middle) else "undecided" if holds(most, middle) else "not ok"


def band_of(claim: Operation) -> tuple[float, float] | None:
    """What the left side may be where it is about a number; None for a number near 1 alone."""
    value = float(evaluate(claim.right, {}))
    within = claim.within or WITHIN
    low, high = value / within, value * within
    if 1 / NEAR < value < NEAR:
        return (low, high) if claim.within else None
    return (max(low, 1.0), high) if value > 1 else (low, min(high, 1.0))


def band_decide(claim: Operation, ratio: stats.Estimate, floor: float | None) -> tuple[str, int]:
    """Outcome and side of a claim about a number. ratio: of both sides."""
    band, within = band_of(claim), ratio.interval
    if band is None or within is None:
        return "undecided", 0
    value = float(evaluate(claim.right, {}))
    low, high = within.low * value, within.high * value
    side = 0 if stats.is_within_floor(ratio.value * value, floor) else (low > 1) - (high < 1)
    change, noise = band[0] >= 1 or band[1] <= 1, floor or 1.0
    if band[0] <= low and high <= band[1] and (side or not change):
        return "ok", side
    return "not ok" if high * noise < band[0] or low / noise > band[1] else "undecided", side


def span_of(claim: Operation, estimate: stats.Estimate, by_ratio: bool) -> Span:
    """The left side, or where the right one is measured too the ratio or difference of both."""
    if any(references_of(claim.right)):
        return estimate.span
    right = float(evaluate(claim.right, {}))
    return tuple((operator.mul if by_ratio else operator.add)(value, right)
                 for value in estimate.span)


def measured_text(claim: Operation, estimate: stats.Estimate, by_ratio: bool, shared: bool) -> str:
    """`measured 4.12, 95 % interval 3.90 to 4.31, 10 rounds`, in terms of the left side. Where the
    right side is measured too, the ratio or difference itself is shown. shared: whether the
    estimate is of rounds that all cells share, and not of boots."""
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


def counts_compare(sign: str, left: float, right: float) -> bool:
    """Compares exact counts; what differs by the rounding of arithmetic only is equal."""
    if math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12):
        return sign in (">=", "<=", "==")
    return COMPARISONS[sign](left, right)


def figures_compare(claim: Operation, left: float, right: float) -> bool:
    """Whether a claim holds of two figures that are known exactly."""
    if claim.sign != ABOUT:
        return counts_compare(claim.sign, left, right)
    band = band_of(claim)
    return band is not None and band[0] < left < band[1]


def directions_decide(claim: Operation, shared: Mapping[Reference, Series]) -> Decision:
    """Outcome and remark where some values are censored: by the side that is surely the larger,
    round by round. Each value stands once in a claim. So a side is surely larger if it is at both
    ends of what each censored value may be."""
    if claim.sign == ABOUT:
        raise Undecidable("values that lie among requests which were due and never sent are about "
                          "no number")
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
        f"left is surely larger in {larger} and surely smaller in {smaller} of "
        f"{counted_text(rounds, 'round')}; of values that lie among requests which were due and "
        "never sent only that is known")


def cells_opposed(found: Found) -> tuple[str, list[Cell]]:
    """The metric by which a claim holds cells against each other, and these, if it does."""
    metric, cells = next(iter(found)).metric, {one.cell.name: one.cell for one in found.values()}
    opposed = len(cells) > 1 and all(name.metric == metric for name in found)
    return metric, list(cells.values()) if opposed else []


def ratio_decide(claim: Operation, left: Sequence[float] | np.ndarray,
                 right: Sequence[float] | np.ndarray, floor: float | None, shared: bool
                 ) -> Decision:
    """Outcome and remark from the values of both sides, above 0. It is undecided where their ratio
    is within the noise floor, and says how many rounds would decide it."""
    ratio, side, edges = stats.ratio_estimate(left, right, shared), 0, [1.0]
    told = [measured_text(claim, ratio, True, shared)]
    if claim.sign == ABOUT:
        outcome, side = band_decide(claim, ratio, floor)
        value, band = float(evaluate(claim.right, {})), band_of(claim)
        edges = [edge / value for edge in band or ()
                 if ratio.interval and ratio.interval.contains(edge / value)]
        if outcome == "undecided" and band and not edges and ratio.interval:
            told.append(f"the noise floor of {noise_text(floor or 1.0)} may explain it")
        if band is None:
            told.append(f"{number_text(value)} is near 1: the claim must say within which factor")
    else:
        outcome = outcome_of(claim.sign, ratio.interval, 1.0)
    if claim.sign != ABOUT and outcome != "undecided" and stats.is_within_floor(ratio.value, floor):
        outcome = "undecided"
        told.append(f"left / right is within the noise floor of {noise_text(floor or 1.0)}")
    needed = max([ratio.pairs + 1, *(stats.rounds_to_find(
        left, np.asarray(right) * edge, shared, 1, floor or 1.0) for edge in edges)])
    if outcome == "undecided" and claim.sign != "==" and edges and math.isfinite(needed):
        told.append(f"rounds={needed} would decide it")
    return Decision(outcome, "; ".join(told), span_of(claim, ratio, True), side)


def factors_of(expression: Expression, power: int = 1) -> list[Factor]:
    """The factors of a product, or quotient; of anything else it alone."""
    if isinstance(expression, Operation) and expression.sign in ("*", "/"):
        right = power if expression.sign == "*" else -power
        return [*factors_of(expression.left, power), *factors_of(expression.right, right)]
    return [(expression, power)]


def products_of(factors: Sequence[Factor], found: Found) -> np.ndarray:
    """The product of factors in every round that all have; Undecidable where one is not above 0."""
    names = {name for factor, _ in factors for name in references_of(factor)}
    shared = rounds_shared({name: found[name] for name in names})
    values = {name: one.values for name, one in shared.items()}
    figures = [np.asarray(evaluate(factor, values)) for factor, _ in factors]
    if min(map(np.min, figures)) <= 0:
        raise Undecidable("a factor is not above 0 in some boot")
    return math.prod(figure ** float(power)
                     for figure, (_, power) in zip(figures, factors, strict=True))


def boots_decide(claim: Operation, found: Found, floor: float | None) -> Decision:
    """Outcome and remark of cells of two kernels: all boots of one against all of the other."""
    blocks: dict[str | None, list[Factor]] = {}  # by what is booted; None: numbers
    for factor, power in [*factors_of(claim.left), *factors_of(claim.right, -1)]:
        booted = {found[name].cell.block for name in references_of(factor)}
        if len(booted) > 1:
            raise Undecidable("it adds up figures of boots that share no round: only a quotient of "
                              "such figures can be held against something")
        blocks.setdefault(next(iter(booted), None), []).append((factor, power))
    numbers = blocks.pop(None, [])
    if len(blocks) != 2:
        raise Undecidable("it is about more than two kernels, whose boots share no round")
    first, second = blocks.values()
    return ratio_decide(claim, products_of([*first, *numbers], found),
                        1 / products_of(second, found), floor, False)


def evidence_decide(matrix: Matrix, claim: Operation, found: Found) -> Decision:
    """Outcome and remark from the values of every metric that a claim names."""
    metric, cells = cells_opposed(found)
    floor = noise_floor_highest(((matrix, cell) for cell in cells), metric)
    exact = all(one.exact for one in found.values())
    censored = any(one.series.censored for one in found.values())
    if not rounds_common(one.cell for one in found.values()) and not exact:
        if censored:
            raise Undecidable(
                "in some boot a value lies among requests that were due and never sent")
        return boots_decide(claim, found, floor)
    shared = rounds_shared(found)
    if censored:
        return directions_decide(claim, shared)
    left, right = sides_evaluate(claim, {name: one.values for name, one in shared.items()})
    if exact:
        return Decision(
            "ok" if figures_compare(claim, left[0], right[0]) else "not ok",
            f"exactly {count_text(left[0])} against {count_text(right[0])} "
            f"in all of {len(left)} rounds", (left[0],), (left[0] > 1) - (left[0] < 1))
    if min(*left, *right) > 0:
        return ratio_decide(claim, left, right, floor, True)
    if claim.sign == ABOUT:
        raise Undecidable("a figure is not above 0 in some round: it has no ratio")
    shift = stats.shift_estimate(left, right, True)
    return Decision(outcome_of(claim.sign, shift.interval, 0.0),
                    measured_text(claim, shift, False, True), span_of(claim, shift, False))


def needs_difference(claim: Operation, found: Found, outcome: str) -> bool:
    """Whether an outcome would be another one if all cells had the same value."""
    value = stats.median(next(iter(found.values())).series.bounds)
    left, right = sides_evaluate(claim, {name: np.array([value]) for name in found})
    return figures_compare(claim, left[0], right[0]) is not (outcome == "ok")


def pair_decide(matrix: Matrix, claim: Operation, found: Found) -> Decision:
    """Outcome and remark as of evidence_decide(), undecided where two cells would have to differ by
    a metric and their verdict does not say so."""
    decision = evidence_decide(matrix, claim, found)
    metric, cells = cells_opposed(found)
    needs = decision.outcome != "undecided" and needs_difference(claim, found, decision.outcome)
    if len(cells) != 2 or not (needs or decision.side):
        return decision
    verdict = pair_verdict(matrix, cells[0], cells[1], metric)
    if not verdict.doubtful:
        return decision
    family, _ = pair_family(matrix, cells[0], cells[1], metric)
    why = ("is within the noise floor" if verdict is Verdict.WITHIN_NOISE else
           f"may be chance among {counted_text(family.tested, 'row')}")
    if needs and (claim.sign, decision.outcome) != (ABOUT, "not ok"):
        decision = decision._replace(outcome="undecided")
    return decision._replace(
        side=0, remark=f"{decision.remark}; the difference of the two cells {why}")


def claim_decide(matrix: Matrix, claim: Claim, where: str = "") -> ClaimVerdict:
    """Decides one claim, or what it says of cells with these words; UsageError if it is none."""
    parsed = claim_parse(claim.that, where)
    if where:
        claim = replace(claim, says=f"{claim.says} ({where})")
    names = list(references_of(parsed))
    if not names:
        raise UsageError(f'claim "{claim.that}": it names no metric')
    try:
        candidates = {name: candidates_find(matrix, name) for name in names}
        found = {name: evidence[0] for name, evidence in candidates.items()}
        best = best_of(parsed)
        if best is None:
            told = pair_decide(matrix, parsed, found)
            return ClaimVerdict(claim, told.outcome, (told.remark,), where=where, span=told.span,
                                side=told.side)
        against = [pair_decide(matrix, parsed, found | {best: evidence})
                   for evidence in candidates[best]]
    except Undecidable as error:
        return ClaimVerdict(claim, "undecided", (str(error),), isinstance(error, Absent),
                            isinstance(error, Unable), where)
    outcome, at = best_decide(parsed, best, [one.outcome for one in against])
    return ClaimVerdict(claim, outcome,
                        (against[at].remark, f"against {candidates[best][at].cell.name}"),
                        where=where, span=against[at].span)


def best_decide(claim: Operation, best: Reference, outcomes: list[str]) -> tuple[str, int]:
    """The outcome from those against each cell, the best median first, and the place of the one
    that shows it. To reach the best is to reach every one, to stay behind it some."""
    reaches = (METRICS[best.metric].better == "higher") == (claim.sign in (">=", ">"))
    every, some = ("ok", "not ok") if reaches else ("not ok", "ok")
    at = next((number for number, outcome in enumerate(outcomes) if outcome != every), None)
    if at is None:
        return every, 0
    return (some, 0) if outcomes[0] == some else ("undecided", at)


def claim_is_shown(matrix: Matrix, claim: Claim, where: str) -> bool:
    """Whether a narrowed matrix shows all cells that a claim is about; any other matrix does."""
    try:
        return matrix.narrowed_from is None or all(
            cell.name in matrix.cells for name in references_of(claim_parse(claim.that, where))
            for cell in reference_cells(matrix.whole, name))
    except Undecidable:
        return False


def claims_decide(matrix: Matrix) -> list[ClaimVerdict]:
    """Every claim of the scenario, in order; of a narrowed matrix those about cells that it shows.
    A claim that names no target, or no build, is decided for each of the result."""
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
        lines += [f"# {remark}" for remark in (verdict.claim.that, *verdict.remarks)]
    return "\n".join(lines) + "\n"


def claims_status(verdicts: list[ClaimVerdict]) -> int:
    """Exit status: 0 all ok, 1 one is not, 3 one is undecided and none is refuted."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return 1 if "not ok" in outcomes else 3 if "undecided" in outcomes else 0
