# SPDX-License-Identifier: MIT
"""Claims held against a result; `expressions.py` has their grammar.

Both sides are worked out in every round that all named cells share; the claim is decided on the
log ratio of the two (on their difference, if one is not above 0 in some round) by the interval of
its Hodges-Lehmann shift. Where only counts are named and each was the same in every run the
comparison is decided exactly.

The right side may be the best of several cells, those that differ in a word of the value `best`.
So where a strategy reaches 95 % of what it can is two claims, one for the size that does and one
for the next smaller:

    bandwidth(write=cork message=4K) >= 0.95 * bandwidth(write=cork message=best)
    bandwidth(write=cork message=1K) < 0.95 * bandwidth(write=cork message=best)

Where cells ran on several targets, a claim that names none is one about each of them.

Cells of two kernels share no round. A claim about their quotient is decided on all boots of one and
of the other; one that adds figures of both cannot be.

Nobody knows which is the best, the highest median may be luck. So what is claimed against the best
(the first of these) is ok if it is ok against every one of the cells, and not ok if it is not
against the one with the best median; with the second it is the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from suite import stats
from suite.analyse.expressions import (
    COMPARISONS,
    OPERATORS,
    Comparison,
    Expression,
    Operation,
    Reference,
    best_of,
    claim_parse,
    comparison_narrow,
    references_of,
)
from suite.analyse.frame import Cell, Matrix, rounds_common, words_match, words_parse
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.analyse.metrics import METRICS
from suite.base.errors import UsageError
from suite.base.runner_words import TARGET
from suite.base.units import count_text, counted_text, number_text, value_text
from suite.scenario.scenario import Claim


@dataclass(frozen=True)
class ClaimVerdict:
    """outcome: ok, not ok or undecided; remarks: what was measured, or why nothing can be said."""

    claim: Claim
    outcome: str
    remarks: tuple[str, ...]


class Undecidable(Exception):
    """A cell that a claim names has nothing to say in this result."""


def cells_select(matrix: Matrix, reference: Reference) -> list[Cell]:
    """The cells that a reference may mean: one, or those of which it means the best.

    UsageError: a key that no cell has, or an axis that varies and is not named. Undecidable: there
    is no such cell here (the words of this run left it out).
    """
    wanted = words_parse(reference.words, reference.text)
    cells = list(matrix.cells.values())
    for key in wanted:
        if not any(key in cell.words for cell in cells):
            raise UsageError(f"{reference.text}: no cell of this result has the word {key}")
    selector = words_parse(reference.selector, reference.text)
    found = [cell for cell in cells if words_match(selector, cell.words)]
    if not found:
        raise Undecidable(f"{reference.words}: this result has no such cell")
    for axis in matrix.axes:
        values = list(dict.fromkeys(cell.axes[axis] for cell in found))
        if axis not in wanted and len(values) > 1:
            raise UsageError(f"{reference.text}: {axis} varies and is not named; "
                             f"it is one of {', '.join(value or 'none' for value in values)}")
    return found if reference.searched else found[:1]


@dataclass(frozen=True)
class Series:
    """A metric of a cell by round, infinite where it is censored: then bounds has what it lies
    beyond, and else the value. exact: as Matrix.is_exact()."""

    cell: Cell
    values: Mapping[int, float]
    bounds: Mapping[int, float]
    exact: bool


def series_of(matrix: Matrix, cell: Cell, metric: str) -> Series:
    """The values of a metric of a cell; Undecidable where it has none."""
    if cell.status != "ok":
        raise Undecidable(f"{cell.name}: {cell.status}: {'; '.join(cell.reasons)}")
    found = matrix.series(cell.name, metric)
    if not len(found) and cell.emulated and METRICS[metric].timed:
        raise Undecidable(
            f"{cell.name}: {FUNCTIONAL_ONLY}: {cell.emulated}: {metric} says nothing there")
    if not len(found):
        raise Undecidable(
            f"{cell.name}: {matrix.coverage_text(cell, metric) or f'{metric} is not known here'}")
    rounds = found.rounds.tolist()
    return Series(cell, dict(zip(rounds, found.values.tolist(), strict=True)),
                  dict(zip(rounds, found.bounds.tolist(), strict=True)),
                  matrix.is_exact(cell.name, metric))


def candidates_find(matrix: Matrix, reference: Reference) -> list[Series]:
    """The cells that a reference may mean with their values, the best median first.

    Undecidable where one has none: it might be the best.
    """
    found = [series_of(matrix, cell, reference.metric) for cell in cells_select(matrix, reference)]
    return sorted(found, key=lambda series: stats.median(list(series.values.values())),
                  reverse=METRICS[reference.metric].better == "higher")


def evaluate(expression: Expression, values: Mapping[Reference, float]) -> float:
    """The value of an expression in one round; UsageError for a division by 0."""
    if isinstance(expression, Operation):
        left, right = evaluate(expression.left, values), evaluate(expression.right, values)
        if expression.sign == "/" and right == 0:
            raise Undecidable("a division by 0")
        return OPERATORS[expression.sign](left, right)
    return values[expression] if isinstance(expression, Reference) else expression


def outcome_of(sign: str, interval: stats.Interval, middle: float) -> str:
    """The outcome when left over (or less) right lies in interval, and middle means equality."""
    if sign in (">=", ">"):
        proven, refuted = interval.low, interval.high
        if proven > middle or (sign == ">=" and proven >= middle):
            return "ok"
        return "not ok" if refuted < middle or (sign == ">" and refuted <= middle) else "undecided"
    if sign in ("<=", "<"):
        proven, refuted = interval.high, interval.low
        if proven < middle or (sign == "<=" and proven <= middle):
            return "ok"
        return "not ok" if refuted > middle or (sign == "<" and refuted >= middle) else "undecided"
    # Equality: no interval of something measured can prove it, only refute it.
    return "undecided" if interval.contains(middle) else "not ok"


def measured_text(comparison: Comparison, estimate: stats.Estimate, right: float | None,
                  by_ratio: bool, shared: bool = True) -> str:
    """`measured 4.12, 95 % interval 3.90 to 4.31, 10 rounds`, in terms of the left side.

    right is None where the right side varies; then the ratio or difference itself is shown. shared:
    whether it is of rounds that all cells share, and not of boots.
    """
    left = comparison.left
    unit = METRICS[left.metric].unit if isinstance(left, Reference) and right is not None else None

    def text(value: float) -> str:
        if right is not None:
            value = value * right if by_ratio else value + right
        return value_text(value, unit) if unit else number_text(value)

    what = "measured" if right is not None else "left / right" if by_ratio else "left - right"
    rounds = counted_text(estimate.pairs,
                          "round") if shared else f"{counted_text(estimate.pairs, 'boot')} a side"
    if estimate.interval is None:
        needed = stats.ROUNDS_NEEDED if shared else stats.SIDES_NEEDED
        return f"{what} {text(estimate.value)}, {rounds}: an interval needs {needed}"
    low, high = text(estimate.interval.low), text(estimate.interval.high)
    return f"{what} {text(estimate.value)}, 95 % interval {low} to {high}, {rounds}"


def sign_sure(comparison: Comparison, series: Mapping[Reference, Series], number: int) -> int:
    """Whether left is surely larger (1) or smaller (-1) in a round, whatever the censored values
    are beyond their bounds; else 0. Each value stands once in a claim, so that it is enough to look
    at the ends of what each may be."""
    spans = [{one.bounds[number], one.values[number]} for one in series.values()]
    signs = set()
    for corner in product(*spans):
        values = dict(zip(series, corner, strict=True))
        left, right = evaluate(comparison.left, values), evaluate(comparison.right, values)
        signs.add((left > right) - (left < right))
    return signs.pop() if len(signs) == 1 else 0


def directions_compare(comparison: Comparison,
                       series: Mapping[Reference, Series]) -> tuple[str, str]:
    """Outcome and remark where some values are censored: by which side is surely the larger, round
    by round."""
    rounds = rounds_all(series)
    signs = np.array([sign_sure(comparison, series, number) for number in rounds])
    estimate = stats.direction_estimate(signs, stats.sign_null(len(rounds)), len(rounds))
    larger, smaller = (int((signs == sign).sum()) for sign in (1, -1))
    return estimate_decide(comparison, estimate, 1.0, (
        f"left is surely larger in {larger} and surely smaller in {smaller} of {counted_text(len(rounds), 'round')}; of "
        "values that lie among requests which were due and never sent only that is known"))


def is_censored(series: Mapping[Reference, Series]) -> bool:
    """Whether of some value only a bound is known."""
    return any(math.isinf(value) for one in series.values() for value in one.values.values())


def sides_compare(comparison: Comparison, left: list[float],
                  right: list[float]) -> tuple[str, str]:
    """Outcome and remark from the values of both sides, round by round."""
    by_ratio = min(left + right) > 0
    if by_ratio:
        estimate, middle = stats.ratio_estimate(left, right), 1.0
    else:
        differences = [a - b for a, b in zip(left, right, strict=True)]
        estimate, middle = stats.shift_estimate(differences), 0.0
    return estimate_decide(comparison, estimate, middle, measured_text(
        comparison, estimate, right_fixed(comparison), by_ratio))


def right_fixed(comparison: Comparison) -> float | None:
    """The right side where it is a number; None where it is measured."""
    return None if any(references_of(comparison.right)) else evaluate(comparison.right, {})


def estimate_decide(comparison: Comparison, estimate: stats.Estimate, middle: float,
                    remark: str) -> tuple[str, str]:
    """Outcome and remark from left over (or less) right; middle means equality."""
    if estimate.interval is None:
        return "undecided", remark
    return outcome_of(comparison.sign, estimate.interval, middle), remark


Factor = tuple[Expression, int]  # an expression and its power: 1, or -1 where it divides


def factors_of(expression: Expression, power: int = 1) -> list[Factor]:
    """The factors of a product, or quotient; of anything else it alone."""
    if isinstance(expression, Operation) and expression.sign in ("*", "/"):
        right = power if expression.sign == "*" else -power
        return [*factors_of(expression.left, power), *factors_of(expression.right, right)]
    return [(expression, power)]


def block_find(factor: Expression, series: Mapping[Reference, Series]) -> str | None:
    """Whose rounds a factor is of; None of a number. Undecidable where it mixes rounds that are not
    shared."""
    blocks = {series[name].cell.block for name in references_of(factor)}
    if len(blocks) > 1:
        raise Undecidable(
            "it adds up figures of boots that share no round: only a quotient of such figures can be "
                          "held against something")
    return blocks.pop() if blocks else None


def products_of(factors: Sequence[Factor], series: Mapping[Reference, Series]) -> list[float]:
    """The product of factors in every round that all of them have, all above 0; Undecidable where
    one is not."""
    names = {name for factor, _ in factors for name in references_of(factor)}
    products = []
    for values in rounds_shared({name: series[name] for name in names}):
        figures = [(evaluate(factor, values), power) for factor, power in factors]
        if min(figure for figure, _ in figures) <= 0:
            raise Undecidable("a factor is not above 0 in some boot")
        products.append(math.prod(figure**power for figure, power in figures))
    return products


def boots_compare(comparison: Comparison, series: Mapping[Reference, Series]) -> tuple[str, str]:
    """Outcome and remark where the cells share no rounds: all boots of one kernel against all of
    the other."""
    blocks: dict[str | None, list[Factor]] = {}
    for factor, power in [*factors_of(comparison.left), *factors_of(comparison.right, -1)]:
        blocks.setdefault(block_find(factor, series), []).append((factor, power))
    numbers = blocks.pop(None, [])
    if len(blocks) != 2:
        raise Undecidable("it is about more than two kernels, whose boots share no round")
    first, second = blocks.values()
    upper, lower = products_of([*first, *numbers], series), products_of(second, series)
    estimate = stats.ratio_unpaired(upper, [1 / value for value in lower])
    return estimate_decide(comparison, estimate, 1.0, measured_text(
        comparison, estimate, right_fixed(comparison), True, shared=False))


def claim_decide(matrix: Matrix, claim: Claim, target: str | None = None) -> ClaimVerdict:
    """Decides one claim, or what it says of one target; UsageError if it is not a claim about this
    result."""
    comparison = claim_parse(claim.that)
    if target is not None:
        comparison = comparison_narrow(comparison, f"{TARGET}={target}")
        claim = replace(claim, says=f"{claim.says} ({TARGET}={target})")
    names = [*references_of(comparison.left), *references_of(comparison.right)]
    if not names:
        raise UsageError(f'claim "{claim.that}": it names no metric')
    try:
        found = {name: candidates_find(matrix, name) for name in names}
        series = {name: candidates[0] for name, candidates in found.items()}
        best = best_of(comparison)
        if best is None:
            outcome, remark = comparison_decide(comparison, series)
            return ClaimVerdict(claim, outcome, (remark,))
        against = [comparison_decide(comparison, series | {best: candidate})
                   for candidate in found[best]]
    except Undecidable as error:
        return ClaimVerdict(claim, "undecided", (str(error),))
    outcome, at = best_decide(comparison, best, [outcome for outcome, _ in against])
    return ClaimVerdict(claim, outcome, (against[at][1], f"against {found[best][at].cell.name}"))


def best_decide(comparison: Comparison, best: Reference, outcomes: list[str]) -> tuple[str, int]:
    """The outcome from those against each cell, the best median first, and the one that shows it.

    To reach the best is to reach every one; to stay behind it, to stay behind some.
    """
    reaches = (METRICS[best.metric].better == "higher") == (comparison.sign in (">=", ">"))
    every, some = ("ok", "not ok") if reaches else ("not ok", "ok")
    at = next((number for number, outcome in enumerate(outcomes) if outcome != every), None)
    if at is None:
        return every, 0
    return (some, 0) if outcomes[0] == some else ("undecided", at)


def rounds_all(series: Mapping[Reference, Series]) -> list[int]:
    """The rounds that all have, ascending; Undecidable where there is none."""
    rounds = sorted(set.intersection(*(set(one.values) for one in series.values())))
    if not rounds:
        raise Undecidable("the cells share no good round")
    return rounds


def rounds_shared(series: Mapping[Reference, Series]) -> list[dict[Reference, float]]:
    """The value of every reference in each round that all have, ascending; Undecidable where there
    is none."""
    return [{name: one.values[number] for name, one in series.items()}
            for number in rounds_all(series)]


def is_exact(series: Mapping[Reference, Series]) -> bool:
    """Whether all of these are counts that were the same in every run."""
    return all(one.exact for one in series.values())


def comparison_decide(comparison: Comparison,
                      series: Mapping[Reference, Series]) -> tuple[str, str]:
    """Outcome and remark from the values of every reference by round."""
    if not rounds_common(one.cell for one in series.values()) and not is_exact(series):
        if is_censored(series):
            raise Undecidable(
                "in some boot a value lies among requests that were due and never sent")
        return boots_compare(comparison, series)
    if is_censored(series):
        return directions_compare(comparison, series)
    left, right = ([evaluate(side, values) for values in rounds_shared(series)]
                   for side in (comparison.left, comparison.right))
    return (exact_compare if is_exact(series) else sides_compare)(comparison, left, right)


def exact_compare(comparison: Comparison, left: list[float],
                  right: list[float]) -> tuple[str, str]:
    """Outcome and remark of counts that were the same in every run."""
    holds = counts_compare(comparison.sign, left[0], right[0])
    return "ok" if holds else "not ok", (f"exactly {count_text(left[0])} against "
                                         f"{count_text(right[0])} in all of {len(left)} rounds")


def counts_compare(sign: str, left: float, right: float) -> bool:
    """Compares exact counts; what differs by the rounding of arithmetic only is equal."""
    if math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12):
        return sign in (">=", "<=", "==")
    return COMPARISONS[sign](left, right)


def targets_meant(matrix: Matrix, claim: Claim) -> list[str | None]:
    """The targets that a claim is held against one by one: all there are where it names none;
    [None]: as it stands."""
    comparison = claim_parse(claim.that)
    named = [words_parse(name.words, name.text) for side in (comparison.left, comparison.right)
             for name in references_of(side)]
    if TARGET not in matrix.axes or any(TARGET in words for words in named):
        return [None]
    return list(dict.fromkeys(cell.target for cell in matrix.cells.values()))


def claims_decide(matrix: Matrix) -> list[ClaimVerdict]:
    """Every claim of the scenario, in order."""
    return [claim_decide(matrix, claim, target) for claim in matrix.result.scenario.claims
            for target in targets_meant(matrix, claim)]


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
