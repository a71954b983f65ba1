# SPDX-License-Identifier: MIT
"""Intervals and estimates. The median of rounds with its interval; outliers, and two groups.

References: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 3.6
(sign test); Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): modified z-scores,
their limit of 3.5, and the mean absolute deviation if the median absolute deviation is 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suite.base.units import Beyond
from suite.stats.nulls import ALPHA, sign_null

OUTLIER_DEVIATIONS = 3.5
# The standard deviation of normal noise, divided by its median or mean absolute deviation.
DEVIATION_BY_MEDIAN, DEVIATION_BY_MEAN = 1.4826, math.sqrt(math.pi / 2)
REGIME_SHARE, REGIME_ROUNDS = 0.1, 3  # the smaller group has this share of the rounds, and so many
REGIME_TIMES = 1.5  # how many times the centre of one group is that of the other, at least
REGIME_SPREADS = 4.0  # how many standard deviations the centres are apart, at least
REGIME_FEW = 1.9, 125.0  # and so many plus so many divided by the rounds: of 10 rounds 14


class Interval(NamedTuple):
    """A closed interval. level: its coverage (0.969), None for min..max. An end may be Beyond."""

    low: float
    high: float
    level: float | None

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A centre with its interval. interval: None if there are too few pairs. pairs: their number;
    unpaired, the number of values on the smaller side. p: of "no change", two-sided: at most ALPHA
    exactly if the 95 % interval excludes it. p_least: the smallest p that so many pairs can have.
    directed: only the direction is known (stats/shift.py)."""

    value: float
    interval: Interval | None
    pairs: int
    p: float | None = None
    p_least: float = 1.0
    directed: bool = False

    @property
    def span(self) -> tuple[float, ...]:
        """The centre and the ends of its interval; the centre alone if it has none, or directed."""
        ends = () if self.interval is None or self.directed else self.interval[:2]
        return (self.value, *ends)


def relative_width(centre: float, interval: Interval) -> float:
    """The distance of the farther end from the centre, as a fraction of the centre (not 0)."""
    return max(interval.high - centre, centre - interval.low) / abs(centre)


def median(values: Sequence[float], bounds: Sequence[float] | None = None) -> float:
    """The median of values (one or more). An infinite value is censored: it is beyond bounds[i]."""
    middle = float(np.median(np.asarray(values, dtype=float)))
    return Beyond(np.median(bounds)) if math.isinf(middle) and bounds is not None else middle


def median_interval(values: Sequence[float],
                    bounds: Sequence[float] | None = None, alpha: float = ALPHA) -> Interval | None:
    """The interval of the median at confidence 1 - alpha: order statistics k and n+1-k. If there
    are too few values for it (at 5 %: below 6), min..max; below 2, None. bounds: as in median()."""
    ordered = np.sort(np.asarray(values, dtype=float))
    beyond = np.sort(np.asarray(values if bounds is None else bounds, dtype=float))
    n = len(ordered)
    if n < 2:
        return None
    null = sign_null(n)
    rank = null.rank_at(alpha)
    low, high = (Beyond(beyond[place]) if math.isinf(ordered[place]) else float(ordered[place])
                 for place in (max(rank, 1) - 1, n - max(rank, 1)))
    return Interval(low, high, null.level_of(rank) if rank else None)


def outliers_mark(values: Sequence[float]) -> list[bool]:
    """Which values are outliers: more than 3.5 robust standard deviations from the median. Below 4
    values there are none. The deviation is by the median absolute deviation. If that is 0, because
    more than half of the values are equal, it is by the mean absolute deviation. Then a few values
    that differ are outliers, but never a third of all."""
    array = np.asarray(values, dtype=float)
    if len(array) < 4:
        return [False] * len(array)
    apart = np.abs(array - np.median(array))
    deviation = DEVIATION_BY_MEDIAN * np.median(apart) or DEVIATION_BY_MEAN * np.mean(apart)
    marks: list[bool] = (apart > OUTLIER_DEVIATIONS * deviation).tolist()
    return marks


@dataclass(frozen=True)
class Regimes:
    """Two groups of values: their medians, how many each has, and the limit between them."""

    low: float
    high: float
    lower: int
    upper: int
    limit: float


def regimes_of(values: np.ndarray) -> Regimes | None:
    """The two groups of values above 0, if there are two: the split of the logarithms whose groups
    have the least variance within (k-means, exact in one dimension). Every value is nearer to the
    mean of its own group. The separation is that of Ashman, Bird and Zepf (1994), who call two
    groups separate above 2; two halves of normal noise have 2.3, of few rounds more, by chance."""
    logs = np.sort(np.log(values))
    n = len(logs)
    least = max(REGIME_ROUNDS, math.ceil(REGIME_SHARE * n))
    if n < 2 * least or not logs[-1] - logs[0] > math.log(REGIME_TIMES):
        return None
    sizes, sums = np.arange(least, n - least + 1), np.cumsum(logs)
    means = sums[sizes - 1] / sizes, (sums[-1] - sums[sizes - 1]) / (n - sizes)
    best = int(np.argmax((means[1] - means[0]) ** 2 * sizes * (n - sizes)))
    split, middle = int(sizes[best]), (means[0][best] + means[1][best]) / 2
    groups = logs[:split], logs[split:]
    low, high = (float(np.median(group)) for group in groups)
    spread = DEVIATION_BY_MEDIAN * math.sqrt(np.mean([
        np.median(abs(group - np.median(group))) ** 2 for group in groups]))
    apart = max(REGIME_SPREADS, REGIME_FEW[0] + REGIME_FEW[1] / n)
    if not logs[split - 1] <= middle <= logs[split] or (
            high - low < max(math.log(REGIME_TIMES), apart * spread)):
        return None
    return Regimes(math.exp(low), math.exp(high), split, n - split,
                   math.exp((logs[split - 1] + logs[split]) / 2))
