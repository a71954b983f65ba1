# SPDX-License-Identifier: MIT
"""Null distributions (nothing changed, no ties) of the sign, signed-rank and Mann-Whitney
statistics; the correction of p for many rows.

References: signed ranks, Wilcoxon (1945); Mann and Whitney (1947), whose recurrence counts the
arrangements; normal approximation with correction for continuity, Lehmann, "Nonparametrics" (1975),
chapters 1 and 3. Many rows: Benjamini and Hochberg (1995), "Controlling the false discovery rate".
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

ALPHA = 0.05  # of every interval, two-sided
# the smallest n with which the sign test and the signed-rank test reach 95 %: 2 / 2^n <= 0.05
ROUNDS_NEEDED = 6
# the smallest n with which the Mann-Whitney test of n against n values does: 2 / C(2n, n) <= 0.05
SIDES_NEEDED = 4

# Up to these sizes all arrangements are counted, in at most 0.1 s; for more the normal distribution
# is used. Its tails are longer: where p is below 8 %, its p is larger. So an interval may become
# too wide, never too narrow.
SIGNED_RANK_COUNTED = 300  # rounds
MANN_WHITNEY_COUNTED = 10_000  # pairs of values
ROUNDS_UNLIMITED = 100  # so many decide more rows than a result can have


@dataclass(frozen=True)
class Null:
    """The distribution of a statistic W, from 0 to size and symmetric about size / 2. counts: how
    many arrangements have each w, float64 of shape (size + 1,); None: a normal distribution."""

    size: int
    variance: float
    counts: np.ndarray | None

    @cached_property
    def cumulative(self) -> np.ndarray:
        """P(W <= w) by w."""
        return np.cumsum(self.counts) / np.sum(self.counts)

    def two_sided(self, w: int) -> float:
        """2 P(W <= w), at most 1: the two-sided p. w: the smaller of W and size - W."""
        if self.counts is not None:
            return min(1.0, 2 * float(self.cumulative[w]))
        return min(1.0, math.erfc((self.size / 2 - w - 0.5) / math.sqrt(2 * self.variance)))

    def p(self, w: int) -> float | None:
        """The two-sided p; None if there are too few values."""
        return None if self is TOO_FEW else self.two_sided(w)

    def rank_at(self, alpha: float) -> int:
        """The largest c with 2 P(W < c) <= alpha, or 0. An interval ends at the c-th value from
        either side. Signed ranks, n = 10: c = 9, the published lower critical value 8, plus one."""
        return bisect_right(range(self.size + 1), alpha, key=self.two_sided)

    def level_of(self, rank: int) -> float:
        """The coverage of the interval that ends at the rank c: 1 - 2 P(W < c); 0 for rank 0."""
        return 1 - self.two_sided(rank - 1) if rank else 0.0


TOO_FEW = Null(0, 1.0, None)  # of too few values for an interval: every p is 1, every rank 0


@lru_cache
def signed_rank_null(n: int) -> Null:
    """The null of the number of Walsh averages below 0 (or above) of n differences: of the sum of
    positive ranks in the 2^n patterns of signs of n ranks."""
    if n < ROUNDS_NEEDED:
        return TOO_FEW
    size, variance = n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) / 24
    if n > SIGNED_RANK_COUNTED:
        return Null(size, variance, None)
    counts = np.array([1.0])
    for rank in range(1, n + 1):
        counts = np.pad(counts, (0, rank)) + np.pad(counts, (rank, 0))
    return Null(size, variance, counts)


@lru_cache
def mann_whitney_null(n: int, m: int) -> Null:
    """The null of the number of pairs, of n first and m second values, whose first value is larger
    (or smaller), in the C(n+m, n) arrangements of all values."""
    if min(n, m) < SIDES_NEEDED:
        return TOO_FEW
    variance = n * m * (n + m + 1) / 12
    if n * m > MANN_WHITNEY_COUNTED:
        return Null(n * m, variance, None)
    table = np.zeros((n + 1, n * m + 1))  # table[i]: i of the first against j of the second
    table[:, 0] = 1
    for j in range(1, m + 1):
        # The largest of all is a second value: as before. Or a first value: larger than all j.
        for i in range(1, n + 1):
            table[i, j: i * j + 1] += table[i - 1, : (i - 1) * j + 1]
    return Null(n * m, variance, table[n])


@lru_cache
def sign_null(n: int) -> Null:
    """The null of the number of n pairs whose first value is larger."""
    if n < ROUNDS_NEEDED:
        return TOO_FEW
    counts = [math.comb(n, k) for k in range(n + 1)] if n <= SIGNED_RANK_COUNTED else None
    return Null(n, n / 4, None if counts is None else np.array(counts, dtype=float))


def rows_decided(n: int, paired: bool = True) -> int:
    """The largest number of rows among which the correction can keep a single changed row, with n
    shared rounds, or unpaired n against n values. Its smallest two-sided p is that of the one
    arrangement in which all values agree: 2 / 2^n (Wilcoxon) or 2 / C(2n, n) (Mann and Whitney).
    Benjamini and Hochberg compare it with ALPHA / rows."""
    n = min(n, ROUNDS_UNLIMITED)
    return int(ALPHA * (2 ** n if paired else math.comb(2 * n, n)) / 2)


def rounds_deciding(rows: int, paired: bool = True) -> int:
    """The fewest rounds with which the correction can keep a single changed row of so many."""
    return next(n for n in itertools.count(1) if rows_decided(n, paired) >= rows)


def student_cumulative(t: float, degrees: int) -> float:
    """P(|T| <= t) of Student's t, t >= 0: the finite sum for whole degrees of freedom (Abramowitz
    and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd, term, total = degrees % 2, 1.0, 0.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= square * k / (k + 1)
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + sine * math.cos(angle) * total)


def student_quantile(share: float, degrees: int) -> float:
    """The t with P(T <= t) = share, which is from 0.5 to below 1."""
    low, high = 0.0, 1.0
    while student_cumulative(high, degrees) < 2 * share - 1:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = ((middle, high) if student_cumulative(middle, degrees) < 2 * share - 1
                     else (low, middle))
    return high


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """The adjusted p, in the given order: the minimum of p_(j) m / j over all ranks j from its own
    on, at most 1. A limit on it holds for all rows together: at most this share of the rows that it
    accepts is chance (false discovery rate)."""
    descending = np.argsort(ps)[::-1]
    scaled = np.asarray(ps, dtype=float)[descending] * len(ps) / np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[descending] = np.minimum(np.minimum.accumulate(scaled), 1)
    return adjusted.tolist()
