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
from typing import Any

import numpy as np

from suite import stats
from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.runner_words import EXACT_ONLY, LOAD, subject_of
from suite.base.units import counted_text, number_text
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict, session_places
from suite.contrast.verdicts import pair_judged
from suite.decide import expressions
from suite.decide.expressions import ABOUT, Operation, Reference, Undecidable, claim_parse
from suite.observe.frame import Cell, Matrix, Series, rounds_common
from suite.observe.metrics import METRICS
from suite.scenario.scenario import Claim

NEAR = 1.1  # a claimed ratio within this factor of 1 claims that nothing changes
ROUNDING = 1e-12  # by which equal figures may differ
LOWER_BOUND = "requests were due and never sent: of some values only a lower bound is known"
CHANCE = "the difference of the two cells may be chance among {rows}"
DOUBTS = {  # why a claim may not need the difference of two cells, by the verdict of tables on it
    Verdict.UNDECIDED: CHANCE, Verdict.UNKNOWN: CHANCE, Verdict.EQUIVALENT: CHANCE,
    Verdict.WITHHELD: "the difference of the two cells is withheld: {status}"}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """outcome: ok, not ok or undecided. span: the left side, or the ratio (difference) of both, if
    both are measured: a centre and, if there is an interval, its ends; of counts that differ
    between rounds the median, the least and the most.

    by: how the span compares both sides: "/", "-", "==" of counts that differ between rounds, or
    "=" if all rounds had the same counts. right: the right one of these. rounds: how many were
    compared; of two kernels the boots a side (boots). needed: how many would decide the outcome, or
    the side; 0: unknown; above ROUNDS_ADVISED: not even so many. side: of a claimed ratio 1 if it
    certainly changes in the claimed direction, -1 if it certainly does not. reasons: why it is
    undecided, and which best cell it was compared with.

    absent: the result does not have its cells. unable: a cell cannot run there, or is emulated.
    foreign: each cell has a server or a load that is not uncork's own.
    place, verdict: of a published claim (replays.py): at which place, and the verdict there."""

    outcome: str = "undecided"
    span: tuple[float, ...] = ()
    by: str = ""
    right: float = 0.0
    rounds: int = 0
    boots: bool = False
    needed: int = 0
    side: int = 0
    reasons: tuple[str, ...] = ()
    absent: bool = False
    unable: bool = False
    foreign: bool = False
    place: str | None = None
    verdict: str = ""


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict(Decision):
    """where: the words of claim_places() for which the claim was decided."""

    claim: Claim
    where: str = ""

    @property
    def says(self) -> str:
        return self.claim.says + (f" ({self.where})" if self.where else "")


@dataclass(frozen=True)
class Sample:
    """The values of a metric of one cell. exact: whether every run counted the same."""

    cell: Cell
    series: Series
    exact: bool


Samples = Mapping[Reference, Sample]


def reference_cells(matrix: Matrix, reference: Reference) -> list[Cell]:
    """The cell of a reference, or all cells whose best it names; Undecidable without any."""
    return [matrix.cells[name] for name in expressions.cells_named(
        reference, {name: cell.words for name, cell in matrix.cells.items()}, matrix.axes,
        matrix.result.scenario.exclude)]


def samples_find(matrix: Matrix, reference: Reference) -> list[Sample]:
    """The values of reference_cells(), the best median first; Undecidable if one has none."""
    metric, found = METRICS[reference.metric], []
    for cell in reference_cells(matrix, reference):
        name, series = words_text(cell.axes) or cell.name, matrix.series(cell.name, metric.name)
        if cell.status != "ok":
            status = "failed in every round" if cell.status == "failed" else cell.status
            raise Undecidable(f"{name}: {status}: {'; '.join(cell.reasons)}",
                              unable=cell.status == "unsupported")
        if not len(series):
            if cell.hides(metric):
                raise Undecidable(f"{name}: {metric.name}: {cell.emulated}: {EXACT_ONLY}",
                                  unable=True)
            why = matrix.coverage_text(cell, metric.name) or f"{metric.name} is not known here"
            raise Undecidable(f"{name}: {why}")
        if metric.timed and any(one.strangers for one in matrix.traits_of(cell.name)):
            raise Undecidable(f"{name}: unexpected connections reached a data port")
        found.append(Sample(cell, series, matrix.is_exact(cell.name, metric.name)))
    return sorted(found, key=lambda one: stats.median(one.series.values),
                  reverse=metric.better == "higher")


def rounds_shared(samples: Samples) -> dict[Reference, Series]:
    """The values in the rounds that all references have; Undecidable without such a round."""
    rounds = reduce(np.intersect1d, (one.series.rounds for one in samples.values()))
    if not len(rounds):
        raise Undecidable("the cells share no good round")
    return {name: one.series.take(np.isin(one.series.rounds, rounds))
            for name, one in samples.items()}


def sides_evaluate(claim: Operation, values: Mapping[Reference, np.ndarray]
                   ) -> tuple[list[float], list[float]]:
    """The left and the right side of a claim in each round."""
    rounds = len(next(iter(values.values())))
    with np.errstate(all="ignore"):  # a censored value is infinite
        left, right = (np.broadcast_to(expressions.evaluate(side, values), rounds).tolist()
                       for side in (claim.left, claim.right))
    return left, right


def near_of(value: float) -> float:
    """The smallest change that counts as one in the direction of a claimed ratio: NEAR, or the root
    of a ratio nearer to 1 than NEAR squared; 1 if the ratio claims that nothing changes."""
    if 1 / NEAR < value < NEAR:
        return 1.0
    return min(max(math.sqrt(value), 1 / NEAR), NEAR)


def band_of(claim: Operation) -> tuple[float, float] | None:
    """The range that a claim with ABOUT allows; None for a number near 1 without `within`."""
    value = claim.limit or 1.0
    within, near = claim.within or expressions.WITHIN, near_of(value)
    low, high = value / within, value * within
    if near == 1:
        return (low, high) if claim.within else None
    return (max(low, near), high) if value > 1 else (low, min(high, near))


def side_of(value: float, low: float, high: float) -> int:
    """Where a measured interval lies: 1 if all of it changes as much as near_of() a claimed ratio
    and in its direction, -1 if none of it does, else 0; 0 if the ratio claims that nothing
    changes."""
    near = near_of(value)
    change = (low > near) - (high < near)
    return 0 if near == 1 else change if value > 1 else -change


def band_decide(claim: Operation, ratio: stats.Interval | None) -> tuple[str, int, list[float]]:
    """Outcome and side of a claim with ABOUT, and the limits that leave one of them open. ratio:
    the interval of left / right."""
    band, value = band_of(claim), claim.limit or 1.0
    if band is None or ratio is None:
        return "undecided", 0, []
    low, high, near = ratio.low * value, ratio.high * value, near_of(value)
    side = side_of(value, low, high)
    inside = band[0] <= low and high <= band[1] and (side > 0 or near == 1)
    outcome = "ok" if inside else "not ok" if high < band[0] or low > band[1] else "undecided"
    is_open = outcome == "undecided" or (side == 0 and near != 1)
    return outcome, side, [limit / value for limit in sorted({*band, near} - {1.0})
                           if is_open and low <= limit <= high]


def outcome_of(sign: str, interval: stats.Interval | None, middle: float) -> str:
    """The outcome from the interval of left / right (middle 1) or left - right (middle 0)."""
    if interval is None or (sign == "==" and interval.contains(middle)):
        return "undecided"  # an interval can refute equality, but never prove it
    holds = {expressions.COMPARISONS[sign](end, middle) for end in interval[:2]}
    return "undecided" if len(holds) > 1 else "ok" if True in holds else "not ok"


def estimate_decision(claim: Operation, estimate: stats.Estimate, by: str, outcome: str,
                      **more: Any) -> Decision:
    """A decision by the estimate of left / right, or of left - right."""
    to_left, fixed = {"/": operator.mul, "-": operator.add}[by], claim.limit
    span = estimate.span if fixed is None else tuple(to_left(fixed, one) for one in estimate.span)
    return Decision(outcome=outcome, span=span, by=by, rounds=estimate.pairs, **more)


def figures_compare(claim: Operation, left: float, right: float) -> bool:
    """Whether a claim holds for two exact figures. They are equal if only rounding differs."""
    if claim.sign == ABOUT:
        band = band_of(claim)
        return band is not None and band[0] < left < band[1]
    if math.isclose(left, right, rel_tol=ROUNDING, abs_tol=ROUNDING):
        return claim.sign in (">=", "<=", "==")
    return expressions.COMPARISONS[claim.sign](left, right)


def directions_decide(claim: Operation, shared: Mapping[Reference, Series]) -> Decision:
    """Decides with censored values, of which only a lower bound is known: by the side that is
    certainly larger, round by round. A claim has each value once. So a side is certainly larger if
    it is larger with all combinations of bound and infinity of the censored values."""
    if claim.sign == ABOUT:
        raise Undecidable(f"{LOWER_BOUND}, which cannot be compared with a number")
    corners = []
    for ends in product(*((one.bounds, one.values) for one in shared.values())):
        left, right = map(np.array, sides_evaluate(claim, dict(zip(shared, ends, strict=True))))
        corners.append((left > right).astype(int) - (left < right))
    signs = np.where((np.array(corners) == corners[0]).all(axis=0), corners[0], 0)
    rounds = len(signs)
    interval = stats.direction_estimate(signs, stats.sign_null(rounds), rounds).interval
    larger, smaller = (int((signs == sign).sum()) for sign in (1, -1))
    return Decision(outcome=outcome_of(claim.sign, interval, 1.0), reasons=(
        f"left is certainly larger in {larger} and certainly smaller in {smaller} of "
        f"{counted_text(rounds, 'round')}", LOWER_BOUND))


def ratio_decide(claim: Operation, left: Sequence[float] | np.ndarray,
                 right: Sequence[float] | np.ndarray, shared: bool = True,
                 sessions: Sequence[np.ndarray] = ()) -> Decision:
    """Decides from the values of both sides, which are above 0. shared: they are of the same
    rounds, and not of boots. sessions: as of ratio_make()."""
    made = stats.ratio_make(left, right, shared, sessions=sessions, independent=not shared)
    ratio, reasons, side = made.estimate(), tuple[str, ...](), 0
    if claim.sign == ABOUT:
        outcome, side, edges = band_decide(claim, ratio.interval)
        if band_of(claim) is None:
            reasons = (f"{number_text(claim.limit or 1.0)} is near 1: the claim needs "
                       "`within FACTOR`",)
    else:
        outcome = outcome_of(claim.sign, ratio.interval, 1.0)
        edges = [1.0] if outcome == "undecided" and ratio.interval and claim.sign != "==" else []
    needed = max((max(ratio.pairs + 1, stats.rounds_to_find(
        made, 1, made.centre - math.log(edge))) for edge in edges), default=0)
    needed = int(min(needed, stats.ROUNDS_ADVISED + 1))
    return estimate_decision(claim, ratio, "/", outcome, boots=not shared, side=side,
                             needed=needed, reasons=reasons)


def boots_decide(claim: Operation, samples: Samples) -> Decision:
    """Decides about cells of two kernels: all boots of one against all boots of the other. Each
    side, in each boot of one kernel with each of the other, must be a product of two factors."""
    blocks = list(grouped((sample.cell.block, name) for name, sample in samples.items()).values())
    if len(blocks) != 2:
        raise Undecidable("a claim can compare two kernels, not more: their boots share no round")
    boots = [rounds_shared({name: samples[name] for name in names}) for names in blocks]
    values = {name: series.values.reshape(shape) for known, shape in zip(
        boots, ((-1, 1), (1, -1)), strict=True) for name, series in known.items()}
    shape = np.broadcast_shapes(*(one.shape for one in values.values()))
    sides = [np.broadcast_to(expressions.evaluate(side, values), shape)
             for side in (claim.left, claim.right)]
    if not all(np.allclose(side * side[0, 0], side[:, :1] * side[:1], rtol=ROUNDING, atol=0)
               for side in sides):
        raise Undecidable("figures of different kernels share no round: a claim can divide one "
                          "by the other, but not add or subtract them")
    if min(side.min() for side in sides) <= 0:
        raise Undecidable("a figure is not above 0 in some boot: it has no ratio")
    ratios = sides[0] / sides[1]
    return ratio_decide(claim, ratios[:, 0], ratios[0, 0] / ratios[0], False)


def samples_decide(matrix: Matrix, claim: Operation, samples: Samples) -> Decision:
    """Decides from the values of every reference of a claim."""
    exact = all(one.exact for one in samples.values())
    censored = any(one.series.censored for one in samples.values())
    if not rounds_common(one.cell for one in samples.values()) and not exact:
        if censored:
            raise Undecidable(f"in some boot {LOWER_BOUND}")
        return boots_decide(claim, samples)
    shared = rounds_shared(samples)
    if censored:
        return directions_decide(claim, shared)
    left, right = sides_evaluate(claim, {name: one.values for name, one in shared.items()})
    if exact:
        return Decision(
            outcome="ok" if figures_compare(claim, left[0], right[0]) else "not ok", by="=",
            span=(left[0],) * (3 if claim.sign == "==" else 1), right=right[0], rounds=len(left),
            side=side_of(right[0], left[0], left[0]) if claim.sign == ABOUT else 0)
    if min(*left, *right) > 0:
        rounds = next(iter(shared.values())).rounds
        decision = ratio_decide(claim, left, right,
                                sessions=list(session_places(matrix, rounds).values()))
    elif claim.sign == ABOUT:
        raise Undecidable("a figure is not above 0 in some round: it has no ratio")
    else:
        shift = stats.shift_estimate(left, right, True)
        decision = estimate_decision(claim, shift, "-", outcome_of(claim.sign, shift.interval, 0.0))
    if claim.sign == "==":
        several = (float(stats.median(left)), min(left), max(left)) if len(left) > 1 else ()
        return replace(decision, span=several, by="==")
    return decision


def pair_decide(matrix: Matrix, claim: Operation, samples: Samples) -> Decision:
    """As samples_decide(), but undecided if it needs a difference of two cells that tables doubt:
    then its outcome would be another one if all cells had the same value. A ratio that is "not ok"
    stays so, but is on no side."""
    decision, needs = samples_decide(matrix, claim, samples), False
    if decision.outcome != "undecided":
        value = stats.median(next(iter(samples.values())).series.bounds)
        left, right = sides_evaluate(claim, {name: np.array([value]) for name in samples})
        needs = figures_compare(claim, left[0], right[0]) is not (decision.outcome == "ok")
    cells = {one.cell.name: one.cell for one in samples.values()}
    metrics = {one.metric for one in samples}
    if len(cells) != 2 or len(metrics) != 1 or not (needs or decision.side > 0):
        return decision
    (base, new), [metric] = cells.values(), metrics
    judged = pair_judged(matrix, base, new, metric)
    doubt = DOUBTS.get(judged.verdict)
    if doubt is None or judged.contrast.status is Status.ZERO:  # then the claim has no ratio either
        return decision
    rows = counted_text(judged.family.tested, "row")
    reason = doubt.format(rows=rows, status=judged.contrast.status.value)
    if needs and (claim.sign, decision.outcome) != (ABOUT, "not ok"):
        decision = replace(decision, outcome="undecided")
    return replace(decision, side=min(decision.side, 0), reasons=(*decision.reasons, reason))


def claim_decide(matrix: Matrix, claim: Claim, where: str = "") -> ClaimVerdict:
    """Decides one claim, for cells with the words where; UsageError if it names no metric."""
    parsed = claim_parse(claim.that, where)
    if not any(expressions.references_of(parsed)):
        raise UsageError(f'claim "{claim.that}": it names no metric')
    try:
        return ClaimVerdict(claim=claim, where=where, **vars(cells_decide(matrix, parsed)))
    except Undecidable as error:
        return ClaimVerdict(claim=claim, where=where, reasons=(str(error),),
                            absent=error.absent, unable=error.unable)


def cells_decide(matrix: Matrix, claim: Operation) -> Decision:
    """Decides a claim for its cells, and for the best of several."""
    candidates = {name: samples_find(matrix, name) for name in expressions.references_of(claim)}
    samples = {name: first for name, (first, *_) in candidates.items()}
    best = expressions.best_of(claim)
    foreign = all(subject_of(one.cell.words) or LOAD in one.cell.words for one in samples.values())
    if best is None:
        return replace(pair_decide(matrix, claim, samples), foreign=foreign)
    decisions = [pair_decide(matrix, claim, samples | {best: candidate})
                 for candidate in candidates[best]]
    outcome, index = best_decide(claim, best, [one.outcome for one in decisions])
    shown, against = decisions[index], f"against {candidates[best][index].cell.name}"
    return replace(shown, outcome=outcome, foreign=foreign, side=0,
                   reasons=(*shown.reasons, against))


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
    named = expressions.references_of(claim_parse(claim.that, where))
    try:
        return matrix.narrowed_from is None or all(
            cell.name in matrix.cells for name in named
            for cell in reference_cells(matrix.whole, name))
    except Undecidable:
        return False


def claims_decide(matrix: Matrix) -> list[ClaimVerdict]:
    """Decides every claim of the scenario, in order, one by one for claim_places(). A narrowed
    matrix leaves out claims about cells that it does not show. All are undecided where the cell of
    a damaged line is unknown."""
    cells = {name: cell.words for name, cell in matrix.whole.cells.items()}
    decided = [claim_decide(matrix.whole, claim, where)
               for claim in matrix.result.scenario.claims
               for where in expressions.claim_places(claim, cells, matrix.axes)
               if claim_is_shown(matrix, claim, where)]
    if matrix.result.damage_unknown:
        why = "a damaged line of records.jsonl may be a run of its cells"
        decided = [replace(one, outcome="undecided", reasons=(why, *one.reasons), side=0)
                   for one in decided]
    return decided


def claims_status(verdicts: list[ClaimVerdict]) -> int:
    """Exit status: 0 all are ok, 1 one is not ok, 3 one is undecided and none is not ok."""
    outcomes = {verdict.outcome for verdict in verdicts}
    return 1 if "not ok" in outcomes else 3 if "undecided" in outcomes else 0
