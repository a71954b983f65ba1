# SPDX-License-Identifier: MIT
"""The distributions of two rank statistics when nothing changed, without ties.

References: signed ranks, Wilcoxon (1945); Mann and Whitney (1947), whose recurrence counts the
arrangements; normal approximation with correction for continuity, Lehmann, "Nonparametrics" (1975),
chapters 1 and 3.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suite.stats.estimate import ALPHA

# the smallest n for which sign and signed-rank test can reach 95 %: 2 / 2^n <= 0.05
ROUNDS_NEEDED = 6
SIDES_NEEDED = 4   # the smallest n for which n against n values can: 2 / C(2n, n) <= 0.05

# Up to here arrangements are counted, which takes 0.1 s at most; beyond, the normal distribution
# stands in. It has the longer tails of the two, so its p is the larger one wherever p is below 8 %:
# intervals err on the wide side.
SIGNED_RANK_COUNTED = 300     # rounds
MANN_WHITNEY_COUNTED = 10_000  # pairs of values


@dataclass(frozen=True)
class Null:
    """The distribution of a statistic from 0 to size, symmetrical about size / 2.

    cumulative: P(W <= w) by w; None where the normal distribution with this deviation stands in.
    """

    size: int
    deviation: float
    cumulative: np.ndarray | None

    def two_sided(self, w: int) -> float:
        """2 P(W <= w), at most 1: the p of a statistic that is w on its smaller side."""
        if self.cumulative is not None:
            return min(1.0, 2 * float(self.cumulative[w]))
        return min(1.0, math.erfc((self.size / 2 - w - 0.5) / (self.deviation * math.sqrt(2))))

    @property
    def rank(self) -> int:
        """The largest c with 2 P(W < c) <= 5 %, 0: there is none. Intervals end at the c-th of size
        from either side.

        Signed ranks, n = 10: c = 9, the published lower critical value 8, plus one.
        """
        return bisect_right(range(self.size + 1), ALPHA, key=self.two_sided)

    @property
    def level(self) -> float:
        """The coverage of that interval, 1 - 2 P(W < c); 0 where there is none."""
        return 1 - self.two_sided(self.rank - 1) if self.rank else 0.0


def signed_rank_counts(n: int) -> np.ndarray:
    """Of the 2^n patterns of signs of n ranks, how many have w = 0 .. n(n+1)/2 as the sum of the
    positive ones."""
    counts = np.array([1.0])
    for rank in range(1, n + 1):
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer
    return counts


def mann_whitney_counts(n: int, m: int) -> np.ndarray:
    """Of the C(n+m, n) arrangements of n and m values, in how many w = 0 .. nm of the pairs have
    the first above."""
    table = np.zeros((n + 1, n * m + 1))  # table[i]: i of the first against j of the second
    table[:, 0] = 1
    for j in range(1, m + 1):
        # the largest of all is of the second: as before; or of the first: above all j
        for i in range(1, n + 1):
            table[i, j: i * j + 1] += table[i - 1, : (i - 1) * j + 1]
    return table[n]


def cumulative(counts: np.ndarray) -> np.ndarray:
    """P(W <= w) from counts."""
    return np.cumsum(counts) / np.sum(counts)


@lru_cache
def signed_rank_null(n: int) -> Null:
    """Of the number of Walsh averages below 0 (or above), of n differences."""
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    known = cumulative(signed_rank_counts(n)) if n <= SIGNED_RANK_COUNTED else None
    return Null(n * (n + 1) // 2, deviation, known)


@lru_cache
def mann_whitney_null(n: int, m: int) -> Null:
    """Of the number of pairs of which the first is below (or above), of n against m values."""
    deviation = math.sqrt(n * m * (n + m + 1) / 12)
    known = cumulative(mann_whitney_counts(n, m)) if n * m <= MANN_WHITNEY_COUNTED else None
    return Null(n * m, deviation, known)


@lru_cache
def sign_null(n: int) -> Null | None:
    """Of the number of n pairs of which the first is larger; None where they are too few for an
    interval."""
    if n < ROUNDS_NEEDED:
        return None
    known = cumulative(np.array([math.comb(n, k) for k in range(n + 1)], dtype=float))
    return Null(n, math.sqrt(n) / 2, known if n <= SIGNED_RANK_COUNTED else None)


def paired_null(rounds: int) -> Null | None:
    """The null of so many shared rounds; None where they are too few for an interval."""
    return signed_rank_null(rounds) if rounds >= ROUNDS_NEEDED else None


def unpaired_null(n: int, m: int) -> Null | None:
    """The null of n against m values; None where either side has too few for an interval."""
    return mann_whitney_null(n, m) if min(n, m) >= SIDES_NEEDED else None
