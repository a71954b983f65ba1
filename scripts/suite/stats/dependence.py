# SPDX-License-Identifier: MIT
"""Rounds that depend on each other, and values in two groups.

Neighbouring rounds may have a state of the machine in common. With a correlation r of neighbours, n
rounds say as much as n (1 - r) / (1 + r) independent ones: the variance of their mean under an
autoregressive process of order 1 (Bartlett 1946). The sample correlation is too small by about
(1 + 4 r) / n (Marriott and Pope 1954), and few rounds know it badly. So intervals are wider by the
correlation plus one standard error of it. docs/methodology.md has the simulations.
"""

import math
from dataclasses import dataclass

import numpy as np

from suite.stats.estimate import DEVIATION_BY_MEDIAN

CORRELATION_MOST = 0.9  # of a series that drifts: its interval is 4.4 times as wide
REGIME_SHARE, REGIME_ROUNDS = 0.1, 3  # the smaller group has this share of the rounds, and so many
REGIME_TIMES = 1.5  # how many times the centre of one group is that of the other, at least
REGIME_SPREADS = 4.0  # how many standard deviations the centres are apart, at least
REGIME_FEW = 1.9, 125.0  # and so many plus so many divided by the rounds: of 10 rounds 14


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
class Regimes:
    """Two groups of values: their medians, how many each has, and the limit between them."""

    low: float
    high: float
    lower: int
    upper: int
    limit: float


def regimes_of(values: np.ndarray) -> Regimes | None:
    """The two groups of values above 0, if there are two: the split whose groups have the least
    variance within (k-means with two means, exact in one dimension, of logarithms). Every value is
    nearer to the mean of its own group. The spread of a group is by its median deviation. The
    separation is that of Ashman, Bird and Zepf (1994), who call two groups separate above 2; two
    halves of normal noise have 2.3. Halves of few rounds are farther apart, by chance."""
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
    spread = DEVIATION_BY_MEDIAN * math.sqrt(np.mean([np.median(abs(group - np.median(group))) ** 2
                                            for group in groups]))
    apart = max(REGIME_SPREADS, REGIME_FEW[0] + REGIME_FEW[1] / n)
    if not logs[split - 1] <= middle <= logs[split] or (
            high - low < max(math.log(REGIME_TIMES), apart * spread)):
        return None
    return Regimes(math.exp(low), math.exp(high), split, n - split,
                   math.exp((logs[split - 1] + logs[split]) / 2))
