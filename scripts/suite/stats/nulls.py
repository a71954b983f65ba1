# SPDX-License-Identifier: MIT
"""The distributions of three rank statistics when nothing changed, without ties; p of many cells.

References: signed ranks, Wilcoxon (1945); Mann and Whitney (1947), whose recurrence counts the
arrangements; normal approximation with correction for continuity, Lehmann, "Nonparametrics" (1975),
chapters 1 and 3. p of many: Benjamini and Hochberg (1995), "Controlling the false discovery rate".
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ALPHA = 0.05  # of every interval, two-sided
# the smallest n for which sign and signed-rank test can reach 95 %: 2 / 2^n <= 0.05
ROUNDS_NEEDED = 6
SIDES_NEEDED = 4  # the smallest n for which n against n values can: 2 / C(2n, n) <= 0.05

# Up to here arrangements are counted, which takes 0.1 s at most; beyond, the normal distribution
# stands in. It has the longer tails of the two, so its p is the larger one wherever p is below 8 %:
# intervals err on the wide side.
SIGNED_RANK_COUNTED = 300     # rounds
MANN_WHITNEY_COUNTED = 10_000  # pairs of values


@dataclass(frozen=True)
class Null:
    """The distribution of a statistic from 0 to size, symmetrical about size / 2. cumulative: P(W
    <= w) by w, float64 of shape (size + 1,). None: normal distribution with this deviation."""

    size: int
    deviation: float
    cumulative: np.ndarray | None

    def two_sided(self, w: int) -> float:
        """2 P(W <= w), at most 1: the p of a statistic that is w on its smaller side."""
        if self.cumulative is not None:
            return min(1.0, 2 * float(self.cumulative[w]))
        return min(1.0, math.erfc((self.size / 2 - w - 0.5) / (self.deviation * math.sqrt(2))))

    def rank_at(self, alpha: float) -> int:
        """The largest c with 2 P(W < c) <= alpha, or 0. Intervals end at the c-th of size from
        either side. Signed ranks, n = 10: c = 9, the published lower critical value 8, plus one."""
        return bisect_right(range(self.size + 1), alpha, key=self.two_sided)

    def level_of(self, rank: int) -> float:
        """The coverage of the interval that ends at a rank c, 1 - 2 P(W < c); 0 for the rank 0."""
        return 1 - self.two_sided(rank - 1) if rank else 0.0


def null_build(size: int, variance: float, counts: np.ndarray | None) -> Null:
    """A null from how many arrangements have each value; None: the normal distribution."""
    return Null(size, math.sqrt(variance),
                None if counts is None else np.cumsum(counts) / np.sum(counts))


def signed_rank_counts(n: int) -> np.ndarray:
    """How many of the 2^n patterns of signs of n ranks have w as the sum of the positive ones:
    float64 of shape (n(n+1)/2 + 1,), by w."""
    counts = np.array([1.0])
    for rank in range(1, n + 1):
        counts = np.pad(counts, (0, rank)) + np.pad(counts, (rank, 0))
    return counts


def mann_whitney_counts(n: int, m: int) -> np.ndarray:
    """In how many of the C(n+m, n) arrangements of n and m values w of the pairs have the first
    above: float64 of shape (nm + 1,), by w."""
    table = np.zeros((n + 1, n * m + 1))  # table[i]: i of the first against j of the second
    table[:, 0] = 1
    for j in range(1, m + 1):
        # the largest of all is of the second: as before; or of the first: above all j
        for i in range(1, n + 1):
            table[i, j: i * j + 1] += table[i - 1, : (i - 1) * j + 1]
    return table[n]


@lru_cache
def signed_rank_null(n: int) -> Null:
    """Of the number of Walsh averages below 0 (or above), of n differences."""
    return null_build(n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) / 24,
                      signed_rank_counts(n) if n <= SIGNED_RANK_COUNTED else None)


@lru_cache
def mann_whitney_null(n: int, m: int) -> Null:
    """Of the number of pairs of which the first is below (or above), of n against m values."""
    return null_build(n * m, n * m * (n + m + 1) / 12,
                      mann_whitney_counts(n, m) if n * m <= MANN_WHITNEY_COUNTED else None)


@lru_cache
def sign_null(n: int) -> Null | None:
    """Of the number of n pairs whose first is larger; None where too few for an interval."""
    if n < ROUNDS_NEEDED:
        return None
    counts = [math.comb(n, k) for k in range(n + 1)] if n <= SIGNED_RANK_COUNTED else None
    return null_build(n, n / 4, None if counts is None else np.array(counts, dtype=float))


def unpaired_null(n: int, m: int) -> Null | None:
    """The null of n against m values; None where either side has too few for an interval."""
    return mann_whitney_null(n, m) if min(n, m) >= SIDES_NEEDED else None


def rows_decided(n: int, paired: bool = True, changed: int = 1) -> int:
    """Of how many rows so many changed ones can survive the correction, each of n shared rounds, or
    of n against n values. The least p of a test, two-sided, is that of the one arrangement in which
    all values agree: 2 / 2^n (Wilcoxon), 2 / C(2n, n) (Mann and Whitney). Benjamini and Hochberg
    hold the k-th smallest p of m rows against ALPHA k / m."""
    arrangements = 2 ** n if paired else math.comb(2 * n, n)
    return int(ALPHA * changed * arrangements / 2)


def rounds_deciding(rows: int, paired: bool = True) -> int:
    """The fewest rounds in which a single changed row of so many can survive the correction."""
    return next(n for n in itertools.count(1) if rows_decided(n, paired) >= rows)


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """The adjusted p in the given order: the smallest p_(j) m / j of all ranks j from its own on,
    at most 1. A limit on it holds for all cells together: at most this share of claims is
    chance."""
    array = np.asarray(ps, dtype=float)
    order = np.argsort(array, kind="stable")
    scaled = array[order] * len(array) / np.arange(1, len(array) + 1)
    adjusted = np.empty(len(array))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted.tolist()
