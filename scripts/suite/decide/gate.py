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
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import quantity_parse, units_text
from suite.contrast.contrast import STATUS_WHY, Contrast, Status, Unit, session_medians
from suite.decide.claims import outcome_of
from suite.decide.comparison.model import Comparison, Row
from suite.observe.frame import Cell, Matrix, Series
from suite.observe.metrics import Metric, metric_find

GATE = re.compile(r"\s*(\w+)\s*([<>])\s*([-+]?)(\d+(?:\.\d*)?|\.\d+)\s*(%|[A-Za-zµμ/]*)\s*")
GRAMMAR = 'METRIC > LIMIT or METRIC < LIMIT, the limit a change (+3%) or a figure (1, 30us)'
UNITS_NEEDED = ("s", "bit/s")  # base units for which a limit must name its unit
# The verdict of a row, as JSON and CSV name it: all of the interval is within the limit, all of it
# is beyond, or neither. By the outcome of the claim that the figure is within the limit.
WITHIN, REGRESSION, UNDECIDED = "within", "regression", "undecided"
VERDICTS = {"ok": WITHIN, "not ok": REGRESSION, "undecided": UNDECIDED}
NOTHING_COMPARED = 4  # exit status if a gate has no row
# Exit statuses, the most important first; None: a gate has no row.
STATUS = {REGRESSION: 5, None: NOTHING_COMPARED, UNDECIDED: 3, WITHIN: 0}
GATE_WHY = STATUS_WHY | {Status.ZERO: "0 in some round: the limit must be a figure, not a change"}


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

    contrast: of the two sides, or if the limit is a figure of the new side with the number 1; None
    if why says what is unknown. why: also why the row is undecided.
    figure: the ratio, or the value, with its corrected interval.
    rounds: how many (boots, sessions) would decide an undecided row; infinite: too many to advise.
    planned: how many find the change of stats.rounds_planned(); None if the noise is unknown.
    """

    gate: Gate
    comparison: Comparison
    row: Row
    contrast: Contrast | None = None
    why: str = ""
    verdict: str = UNDECIDED
    figure: stats.Estimate | None = None
    rounds: float = math.inf
    planned: float | None = None

    @property
    def exact(self) -> bool:
        return self.contrast is not None and self.contrast.exact


@dataclass(frozen=True)
class Gates:
    """All gates, decided. tested: how many rows need an interval. missing: the gates without a
    row."""

    rows: tuple[GateRow, ...]
    tested: int
    missing: tuple[Gate, ...]

    @property
    def alpha(self) -> float:
        """1 minus the confidence of each interval."""
        return stats.ALPHA / max(self.tested, 1)

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
        quantity = quantity_parse(number, unit)
        if quantity is None or quantity.base != metric.unit:
            raise UsageError(f"{where}: {metric.name} is " + (
                "a count and has no unit" if metric.counts else
                f"in {units_text(metric.unit)}: give the limit one of these units"))
        value = float(quantity)
    return Gate(metric, compare == ">", value, False, f"{compare} {number} {unit}".rstrip())


def gates_parse(texts: Sequence[str]) -> tuple[Gate, ...]:
    """All gates of a command; UsageError if one is given twice."""
    gates = tuple(map(gate_parse, texts))
    for number, gate in enumerate(gates):
        if gate in gates[:number]:
            raise UsageError(f'--fail-if "{texts[number]}" is given twice')
    return gates


def unknown_text(matrix: Matrix, cell: Cell | None, metric: str, rounds: Collection[int]) -> str:
    """Why a side lacks a figure, or lacks it in some of these rounds; empty if it has all."""
    if cell is None:
        return "no such cell"
    if matrix.result.damage_unknown:
        return matrix.result.damage_unknown
    if cell.status != "ok":
        return ": ".join(filter(None, (cell.status, "; ".join(cell.reasons))))
    series = matrix.series(cell.name, metric)
    if not len(series):
        return matrix.coverage_text(cell, metric) or f"no run reports {metric}"
    missing = len({*rounds}.difference(series.rounds.tolist()))
    return f"{metric} is unknown in {missing} of {len(rounds)} rounds" if missing else ""


def sides_unknown_text(gate: Gate, comparison: Comparison, row: Row) -> str:
    """Why a side that the gate needs lacks a figure; empty if none does."""
    sides = [("base", comparison.base.matrix, row.base), ("new", comparison.new.matrix, row.new)]
    sides = sides if gate.relative else sides[1:]
    ran = [matrix.rounds_of(cell.name) if cell else set() for _, matrix, cell in sides]
    if comparison.within and comparison.paired:
        ran = [set().union(*ran)] * len(ran)
    texts = [(name, unknown_text(matrix, cell, gate.metric.name, rounds))
             for (name, matrix, cell), rounds in zip(sides, ran, strict=True)]
    return "; ".join(f"{name}: {text}" for name, text in texts if text)


def row_make(gate: Gate, comparison: Comparison, row: Row) -> GateRow:
    """The figures of a row for a gate; why says what is unknown, and leaves the row undecided."""
    metric, matrix, cell = gate.metric, comparison.new.matrix, row.new
    change, why = row.changes.get(metric.name), sides_unknown_text(gate, comparison, row)
    if not why and ((change is None) if gate.relative else (metric not in comparison.metrics)):
        why = f"{metric.name} is not compared"
    if why or cell is None:
        return GateRow(gate, comparison, row, why=why)
    if gate.relative and change:
        contrast = change.contrast
        return GateRow(gate, comparison, row, contrast,
                       "" if contrast.exact else GATE_WHY.get(contrast.status, ""))
    values, exact = matrix.series(cell.name, metric.name), matrix.is_exact(cell.name, metric.name)
    if cell.emulated and metric.whole and not exact:
        return GateRow(gate, comparison, row, why=GATE_WHY[Status.TIMING])
    if comparison.unit is Unit.SESSION and not exact:
        values = session_medians(matrix, values)
    ones = np.ones(len(values))
    return GateRow(gate, comparison, row, Contrast(
        Series(values.rounds, ones, ones), values, Status.OK, exact=exact,
        ratio=stats.ratio_make(values.values, ones, True)
        if values.positive and not values.censored else None))


def change_figure(contrast: Contrast, limit: float, alpha: float) -> stats.Estimate:
    """The ratio with its interval of confidence 1 - alpha. That of exact counts may be infinite.
    Censored values have no ratio, only a direction relative to the limit."""
    base, new = contrast.base, contrast.new
    if contrast.censored and not contrast.exact:
        return stats.ratio_directed((new.bounds, new.values),
                                    (base.bounds * limit, base.values * limit), contrast.paired,
                                    alpha)
    return contrast.estimate(alpha) or stats.Estimate(math.inf, None, 0)


def median_figure(values: Series, alpha: float) -> stats.Estimate:
    """The median with its interval of confidence 1 - alpha."""
    interval = stats.median_interval(values.values, values.bounds, alpha)
    sure = interval if interval and interval.level is not None else None
    if sure and not values.censored:  # dependent rounds know the median less well
        wider, middle = stats.widening_of(values.values), values.median
        sure = stats.Interval(middle - wider * (middle - sure.low),
                              middle + wider * (sure.high - middle), sure.level)
    return stats.Estimate(values.median, sure, len(values))


def limit_verdict(interval: stats.Interval | None, limit: float, above: bool) -> str:
    """The verdict of an interval that must not be above a limit (or below: above is False)."""
    return VERDICTS[outcome_of("<=" if above else ">=", interval, limit)]


def row_decide(row: GateRow, tested: int) -> GateRow:
    """The row with its verdict. tested: the number of rows of the family."""
    gate, contrast, alpha = row.gate, row.contrast, stats.ALPHA / tested
    if row.why or contrast is None:
        return row
    figure = change_figure(contrast, gate.limit, alpha) if gate.relative else (
        median_figure(contrast.new, alpha))
    if row.exact:
        figure = stats.Estimate(figure.value, None, 0)
    interval = stats.Interval(figure.value, figure.value, None) if row.exact else figure.interval
    limit = 1.0 if figure.directed else gate.limit
    row = replace(row, figure=figure, verdict=limit_verdict(interval, limit, gate.above))
    ratio = contrast.ratio
    if ratio is None or row.exact or gate.limit <= 0:
        return row
    rounds: float = stats.rounds_deciding(tested, contrast.paired)
    if ratio.interval() is not None:
        rounds = max(ratio.pairs + 1, stats.rounds_to_find(
            ratio, tested, ratio.centre - math.log(gate.limit)))
    noise = stats.noise_measured(ratio)
    return replace(row, rounds=rounds, planned=None if noise is None else (
        stats.rounds_planned(noise, tested, contrast.paired)))


def gates_decide(comparisons: Sequence[Comparison], gates: Sequence[Gate]) -> Gates:
    """All gates over all rows of all comparisons, as one family. A gate whose metric no run reports
    compares nothing."""
    known = [gate for gate in gates if any(one.is_known(gate.metric) for one in comparisons)]
    rows = [row_make(gate, one, row) for gate in known for one in comparisons for row in one.rows]
    tested = sum(not row.exact for row in rows)
    return Gates(tuple(row_decide(row, max(tested, 1)) for row in rows), tested,
                 tuple(gate for gate in gates if gate not in known))
