# SPDX-License-Identifier: MIT
"""Gates of `--fail-if`: whether each row of a comparison is beyond a limit, within it or undecided.

    gate  = metric ( ">" | "<" ) limit
    limit = [ sign ] number "%"    the change, new / base - 1
          | number [ unit ]        the figure of the new side itself

All gates and rows of a command are one family, except exact counts: each interval has the
confidence 1 - 5 % / their number (Bonferroni). So the shown interval is the one that decides.

A gate fails closed: a row is undecided if one of its sides lacks the figure in any round, did not
run, or has a contrast from which nothing is claimed.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import counted_text, number_text, percent_text, quantity_parse, units_text
from suite.contrast.contrast import STATUS_WHY, Contrast, Status, Unit, session_medians
from suite.decide.comparison.model import Comparison, Row
from suite.observe.frame import NO_SERIES, Cell, Matrix, Series
from suite.observe.metrics import Metric, metric_find
from suite.result.plan import Plan

GATE = re.compile(r"\s*(\w+)\s*([<>])\s*([-+]?)(\d+(?:\.\d*)?|\.\d+)\s*(%|[A-Za-zµμ/]*)\s*")
GRAMMAR = 'METRIC > LIMIT or METRIC < LIMIT, the limit a change (+3%) or a figure (1, 30us)'
UNITS_NEEDED = ("s", "bit/s")  # base units for which a limit must name its unit
NOTHING_COMPARED = 4  # exit status


class GateVerdict(Enum):
    """Where a figure is relative to the limit of a gate; the value is its name in JSON and CSV."""

    WITHIN = "within"          # the whole interval is within the limit
    REGRESSION = "regression"  # the whole interval is beyond it
    UNDECIDED = "undecided"    # neither


# Exit statuses, the most important first; None: a gate has no row.
STATUS = {GateVerdict.REGRESSION: 5, None: NOTHING_COMPARED, GateVerdict.UNDECIDED: 3,
          GateVerdict.WITHIN: 0}
NOISES = (0.03, 0.1, 0.3)  # noise of the ratio of a round, for which a plan says how many rounds


@dataclass(frozen=True)
class Gate:
    """One gate. above: it fails above its limit, else below. relative: the limit is a ratio new /
    base, else a value of the new side in the base unit. limit_text: as typed."""

    metric: Metric
    above: bool
    limit: float
    relative: bool
    limit_text: str

    @property
    def text(self) -> str:
        return f"{self.metric.name} {self.limit_text}"


@dataclass(frozen=True)
class GateRow:
    """One row of a comparison and one gate.

    contrast: of the two sides; None if the limit is a figure. values: then of the new side, by
    round or session.
    why: why there are no values, or why the row is undecided.
    figure: the ratio, or the value, with its corrected interval.
    rounds: how many (boots, sessions) would decide an undecided row; infinite: too many to advise.
    planned: how many find the change of stats.rounds_planned(); None if the noise is unknown.
    """

    gate: Gate
    comparison: Comparison
    row: Row
    contrast: Contrast | None = None
    values: Series = NO_SERIES
    exact: bool = False
    why: str = ""
    verdict: GateVerdict = GateVerdict.UNDECIDED
    figure: stats.Estimate | None = None
    rounds: float = math.inf
    planned: float | None = None

    @property
    def paired(self) -> bool:
        """Whether the values are one sample: of pairs, or of the new side alone."""
        return self.contrast is None or self.contrast.paired


@dataclass(frozen=True)
class Gates:
    """All gates, decided. alpha: of each interval. tested: how many rows need an interval. missing:
    the gates without a row."""

    rows: tuple[GateRow, ...]
    alpha: float
    tested: int
    missing: tuple[Gate, ...]

    @property
    def status(self) -> int:
        """Exit status: 5 a regression, 4 a gate without a row, 3 an undecided row, 0 all within."""
        found = {row.verdict for row in self.rows} | ({None} if self.missing else set())
        return next(status for verdict, status in STATUS.items() if verdict in found)


def gate_parse(text: str) -> Gate:
    """Parses a gate; UsageError says what would be right."""
    where = f'--fail-if "{text}"'
    match = GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"{where}: a gate is {GRAMMAR}")
    name, compare, sign, number, unit = match.groups()
    metric, value = metric_find(name, where), float(number)
    if unit == "%":
        limit = 1 + float(f"{sign}{number}") / 100
        if limit <= 0:
            raise UsageError(f"{where}: a change is above -100%")
        return Gate(metric, compare == ">", limit, True,
                    f"{compare} {sign or '+' * (value > 0)}{number}%")
    if sign:
        raise UsageError(f"{where}: a figure has no sign, and a change needs %: "
                         f"{name} {compare} {sign}{number}%")
    if unit or (value and metric.unit in UNITS_NEEDED):
        value = value_with_unit(metric, number, unit, where)
    return Gate(metric, compare == ">", value, False, f"{compare} {number} {unit}".rstrip())


def value_with_unit(metric: Metric, number: str, unit: str, where: str) -> float:
    """A figure of a metric in its base unit; UsageError for a unit that is not of the metric."""
    quantity = quantity_parse(number, unit)
    if quantity is not None and quantity.base == metric.unit:
        return float(quantity)
    raise UsageError(f"{where}: {metric.name} is " + (
        "a count and has no unit" if metric.counts else
        f"in {units_text(metric.unit)}: give the limit one of these units"))


def gates_parse(texts: Sequence[str]) -> tuple[Gate, ...]:
    """All gates of a command; UsageError if one is given twice."""
    gates = tuple(map(gate_parse, texts))
    for number, gate in enumerate(gates):
        if gate in gates[:number]:
            raise UsageError(f'--fail-if "{texts[number]}" is given twice')
    return gates


GATE_WHY = STATUS_WHY | {
    Status.ABSENT: "the two sides share no round",
    Status.ZERO: "0 in some round: the limit must be a figure, not a change"}


def unknown_text(matrix: Matrix, cell: Cell, metric: str, rounds: frozenset[int]) -> str:
    """Why a side lacks a figure, or lacks it in some of these rounds; empty if it has all."""
    if matrix.result.damage_unknown:
        return matrix.result.damage_unknown
    if cell.status != "ok":
        return f"{cell.status}{': ' * bool(cell.reasons)}{'; '.join(cell.reasons)}"
    series = matrix.series(cell.name, metric)
    missing = len(rounds - frozenset(series.rounds.tolist()))
    if not len(series):
        return matrix.coverage_text(cell, metric) or f"no run reports {metric}"
    return f"{metric} is unknown in {missing} of {len(rounds)} rounds" if missing else ""


def row_make(gate: Gate, comparison: Comparison, row: Row) -> GateRow:
    """The figures of a row for a gate; why says what is unknown, and leaves the row undecided."""
    metric = gate.metric
    sides = [("base", comparison.base.matrix, row.base), ("new", comparison.new.matrix, row.new)]
    sides = sides if gate.relative else sides[1:]
    ran = [frozenset(matrix.rounds_of(cell.name)) if cell else frozenset[int]()
           for _, matrix, cell in sides]
    if gate.relative and comparison.within and comparison.unit is Unit.ROUND:
        ran = [ran[0] | ran[1]] * 2
    texts = [unknown_text(matrix, cell, metric.name, rounds) if cell else "no such cell"
             for (_, matrix, cell), rounds in zip(sides, ran, strict=True)]
    whys = [f"{name}: {text}" for (name, *_), text in zip(sides, texts, strict=True) if text]
    made = GateRow(gate, comparison, row, why="; ".join(whys))
    if whys:
        return made
    if gate.relative:
        change = row.changes.get(metric.name)
        if change is None:
            return replace(made, why=f"{metric.name} is not compared")
        contrast = change.contrast
        return replace(made, contrast=contrast, exact=contrast.exact,
                       why="" if contrast.exact else GATE_WHY.get(contrast.status, ""))
    matrix, cell = comparison.new.matrix, row.new
    if cell is None:
        return made
    if metric not in comparison.metrics:
        return replace(made, why=f"{metric.name} is not compared")
    series, exact = matrix.series(cell.name, metric.name), matrix.is_exact(cell.name, metric.name)
    if cell.emulated and metric.whole and not exact:
        return replace(made, why=GATE_WHY[Status.TIMING])
    values = series if comparison.unit is not Unit.SESSION or exact else session_medians(
        matrix, series)
    return replace(made, values=values, exact=exact)


def exact_figure(row: GateRow) -> stats.Estimate:
    """The exact count of the new side, or its ratio to that of the base, which may be infinite."""
    if row.contrast is None:
        return stats.Estimate(row.values.median, None, 0)
    return row.contrast.estimate() or stats.Estimate(math.inf, None, 0)


def figure_of(row: GateRow, alpha: float) -> stats.Estimate:
    """The ratio, or the median, with its interval of confidence 1 - alpha. Censored values have no
    ratio, only a direction relative to the limit."""
    if row.contrast:
        limit, new, base = row.gate.limit, row.contrast.new, row.contrast.base
        if row.contrast.censored:
            return stats.ratio_directed((new.bounds, new.values),
                                        (base.bounds * limit, base.values * limit), row.paired,
                                        alpha)
        return row.contrast.estimate(alpha) or stats.Estimate(math.nan, None, 0)
    new = row.values
    interval = stats.median_interval(new.values, new.bounds, alpha)
    sure = interval if interval and interval.level is not None else None
    if sure and not new.censored:  # dependent rounds know the median less well
        wider = stats.widening_of(new.values)
        sure = stats.Interval(new.median - wider * (new.median - sure.low),
                              new.median + wider * (sure.high - new.median), sure.level)
    return stats.Estimate(new.median, sure, len(new))


def limit_verdict(figure: stats.Estimate, limit: float, above: bool, exact: bool = False
                  ) -> GateVerdict:
    """The verdict of a figure that must not be above a limit (or below: above is False). exact: a
    count that was the same in every run."""
    if exact:
        low, high = figure.value, figure.value
    elif figure.interval is None:
        return GateVerdict.UNDECIDED
    else:
        low, high = figure.interval[:2]
    if (high <= limit) if above else (low >= limit):
        return GateVerdict.WITHIN
    return GateVerdict.REGRESSION if (low > limit if above else high < limit) else (
        GateVerdict.UNDECIDED)


def ratio_to_limit(row: GateRow) -> tuple[stats.Ratio | None, float]:
    """The ratio whose width plans more rounds, and how far it is from the limit, a logarithm. None
    if a value is censored, or not above 0."""
    limit = row.gate.limit
    if row.contrast:
        ratio = row.contrast.ratio
        return ratio, ratio.centre - math.log(limit) if ratio else 0.0
    if row.values.censored or not row.values.positive or limit <= 0:
        return None, 0.0
    ratio = stats.ratio_make(row.values.values, np.full(len(row.values), limit), True)
    return ratio, ratio.centre


def row_decide(row: GateRow, tested: int) -> GateRow:
    """The row with its verdict. tested: the number of rows of the family."""
    if row.why:
        return row
    figure = exact_figure(row) if row.exact else figure_of(row, stats.ALPHA / tested)
    limit = 1.0 if figure.directed else row.gate.limit
    decided = replace(row, figure=figure, verdict=limit_verdict(
        figure, limit, row.gate.above, row.exact))
    ratio, shift = ratio_to_limit(row) if not row.exact else (None, 0.0)
    if ratio is None:
        return decided
    rounds: float = stats.rounds_deciding(tested, row.paired)
    if ratio.interval() is not None:
        rounds = max(ratio.pairs + 1, stats.rounds_to_find(ratio, tested, shift))
    noise = stats.noise_measured(ratio)
    return replace(decided, rounds=rounds, planned=None if noise is None else (
        stats.rounds_planned(noise, tested, row.paired)))


def gates_decide(comparisons: Sequence[Comparison], gates: Sequence[Gate]) -> Gates:
    """All gates over all rows of all comparisons, as one family. A gate whose metric no run reports
    compares nothing."""
    known = [gate for gate in gates if any(one.is_known(gate.metric) for one in comparisons)]
    rows = [row_make(gate, one, row) for gate in known for one in comparisons for row in one.rows]
    tested = max(sum(not row.exact for row in rows), 1)
    return Gates(tuple(row_decide(row, tested) for row in rows), stats.ALPHA / tested,
                 sum(not row.exact for row in rows),
                 tuple(gate for gate in gates if gate not in known))


def planned_text() -> str:
    """The beginning of a sentence that ends with a number of rounds."""
    return (f"a row {percent_text(stats.PLANNED_CHANGE - 1)} beyond its limit is found in "
            f"{number_text(10 * stats.PLANNED_POWER, 1)} of 10 results of")


def plan_lines(plan: Plan, gates: Iterable[Gate]) -> list[str]:
    """How many rounds gates need on the cells of a plan, for `uncork run -n`."""
    rows = sum(len(plan.compared if gate.relative else plan.runnable)
               for gate in gates if not gate.metric.whole)
    if not rows:
        return ["gate: counts that are the same in every run are decided by 2 rounds"]
    texts = [f"{needed} rounds where ratios of rounds vary by {percent_text(noise)}"
             for noise in NOISES if math.isfinite(needed := stats.rounds_planned(noise, rows))]
    return [f"gate: {stats.rounds_deciding(rows)} rounds are the fewest that decide "
            f"{counted_text(rows, 'row')}",
            f"gate: {planned_text()} {', '.join(texts)}"]
