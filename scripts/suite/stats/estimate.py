# SPDX-License-Identifier: MIT
"""An interval and an estimate with what is read off them, the noise floor, the relative width; the
median of rounds, its interval by order statistics, and which rounds are outliers.

References: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 3.6
(sign test); Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): modified z-scores,
their limit of 3.5, and the mean absolute deviation where the median one is 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suite.base.units import Beyond
from suite.stats.nulls import ALPHA, sign_null

OUTLIER_DEVIATIONS = 3.5
# A standard deviation of normal noise by its median and by its mean absolute deviation.
DEVIATION_BY_MEDIAN, DEVIATION_BY_MEAN = 1.4826, math.sqrt(math.pi / 2)


class Interval(NamedTuple):
    """A closed interval; level: its coverage (0.969), None: only min..max. An end may be Beyond."""

    low: float
    high: float
    level: float | None

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A centre with its interval, and the number of pairs (unpaired: of values on the smaller side)
    behind it. interval: None where there are too few pairs. p: of no change, two-sided, by the test
    that the interval inverts: the smallest level at which the closed interval excludes it, so at
    most ALPHA exactly where this one does. p_least: the smallest p that so many pairs can give.
    directed: only a direction is known (stats/shift.py)."""

    value: float
    interval: Interval | None
    pairs: int
    p: float | None = None
    p_least: float = 1.0
    directed: bool = False

    @property
    def span(self) -> tuple[float, ...]:
        """The centre and the ends of its interval; the centre alone without one, or if directed."""
        ends = () if self.interval is None or self.directed else self.interval[:2]
        return (self.value, *ends)


def estimate_floor(same: Estimate) -> float | None:
    """The noise floor of a baseline as a ratio, 1 or above; same: A' / A. None without an interval.
    It is the farther end, in logarithms, of the 95 % interval of A' / A. From 1 / floor to floor
    the comparison of the baseline with itself, in as many rounds, excludes nothing."""
    within = same.interval
    return None if within is None or same.directed else max(within.high, 1 / within.low)


def is_within_floor(ratio: float, floor: float | None) -> bool:
    """Whether a ratio (above 0) is no farther from 1 than the noise floor; False without one."""
    return floor is not None and 1 / floor <= ratio <= floor


def relative_width(centre: float, interval: Interval) -> float:
    """The farther end of the interval from its centre (not 0), as a fraction of the centre."""
    return max(interval.high - centre, centre - interval.low) / abs(centre)


def median(values: Sequence[float], bounds: Sequence[float] | None = None) -> float:
    """The median of values, not empty. An infinite value is censored: it lies beyond bounds[i]."""
    middle = float(np.median(np.asarray(values, dtype=float)))
    return Beyond(np.median(bounds)) if math.isinf(middle) and bounds is not None else middle


def median_interval(values: Sequence[float],
                    bounds: Sequence[float] | None = None, alpha: float = ALPHA) -> Interval | None:
    """The interval of the median of confidence 1 - alpha: order statistics k and n+1-k. min..max
    where there is none (at 5 %: below 6 values); None below 2. Bounds as in median()."""
    ordered = np.sort(np.asarray(values, dtype=float))
    beyond = np.sort(np.asarray(values if bounds is None else bounds, dtype=float))
    n = len(ordered)
    if n < 2:
        return None
    null = sign_null(n)
    rank = null.rank_at(alpha) if null else 0
    low, high = (Beyond(beyond[place]) if math.isinf(ordered[place]) else float(ordered[place])
                 for place in (max(rank, 1) - 1, n - max(rank, 1)))
    return Interval(low, high, null.level_of(rank) if null and rank else None)


def outliers_mark(values: Sequence[float]) -> list[bool]:
    """Which values lie more than 3.5 robust standard deviations from the median; none below 4
    values. The deviation is 1.4826 times the median absolute one. Where that is 0, because more
    than half of the values are the same, it is 1.2533 times the mean absolute one: a few that
    differ are marked then, but not a third of them."""
    array = np.asarray(values, dtype=float)
    if len(array) < 4:
        return [False] * len(array)
    apart = np.abs(array - np.median(array))
    deviation = DEVIATION_BY_MEDIAN * np.median(apart) or DEVIATION_BY_MEAN * np.mean(apart)
    return [bool(mark) for mark in apart > OUTLIER_DEVIATIONS * deviation]
