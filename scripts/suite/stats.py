# SPDX-License-Identifier: MIT
"""Medians, intervals and ratios without assumptions about the shape of a distribution.

Rounds are the independent unit: every function takes one value per round. Intervals are closed
and two-sided with a coverage of at least 95 %; their ends come from exact null distributions, so
ties make them wider, never narrower.

References: order-statistic interval of a median, Hollander, Wolfe and Chicken, "Nonparametric
Statistical Methods", 3rd ed., section 3.6 (sign test); shift by Hodges and Lehmann (1963) over
Walsh averages and its interval by inverting the signed-rank test, sections 3.2 and 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ALPHA = 0.05
ROUNDS_NEEDED = 6  # the smallest n for which both tests can reach 95 %: 2 / 2^n <= 0.05


@dataclass(frozen=True)
class Interval:
    """A closed interval; level is its coverage (0.969), None where it is only min..max."""

    low: float
    high: float
    level: float | None

    def contains(self, value: float) -> bool:
        """Whether value lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A centre with its interval (None below 6 pairs) and the number of pairs behind it."""

    value: float
    interval: Interval | None
    pairs: int


def median(values: Sequence[float]) -> float:
    """The median; values are not empty."""
    return float(np.median(np.asarray(values, dtype=float)))


@lru_cache
def sign_test_rank(n: int) -> int:
    """The largest k with 2 P(Binomial(n, 1/2) < k) <= 5 %; 0 where there is none (n < 6)."""
    tail, rank = 0, 0
    while rank < n and 2 * (tail + math.comb(n, rank)) <= ALPHA * 2**n:
        tail += math.comb(n, rank)
        rank += 1
    return rank


def median_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the median: order statistics k and n+1-k; min..max below 6; None below 2."""
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    if n < 2:
        return None
    rank = sign_test_rank(n)
    if rank == 0:
        return Interval(float(ordered[0]), float(ordered[-1]), None)
    outside = 2 * sum(math.comb(n, i) for i in range(rank)) / 2**n
    return Interval(float(ordered[rank - 1]), float(ordered[n - rank]), 1 - outside)


@lru_cache
def signed_rank_probabilities(n: int) -> np.ndarray:
    """P(W = w), w = 0 .. n(n+1)/2, of the signed-rank statistic without ties under the null."""
    probabilities = np.array([1.0])
    for rank in range(1, n + 1):
        longer = np.zeros(len(probabilities) + rank)
        longer[: len(probabilities)] += probabilities / 2
        longer[rank:] += probabilities / 2
        probabilities = longer
    return probabilities


@lru_cache
def signed_rank_rank(n: int) -> tuple[int, float]:
    """The largest c with 2 P(W < c) <= 5 %, and the coverage 1 - 2 P(W < c); c = 0: there is none.

    For n = 10 that is c = 9 and 95.1 %: the published lower critical value 8, plus one.
    """
    below = np.cumsum(signed_rank_probabilities(n))
    rank = int(np.searchsorted(2 * below, ALPHA, side="right"))
    return rank, 1 - 2 * float(below[rank - 1]) if rank else 0.0


def walsh_averages(values: Sequence[float]) -> np.ndarray:
    """The n(n+1)/2 averages (x_i + x_j) / 2 with i <= j, ascending."""
    array = np.asarray(values, dtype=float)
    first, second = np.triu_indices(len(array))
    return np.sort((array[first] + array[second]) / 2)


def shift_estimate(differences: Sequence[float]) -> Estimate:
    """Hodges-Lehmann centre of paired differences (not empty); signed-rank interval."""
    averages = walsh_averages(differences)
    n = len(differences)
    centre = float(np.median(averages))
    if n < ROUNDS_NEEDED:
        return Estimate(centre, None, n)
    rank, level = signed_rank_rank(n)
    interval = Interval(float(averages[rank - 1]), float(averages[-rank]), level)
    return Estimate(centre, interval, n)


def ratio_estimate(new: Sequence[float], base: Sequence[float]) -> Estimate:
    """new / base, paired by round, all above 0: the shift of the log ratios, exponentiated."""
    logs = np.log(np.asarray(new, dtype=float)) - np.log(np.asarray(base, dtype=float))
    shift = shift_estimate(logs)
    if shift.interval is None:
        return Estimate(math.exp(shift.value), None, shift.pairs)
    low, high = math.exp(shift.interval.low), math.exp(shift.interval.high)
    return Estimate(math.exp(shift.value), Interval(low, high, shift.interval.level), shift.pairs)


def same_band(ratios: Iterable[Estimate]) -> float | None:
    """The A/A band: how far from 1 the farthest end of the intervals of A'/A lies, as a fraction.

    None where no pair of runs has an interval.
    """
    ends = [abs(end - 1) for ratio in ratios if ratio.interval is not None
            for end in (ratio.interval.low, ratio.interval.high)]
    return max(ends, default=None)


def outliers_mark(values: Sequence[float]) -> list[bool]:
    """Which values lie outside Tukey's fences (1.5 interquartile ranges); none below 4 values."""
    array = np.asarray(values, dtype=float)
    if len(array) < 4:
        return [False] * len(array)
    lower, upper = np.quantile(array, [0.25, 0.75])
    reach = 1.5 * (upper - lower)
    return [bool(value < lower - reach or value > upper + reach) for value in array]


def relative_width(centre: float, interval: Interval) -> float:
    """The farther end of the interval from its centre (not 0), as a fraction of the centre."""
    return max(interval.high - centre, centre - interval.low) / abs(centre)
