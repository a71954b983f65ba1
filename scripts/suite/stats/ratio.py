# SPDX-License-Identifier: MIT
"""The ratio of two series of values above 0, which agrees with the medians that are printed.

- Its value is the ratio of the two medians.
- Its interval is that of the rank test of the logarithms (stats/shift.py), wider where rounds
  depend on each other, where sessions differ, and up to the value itself.
- p is of the same test: it is at most alpha exactly if the interval at confidence 1 - alpha
  excludes 1.

Neighbouring rounds may have a state of the machine in common. With a correlation r of neighbours, n
rounds say as much as n (1 - r) / (1 + r) independent ones: the variance of their mean under an
autoregressive process of order 1 (Bartlett 1946). The sample correlation is too small by about
(1 + 4 r) / n (Marriott and Pope 1954), and few rounds know it badly. So intervals are wider by the
correlation plus one standard error of it. docs/methodology.md has the simulations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import student_cumulative, student_quantile
from suite.stats.shift import ROUNDING, Shifts, shifts_make

CORRELATION_MOST = 0.9  # of a series that drifts: its interval is 4.4 times as wide
CORRELATED = 2.0  # a correlation of rounds is certain from so many standard errors on


def correlation_of(values: np.ndarray) -> tuple[float, float]:
    """The rank correlation of neighbouring rounds and its standard error; the first at least 0.
    values: of shape (rounds,), in the order in which they ran."""
    n = len(values)
    if n < 2 or not np.ptp(values):
        return 0.0, 0.0
    ordered = np.sort(values)
    # twice the mean rank of each value, equal values alike
    ranks = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    apart = ranks - ranks.mean()
    sample = float(apart[1:] @ apart[:-1]) / float(apart @ apart)
    likely = sample + (1 + 4 * max(sample, 0.0)) / n
    bounded = min(max(likely, 0.0), CORRELATION_MOST)
    # below 0 too: rounds that happen to alternate are not known better than independent ones
    return bounded, max(likely + math.sqrt((1 - bounded ** 2) / n) - bounded, 0.0)


def widening_by(correlation: float) -> float:
    """How many times wider the interval of rounds with this correlation is than that of independent
    ones; of more than CORRELATION_MOST, as of that."""
    most = min(correlation, CORRELATION_MOST)
    return math.sqrt((1 + most) / (1 - most))


def widening_of(values: np.ndarray) -> float:
    """The widening of these rounds, at least 1."""
    return widening_by(sum(correlation_of(values)))


@dataclass(frozen=True)
class Spread:
    """The mean of a few sessions, in logarithms, and its standard error."""

    mean: float
    error: float
    sessions: int

    @property
    def p(self) -> float:
        if not self.error:
            return 0.0 if abs(self.mean) > ROUNDING else 1.0
        return 1 - student_cumulative(abs(self.mean) / self.error, self.sessions - 1)

    def reach(self, alpha: float) -> tuple[float, float]:
        half = student_quantile(1 - alpha / 2, self.sessions - 1) * self.error
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Ratio:
    """A ratio, before it is known how many others are tested with it. centre: the logarithm of its
    value. shifts: of logarithms. widening: as of widening_by(). correlation: as of
    correlation_of(). spread: of its sessions, if it has a few: None if it has one, or if sessions
    are the units."""

    centre: float
    shifts: Shifts
    widening: float = 1.0
    correlation: float = 0.0
    spread: Spread | None = None

    @property
    def pairs(self) -> int:
        return self.shifts.pairs

    @property
    def independent(self) -> float:
        """As how many independent rounds these probably count."""
        return self.pairs * (1 - self.correlation) / (1 + self.correlation)

    @property
    def correlated(self) -> bool:
        """Whether the correlation is more than CORRELATED standard errors from 0."""
        return self.correlation > CORRELATED / math.sqrt(self.pairs)

    @cached_property
    def p(self) -> float | None:
        """p of "no change"; None if there are too few values."""
        shift = self.shifts.centre
        # The interval, made wider about its centre, excludes 0 if before it excludes this.
        p = self.shifts.p(shift * (1 - 1 / self.widening))
        sides = [shift, self.centre, *([self.spread.mean] if self.spread else [])]
        if p is None or not (min(sides) > ROUNDING or max(sides) < -ROUNDING):
            return None if p is None else 1.0
        return max(p, self.spread.p) if self.spread else p

    def interval(self, alpha: float = ALPHA) -> Interval | None:
        """The interval at confidence 1 - alpha; None if there are too few values."""
        ends = self.shifts.ends(alpha)
        if ends is None:
            return None
        shift = self.shifts.centre
        lows = [shift + self.widening * (ends.low - shift), self.centre]
        highs = [shift + self.widening * (ends.high - shift), self.centre]
        if self.spread:
            low, high = self.spread.reach(alpha)
            lows, highs = [*lows, low], [*highs, high]
        low, high = (0.0 if abs(end) < ROUNDING else end for end in (min(lows), max(highs)))
        return Interval(math.exp(low), math.exp(min(high, 700.0)), ends.level)

    def estimate(self, alpha: float = ALPHA) -> Estimate:
        return Estimate(math.exp(self.centre), self.interval(alpha), self.pairs, self.p,
                        self.shifts.p_least)


def ratio_make(new: Sequence[float], base: Sequence[float], paired: bool,
               centre: float | None = None,
               sessions: Sequence[np.ndarray] = (), independent: bool = False) -> Ratio:
    """The ratio new / base; all values are above 0.

    paired: both have one value for each round, in the order in which they ran.
    centre: the ratio of the printed figures, if they are not the medians of these values.
    sessions: the positions of the rounds of each session, if there are a few.
    independent: the values are of sessions or boots, which share no state of the machine.
    """
    logs = np.log(new), np.log(base)
    value = math.log(centre or np.median(new) / np.median(base))
    rounds = logs[0] - logs[1] if paired else np.empty(0)
    correlation, error = (0.0, 0.0) if independent else correlation_of(rounds)
    spread = None
    if paired and len(sessions) > 1:
        medians = [float(np.median(rounds[places])) for places in sessions]
        spread = Spread(float(np.mean(medians)),
                        float(np.std(medians, ddof=1) / math.sqrt(len(medians))), len(medians))
    return Ratio(0.0 if abs(value) < ROUNDING else value, shifts_make(*logs, paired),
                 widening_by(correlation + error), correlation, spread)
