# SPDX-License-Identifier: MIT
"""The shift between two series: Hodges-Lehmann estimates, with the intervals and p of rank tests.
Rounds that both sides share are paired: signed ranks over Walsh averages. Other values are
unpaired: Mann-Whitney over all pairs of one value of each side.

References: Hodges and Lehmann (1963); intervals by inverting the test, Hollander, Wolfe and
Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 3.2, 3.3, 4.2 and 4.3.

A censored value is only known to lie beyond a bound, so no ratio can be estimated. A pair counts
for a direction if that is certain: the bound of the censored value is at least the other value. An
uncertain pair counts against both directions, so the test finds too little, never too much. Paired
rounds take the sign test, other values Mann-Whitney, which needs these signs only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import Null, mann_whitney_null, sign_null, signed_rank_null

# Logarithms of equal ratios differ by rounding, up to 1e-14: a smaller shift than this counts as 0.
ROUNDING = 1e-12
STORED = 100_000  # up to so many elementary shifts are stored and sorted; more are counted
# The lower and the upper bound of each value, float64 of shape (values,): the upper bound of a
# censored value is infinite.
Bounds = tuple[np.ndarray, np.ndarray]
JUST_ABOVE, JUST_BELOW = math.nextafter(1, math.inf), math.nextafter(1, 0)


@dataclass(frozen=True)
class Shifts:
    """The elementary shifts of two series: all sums first[i] + second[j], if paired with i <= j.

    Paired: both are half the differences of rounds, so the sums are their Walsh averages, with a
    null from 6 rounds on. Unpaired: the values of new and the negative values of base, with a null
    from 4 values a side on. first, second: float64, ascending. pairs: rounds, or the values of the
    smaller side.
    """

    first: np.ndarray
    second: np.ndarray
    paired: bool
    null: Null
    pairs: int

    @property
    def size(self) -> int:
        n = len(self.first)
        return n * (n + 1) // 2 if self.paired else n * len(self.second)

    @cached_property
    def stored(self) -> np.ndarray | None:
        """All shifts, ascending; None if they are too many to store."""
        if self.size > STORED:
            return None
        sums = np.add.outer(self.first, self.second)
        return np.sort(sums[np.triu_indices(len(self.first))] if self.paired else sums, axis=None)

    def count(self, limit: float) -> int:
        """The number of shifts that are at most the limit."""
        if self.stored is not None:
            return int(np.searchsorted(self.stored, limit, side="right"))
        # In the square of all i and j a sum with i < j stands twice, one with i = j once.
        found = int(np.searchsorted(self.second, limit - self.first, side="right").sum())
        return (found + int((2 * self.first <= limit).sum())) // 2 if self.paired else found

    def at(self, rank: int) -> float:
        """The shift of this rank, from 1 on; of shifts that are not stored within ROUNDING."""
        if self.stored is not None:
            return float(self.stored[rank - 1])
        low, high = self.first[0] + self.second[0], self.first[-1] + self.second[-1]
        while high - low > ROUNDING * max(1.0, abs(low)):
            middle = (low + high) / 2
            low, high = (low, middle) if self.count(middle) >= rank else (middle, high)
        return float(high)

    @cached_property
    def centre(self) -> float:
        """The Hodges-Lehmann estimate: the median of the shifts; 0 if it is within ROUNDING."""
        middle = (self.at((self.size + 1) // 2) + self.at(self.size // 2 + 1)) / 2
        return 0.0 if abs(middle) < ROUNDING else middle

    def ends(self, alpha: float) -> Interval | None:
        """The interval at confidence 1 - alpha, [c-th smallest, c-th largest]; None if there are
        too few shifts for it."""
        rank = self.null.rank_at(alpha)
        return Interval(self.at(rank), self.at(self.size + 1 - rank),
                        self.null.level_of(rank)) if rank else None

    def p(self, shift: float = 0.0) -> float | None:
        """p of the hypothesis that this is the shift; None if there are too few. The interval
        excludes it if fewer than c shifts are at most the shift, or at least. Equal ones count in
        both."""
        at_most = self.count(shift + ROUNDING)
        at_least = self.size - self.count(shift - ROUNDING)
        return self.null.p(min(at_most, at_least))

    @property
    def p_least(self) -> float:
        return self.null.two_sided(0)


def shifts_make(new: Sequence[float], base: Sequence[float], paired: bool) -> Shifts:
    """The elementary shifts of new - base. paired: both have one value for each round."""
    sides = len(new), len(base)
    if not paired:
        return Shifts(np.sort(np.asarray(new, dtype=float)),
                      np.sort(-np.asarray(base, dtype=float)), False, mann_whitney_null(*sides),
                      min(sides))
    halves = np.sort(np.subtract(new, base, dtype=float) / 2)
    return Shifts(halves, halves, True, signed_rank_null(sides[0]), sides[0])


def shift_estimate(new: Sequence[float], base: Sequence[float], paired: bool) -> Estimate:
    """The estimate of new - base with its 95 % interval, if there are enough values for it."""
    shifts = shifts_make(new, base, paired)
    return Estimate(shifts.centre, shifts.ends(ALPHA), shifts.pairs, shifts.p(), shifts.p_least)


def signs_of(new: Bounds, base: Bounds) -> np.ndarray:
    """For each pair 1 if new is certainly larger, -1 if it is certainly smaller, else 0: int64 of
    the shape to which new and base broadcast."""
    above = (new[0] > base[1]) | ((new[0] >= base[1]) & np.isinf(new[1]))
    below = (base[0] > new[1]) | ((base[0] >= new[1]) & np.isinf(base[1]))
    return above.astype(int) - below.astype(int)


def direction_estimate(signs: np.ndarray, null: Null, pairs: int,
                       alpha: float = ALPHA) -> Estimate:
    """The direction of a ratio from signs (of any shape). The value is infinite if more signs are
    positive, 0 if more are negative, else 1. The interval has all ratios that are possible."""
    more, less = np.count_nonzero(signs > 0), np.count_nonzero(signs < 0)
    value = math.inf if more > less else 0.0 if less > more else 1.0
    w, rank = signs.size - max(more, less), null.rank_at(alpha)
    low, high = ((0.0, math.inf) if null.two_sided(w) > alpha else
                 (JUST_ABOVE, math.inf) if more > less else (0.0, JUST_BELOW))
    return Estimate(value, Interval(low, high, null.level_of(rank)) if rank else None, pairs,
                    null.p(w), null.two_sided(0), directed=True)


def ratio_directed(new: Bounds, base: Bounds, paired: bool, alpha: float = ALPHA) -> Estimate:
    """The direction of new / base, for censored values above 0. paired: as in shift_estimate()."""
    if paired:
        rounds = len(new[0])
        return direction_estimate(signs_of(new, base), sign_null(rounds), rounds, alpha)
    every = signs_of(tuple(side[:, None] for side in new), tuple(side[None, :] for side in base))
    sides = len(new[0]), len(base[0])
    return direction_estimate(every.ravel(), mann_whitney_null(*sides), min(sides), alpha)
