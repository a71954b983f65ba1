# SPDX-License-Identifier: MIT
"""Gates of `--fail-if`: whether each row of a comparison is beyond a limit, within it or undecided.

    gate  = metric ( ">" | "<" ) limit
    limit = [ sign ] number "%"    the change, new / base - 1
          | number [ unit ]        the figure of the new side itself

All gates and rows of a command are one family, except exact counts: each interval has the
confidence 1 - 5 % / their number (Bonferroni). So the shown interval is the one that decides.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suite import stats
from suite.analyse.comparison.model import Comparison, Row, Unit
from suite.analyse.comparison.samples import session_medians
from suite.analyse.frame import NO_SERIES, Series, noise_floor_highest, ratio_of
from suite.analyse.metrics import Metric, metric_find
from suite.analyse.verdicts import GateVerdict, Verdict, limit_verdict
from suite.base.errors import UsageError
from suite.base.units import counted_text, number_text, percent_text, quantity_parse, units_text
from suite.result.plan import Plan

GATE = re.compile(r"\s*(\w+)\s*([<>])\s*([-+]?)(\d+(?:\.\d*)?|\.\d+)\s*(%|[A-Za-zµμ/]*)\s*")
GRAMMAR = 'METRIC > LIMIT or METRIC < LIMIT, the limit a change (+3%) or a figure (1, 30us)'
UNITS_NEEDED = ("s", "bit/s")  # base units for which a limit must name its unit
NOTHING_COMPARED = 4  # exit status
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

    new, base: the values of both sides, by round or session; base: None if the limit is a figure.
    why: why there are no values, or why the row is undecided.
    figure: the ratio, or the value, with its corrected interval.
    rounds: how many (boots, sessions) would decide an undecided row; infinite: too many to advise.
    planned: how many find the change of stats.rounds_planned(); None if the noise is unknown.
    """

    gate: Gate
    comparison: Comparison
    row: Row
    new: Series = NO_SERIES
    base: Series | None = None
    exact: bool = False
    why: str = ""
    verdict: GateVerdict = GateVerdict.UNDECIDED
    figure: stats.Estimate | None = None
    rounds: float = math.inf
    planned: float | None = None

    @property
    def paired(self) -> bool:
        """Whether the values are one sample: of pairs, or of the new side alone."""
        return self.base is None or self.comparison.paired


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


def row_make(gate: Gate, comparison: Comparison, row: Row) -> GateRow | None:
    """The figures of a row for a gate. None if the row does not concern the gate: a side has no
    such cell, or neither side has the metric and none has failed."""
    metric = gate.metric
    sides = [side.matrix for side in comparison.sides]
    cells = [cell for cell in (row.base, row.new) if cell and (gate.relative or cell is row.new)]
    if len(cells) < 1 + gate.relative:
        return None
    series = [matrix.series(cell.name, metric.name)
              for matrix, cell in zip(sides[-len(cells):], cells, strict=True)]
    if metric not in comparison.metrics or not all(map(len, series)):
        names = ("base", "new")[-len(cells):]
        reasons = [f"{name}: {cell.status}{': ' * bool(cell.reasons)}{'; '.join(cell.reasons)}"
                   for name, cell, found in zip(names, cells, series, strict=True)
                   if not len(found)]
        concerned = metric in comparison.metrics and (
            any(map(len, series)) or any(cell.status in ("failed", "missing") for cell in cells))
        return GateRow(gate, comparison, row, why="; ".join(reasons)) if concerned else None
    if gate.relative:
        change = row.changes.get(metric.name)
        if change is None:
            return GateRow(gate, comparison, row, why="the two sides share no round")
        known = change.exact or change.positive
        return GateRow(gate, comparison, row, change.new_values, change.base_values, change.exact,
                       "" if known else "0 in some round: the limit must be a figure, not a change")
    exact = sides[1].is_exact(cells[0].name, metric.name)
    values = series[0] if comparison.unit is not Unit.SESSION or exact else session_medians(
        sides[1], series[0])
    return GateRow(gate, comparison, row, values, None, exact)


def exact_figure(row: GateRow) -> stats.Estimate:
    """The exact count of the new side, or its ratio to that of the base, which may be infinite."""
    value = float(row.new.values[0])
    if row.base is not None:
        base = float(row.base.values[0])
        value = value / base if base else 1.0 if value == base else math.inf
    return stats.Estimate(value, None, 0)


def limit_of(row: GateRow) -> Series:
    """The limit by round: the gate fails if the new values are beyond these."""
    limit, base = row.gate.limit, row.base
    if base is not None:
        return Series(base.rounds, base.values * limit, base.bounds * limit)
    same = np.full(len(row.new), limit)
    return Series(row.new.rounds, same, same)


def figure_of(row: GateRow, alpha: float) -> stats.Estimate:
    """The ratio, or the median, with its interval of confidence 1 - alpha. Censored values have no
    ratio, only a direction relative to the limit."""
    new, base = row.new, row.base
    if base is not None:
        censored = new.censored or base.censored
        return ratio_of(new, limit_of(row) if censored else base, row.paired, alpha)
    interval = stats.median_interval(new.values, new.bounds, alpha)
    sure = interval if interval and interval.level is not None else None
    return stats.Estimate(new.median, sure, len(new))


def shift_of(row: GateRow) -> stats.Estimate | None:
    """log(new / limit), with its interval; None if a value is censored, or not above 0."""
    new, limit = row.new, limit_of(row)
    if new.censored or limit.censored or not new.positive or not limit.positive:
        return None
    if row.base is not None:
        return stats.shift_estimate(np.log(new.values), np.log(limit.values), row.paired)
    interval, centre = stats.median_interval(new.values), math.log(row.gate.limit)
    ends = None if interval is None or interval.level is None else stats.Interval(
        math.log(interval.low) - centre, math.log(interval.high) - centre, interval.level)
    return stats.Estimate(math.log(stats.median(new.values)) - centre, ends, len(new))


def row_decide(row: GateRow, tested: int) -> GateRow:
    """The row with its verdict. tested: the number of rows of the family."""
    if row.why:
        return row
    gate, sides = row.gate, zip(row.comparison.sides, (row.row.base, row.row.new), strict=True)
    floor = noise_floor_highest([(side.matrix, cell) for side, cell in sides if cell],
                               gate.metric.name)
    figure = exact_figure(row) if row.exact else figure_of(row, stats.ALPHA / tested)
    change = row.row.changes.get(gate.metric.name) if gate.relative else None
    known = change.verdict if change else None
    limit = 1.0 if figure and figure.directed else gate.limit
    verdict = limit_verdict(figure, limit, gate.above, floor, row.exact, known)
    bracketed = verdict is GateVerdict.UNDECIDED and known is Verdict.BRACKETED
    decided = replace(row, verdict=verdict, figure=figure, why=(
        "may be chance among all rows of the result" if bracketed else ""))
    shift = None if row.exact else shift_of(row)
    if shift is None:
        return decided
    rounds: float = stats.rounds_deciding(tested, row.paired)
    if shift.interval is not None:
        beyond = (shift.value > 0) is gate.above
        rounds = max(shift.pairs + 1, stats.rounds_for_shift(
            shift, row.paired, tested, (floor or 1.0) if beyond else 1.0))
    noise = stats.noise_measured(shift)
    return replace(decided, rounds=rounds, planned=None if noise is None else (
        stats.rounds_planned(noise, tested, row.paired)))


def gates_decide(comparisons: Sequence[Comparison], gates: Sequence[Gate]) -> Gates:
    """All gates over all rows of all comparisons, as one family."""
    rows = [made for gate in gates for one in comparisons for row in one.rows
            if (made := row_make(gate, one, row))]
    tested = sum(not row.exact for row in rows)
    known = {row.gate for row in rows}
    return Gates(tuple(row_decide(row, max(tested, 1)) for row in rows),
                 stats.ALPHA / max(tested, 1), tested,
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
