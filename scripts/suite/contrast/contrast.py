# SPDX-License-Identifier: MIT
"""A contrast: one metric of two cells, compared. The only place where two figures become a ratio.

Its ratio is that of the two figures that are printed, and its status says what the ratio is good
for. Tables, gates, answers and claims ask it for an estimate at the confidence of their family.

Rounds of a few sessions have an interval that also contains what the sessions differ by;
SESSIONS_ALONE or more are the units themselves (docs/methodology.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from suite import stats
from suite.observe.frame import NO_SERIES, Cell, Matrix, Series, remembered, rounds_common
from suite.observe.metrics import METRICS
from suite.scenario.scenario import LABEL_REPEAT

SESSIONS_ALONE = stats.ROUNDS_NEEDED  # so many sessions on a side are the units
GROUP_AGREES = 0.9  # a group of rounds says one thing if this share of its ratios does
Side = tuple[Matrix, Cell]
SAME_ALPHA = 0.01  # of all baselines of a metric: below it A and A' differ, and nothing is claimed


class Unit(Enum):
    """The unit of independent values; the value is its name."""

    ROUND = "round"      # both sides ran in each round: their values of a round are a pair
    BOOT = "boot"        # kernels of one result, booted for each round: values have no pair
    SESSION = "session"  # the sides are two results: a value is the median of a session's rounds


class Status(Enum):
    """What the ratio of a contrast is good for; the value is its name in JSON and CSV. Nothing is
    claimed but from OK and CENSORED."""

    OK = "ok"
    CENSORED = "censored"          # some values are only lower bounds: the direction may be known
    ABSENT = "absent"              # a side has no value, or the sides share no round
    ZERO = "zero"                  # a value is not above 0: there is no ratio
    TIMING = "timing"              # emulated, and not the same count in every run
    DISTURBED = "disturbed"        # unexpected connections reached a data port meanwhile
    MIXED = "mixed"                # two groups of rounds contradict each other
    INCOMPARABLE = "incomparable"  # the two runs of the baselines differ


# Why a status allows no claim.
STATUS_WHY = {
    Status.ABSENT: "a side has no figure, or the sides share no round",
    Status.ZERO: "a figure is 0 in some round, so there is no ratio",
    Status.TIMING: "emulated, and not the same count in every run",
    Status.DISTURBED: "unexpected connections reached a data port in some run",
    Status.MIXED: "two groups of rounds contradict each other",
    Status.INCOMPARABLE: "the two runs of the baselines differ, so the machine changes figures"}


class Verdict(Enum):
    """What follows from a contrast; the value is its name in JSON and CSV."""

    CHANGED = "changed"      # the interval excludes 1
    EXACT = "exact"          # counts that were the same in every run of each side
    EQUIVALENT = "equivalent"  # the whole interval is within margin=, a change that does not matter
    UNDECIDED = "undecided"  # the interval contains 1
    UNKNOWN = "unknown"      # too few rounds, or sessions, for so many rows
    WITHHELD = "withheld"    # the status allows no claim

    @property
    def claims(self) -> bool:
        return self in (Verdict.CHANGED, Verdict.EXACT)


@dataclass(frozen=True)
class Contrast:
    """base, new: the values that are compared, by round, boot or session. exact: both sides counted
    the same in every run. ratio: None if there is none, or only a direction. mixture: two groups of
    rounds, if there are two, and whether `base`, `new` or `ratio` has them; they contradict each
    other only if the status is MIXED. sessions: how many are in it."""

    base: Series
    new: Series
    status: Status
    unit: Unit = Unit.ROUND
    exact: bool = False
    ratio: stats.Ratio | None = None
    mixture: tuple[str, stats.Regimes] | None = None
    sessions: int = 1

    @property
    def paired(self) -> bool:
        return self.unit is Unit.ROUND

    @property
    def size(self) -> int:
        return min(len(self.base), len(self.new))

    @property
    def censored(self) -> bool:
        return bool(self.base.censored or self.new.censored)

    @property
    def claimable(self) -> bool:
        return self.status in (Status.OK, Status.CENSORED)

    def estimate(self, alpha: float = stats.ALPHA) -> stats.Estimate | None:
        """The ratio with its interval at confidence 1 - alpha, or its direction. None without."""
        if self.ratio:
            return self.ratio.estimate(alpha)
        if self.exact:
            base, new = self.base.median, self.new.median
            return stats.Estimate(1.0 if new == base else new / base, None, self.size) if (
                base or new == base) else None
        if self.status in (Status.ABSENT, Status.ZERO) or not self.censored:
            return None
        return stats.ratio_directed((self.new.bounds, self.new.values),
                                    (self.base.bounds, self.base.values), self.paired, alpha)

    @cached_property
    def p(self) -> float | None:
        """p of "no change"; None if there are too few values, no ratio, or exact counts."""
        found = self.estimate()
        return found.p if found else None

    @property
    def reach(self) -> float | None:
        """The end of the 95 % interval that is farther from 1, as a ratio of 1 or above; None
        without an interval."""
        interval = self.ratio.interval() if self.ratio else None
        return max(interval.high, 1 / interval.low) if interval else None


def session_places(matrix: Matrix, rounds: np.ndarray) -> dict[str, np.ndarray]:
    """The positions of these rounds by session; only of sessions that have some."""
    found = {session.name: np.flatnonzero((session.first <= rounds) & (rounds <= session.last))
             for session in matrix.result.plan.sessions}
    return {name: places for name, places in found.items() if len(places)}


def session_medians(matrix: Matrix, series: Series) -> Series:
    """The median of each session that has values, by session."""
    places = session_places(matrix, series.rounds)
    values, bounds = (np.array([np.median(each[at]) for at in places.values()])
                      for each in (series.values, series.bounds))
    return Series(np.array(list(places)), values, bounds)


def contradicts(side: str, regimes: stats.Regimes, ratio: stats.Ratio, ratios: np.ndarray) -> bool:
    """Whether two groups of rounds say different things: nearly all ratios of one are below 1, and
    of the other above; or the groups differ by more than the sides do, and the ratio of the medians
    is beyond the interval of the rank test. ratios: of the rounds, if the sides share them."""
    low = ratios <= regimes.limit
    if side == "ratio" and min(np.mean(ratios[low] < 1),
                                       np.mean(ratios[~low] > 1)) >= GROUP_AGREES:
        return True
    ends = ratio.shifts.ends(stats.ALPHA)
    beyond = ends is not None and not ends.low <= ratio.centre <= ends.high
    return beyond and abs(ratio.centre) < math.log(regimes.high / regimes.low)


def ratio_make(matrix: Matrix, base: Series, new: Series, pair: Sequence[Series], unit: Unit
               ) -> stats.Ratio:
    """The ratio of values above 0 that are not censored. matrix: of new. pair: base and new, joined
    if the unit is a round. Its centre is the ratio of the medians of the whole series."""
    values = pair[1].values, pair[0].values
    if unit is not Unit.ROUND:
        return stats.ratio_make(*values, False, independent=True)
    centre = new.median / base.median
    places = list(session_places(matrix, pair[1].rounds).values())
    if len(places) < SESSIONS_ALONE:
        return stats.ratio_make(*values, True, centre, places)
    ratios = values[0] / values[1]
    medians = np.array([np.median(ratios[at]) for at in places])
    return stats.ratio_make(medians, np.ones(len(medians)), True, centre, independent=True)


def claims_nothing(sides: Sequence[Side], metric: str) -> Status | None:
    """Why nothing is claimed from these sides, whatever their values are; None if claims may be."""
    if any(one.strangers for matrix, cell in sides for one in matrix.traits_of(cell.name)):
        return Status.DISTURBED
    one_cell = sides[0][1] is sides[1][1]
    return Status.INCOMPARABLE if not one_cell and any(
        same_differ(matrix, metric) for matrix, _ in sides) else None


def contrast_make(sides: Sequence[Side], metric: str, unit: Unit,
                  series: Sequence[Series] = ()) -> Contrast:
    """The contrast of a metric of two cells, base first. series: their values by round, if not
    those of Matrix.series()."""
    base, new = series or [matrix.series(cell.name, metric) for matrix, cell in sides]
    pair = [base, new]
    if unit is Unit.ROUND:
        pair = list(base.join(new))
    elif unit is Unit.SESSION:
        pair = [session_medians(matrix, one) for (matrix, _), one in zip(sides, pair, strict=True)]
    sessions = len(session_places(sides[1][0], new.rounds))

    def made(status: Status, **more: Any) -> Contrast:
        return Contrast(pair[0], pair[1], status, unit, sessions=sessions, **more)

    if not all(map(len, pair)):
        return made(Status.ABSENT)
    if all(matrix.is_exact(cell.name, metric) for matrix, cell in sides):
        return made(Status.OK, exact=True)
    if METRICS[metric].whole and any(cell.emulated for _, cell in sides):
        return made(Status.TIMING)  # but a stall is ended by a timer of the kernel
    if not all(one.positive for one in (base, new, *pair)):
        return made(Status.ZERO)
    withheld = claims_nothing(sides, metric)
    if base.censored or new.censored:
        return made(withheld or Status.CENSORED)
    ratio = ratio_make(sides[1][0], base, new, pair, unit)
    if unit is Unit.ROUND:
        base, new = pair
    ratios = new.values / base.values if unit is Unit.ROUND else NO_SERIES.values
    mixture = next(((name, found) for name, values in (
        ("ratio", ratios), ("new", new.values), ("base", base.values))
        if (found := stats.regimes_of(values))), None)
    mixed = Status.MIXED if mixture and contradicts(*mixture, ratio, ratios) else Status.OK
    return made(withheld or mixed, ratio=ratio, mixture=mixture)


@remembered
def contrast_of(matrix: Matrix, base: Cell, new: Cell, metric: str) -> Contrast:
    """The contrast of two cells of one result, new against base."""
    return contrast_make([(matrix, base), (matrix, new)], metric,
                         Unit.ROUND if rounds_common((base, new)) else Unit.BOOT)


@remembered
def same_contrast(matrix: Matrix, cell: Cell, metric: str) -> Contrast:
    """The contrast of the second run of a cell with its first, A' against A."""
    return contrast_make([(matrix, cell)] * 2, metric, Unit.ROUND,
                         matrix.runs_paired(cell.name, metric))


@remembered
def same_contrasts(matrix: Matrix, metric: str) -> dict[str, Contrast]:
    """A' against A of every cell that runs twice in a round and has both, by cell."""
    doubled = set(matrix.frame.loc[matrix.frame["label"] == LABEL_REPEAT, "cell"])
    found = {name: same_contrast(matrix.whole, cell, metric)
             for name, cell in matrix.whole.cells.items() if name in doubled}
    return {name: one for name, one in found.items() if one.p is not None}


@remembered
def same_differ(matrix: Matrix, metric: str) -> bool:
    """Whether A and A' of the baselines differ more than chance allows. Then something else than
    the words of the cells changes figures, and nothing is claimed from this metric."""
    ps = [one.p for one in same_contrasts(matrix, metric).values() if one.p is not None]
    return METRICS[metric].timed and min(stats.benjamini_hochberg(ps), default=1) <= SAME_ALPHA


def same_reach(matrix: Matrix, cell: Cell, metric: str) -> float | None:
    """The A/A interval of a cell's row, that is the reach of its baseline; None without one."""
    base = matrix.baseline_find(cell) or cell
    found = same_contrasts(matrix, metric).get(base.name)
    return found.reach if found else None
