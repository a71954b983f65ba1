# SPDX-License-Identifier: MIT
"""The shift between two series: Hodges-Lehmann estimates, with the intervals and p of rank tests.
If values are censored, only the direction of the shift.

Rounds that both sides share are paired: signed ranks over Walsh averages. Other values are
unpaired: Mann-Whitney over all pairs of one value of each side. A ratio is a shift of logarithms.

References: Hodges and Lehmann (1963); intervals by inverting the test, Hollander, Wolfe and
Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 3.2 and 3.3 (paired), 4.2 and 4.3
(unpaired).

A censored value is only known to lie beyond a bound, so no ratio can be estimated. A pair counts
for a direction if that is certain: the bound of the censored value is at least the other value. An
uncertain pair counts against both directions, so the test finds too little, never too much. Paired
rounds take the sign test, other values Mann-Whitney, which needs these signs only.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import ROUNDS_NEEDED, Null, sign_null, signed_rank_null, unpaired_null

# Logarithms of equal ratios differ by rounding, up to 1e-14: a smaller shift than this counts as 0.
ROUNDING = 1e-12
# The lower and the upper bound of each value, float64 of shape (values,): the upper bound of a
# censored value is infinite.
Bounds = tuple[np.ndarray, np.ndarray]
JUST_ABOVE, JUST_BELOW = math.nextafter(1, math.inf), math.nextafter(1, 0)
# The indices i and j of all pairs i <= j of n values: int64 of shape (n(n+1)/2,). Cached, because
# all cells of a result have the same n.
pair_indices = lru_cache(maxsize=4)(np.triu_indices)
# Elementary shifts (float64, ascending, one or more), their null, and the number of pairs.
Shifts = tuple[np.ndarray, Null | None, int]


def shifts_paired(differences: np.ndarray) -> Shifts:
    """The n(n+1)/2 Walsh averages (x_i + x_j) / 2 with i <= j; with a null from 6 rounds on."""
    n = len(differences)
    first, second = pair_indices(n)
    return (np.sort((differences[first] + differences[second]) / 2),
            signed_rank_null(n) if n >= ROUNDS_NEEDED else None, n)


def shifts_make(new: Sequence[float], base: Sequence[float], paired: bool) -> Shifts:
    """The elementary shifts of two series. Paired: Walsh averages of the differences of rounds.
    Unpaired: every value of new minus every value of base; with a null from 4 values a side on."""
    if paired:
        return shifts_paired(np.subtract(new, base, dtype=float))
    differences = np.subtract.outer(np.asarray(new, dtype=float), np.asarray(base, dtype=float))
    sides = len(new), len(base)
    return np.sort(differences, axis=None), unpaired_null(*sides), min(sides)


def estimate_build(ordered: np.ndarray, null: Null | None, pairs: int,
                   alpha: float = ALPHA) -> Estimate:
    """The median of elementary shifts; with a null also p of "no shift", and the interval at
    confidence 1 - alpha if there are enough shifts. The interval [c-th smallest, c-th largest]
    excludes 0 if fewer than c shifts are <= 0, or >= 0. So p is that of the smaller of these two
    numbers, and a shift of 0 counts in both."""
    centre = float(np.median(ordered))
    if null is None:
        return Estimate(centre, None, pairs)
    rank = null.rank_at(alpha)
    interval = Interval(float(ordered[rank - 1]), float(ordered[-rank]),
                        null.level_of(rank)) if rank else None
    smaller = min(np.count_nonzero(ordered <= 0), np.count_nonzero(ordered >= 0))
    return Estimate(centre, interval, pairs, null.two_sided(smaller), null.two_sided(0))


def ratio_build(ordered: np.ndarray, null: Null | None, pairs: int,
                alpha: float = ALPHA) -> Estimate:
    """The estimate of a ratio from elementary shifts of its logarithm."""
    shift = estimate_build(np.where(np.abs(ordered) < ROUNDING, 0.0, ordered), null, pairs, alpha)
    interval = shift.interval
    if interval is not None:
        interval = Interval(math.exp(interval.low), math.exp(interval.high), interval.level)
    return replace(shift, value=math.exp(shift.value), interval=interval)


def shift_estimate(new: Sequence[float], base: Sequence[float], paired: bool) -> Estimate:
    """The estimate of new - base. paired: both have one value for each round. There is an interval
    from 6 rounds on, or from 4 values a side on."""
    return estimate_build(*shifts_make(new, base, paired))


def ratio_estimate(new: Sequence[float], base: Sequence[float], paired: bool,
                   alpha: float = ALPHA) -> Estimate:
    """The estimate of new / base, with an interval at confidence 1 - alpha. All values are above 0;
    paired and interval as in shift_estimate()."""
    return ratio_build(*shifts_make(np.log(new), np.log(base), paired), alpha)


def geometric_mean(ratios: Sequence[Sequence[float]]) -> Estimate:
    """The geometric mean of ratios over cells in each round, then its estimate over rounds. ratios:
    above 0, of shape (cells, rounds). The interval holds for these cells only."""
    return ratio_build(*shifts_paired(np.mean(np.log(ratios), axis=0)))


def signs_of(new: Bounds, base: Bounds) -> np.ndarray:
    """For each pair 1 if new is certainly larger, -1 if it is certainly smaller, else 0: int64 of
    the shape to which new and base broadcast."""
    above = (new[0] > base[1]) | ((new[0] >= base[1]) & np.isinf(new[1]))
    below = (base[0] > new[1]) | ((base[0] >= new[1]) & np.isinf(base[1]))
    return above.astype(int) - below.astype(int)


def direction_estimate(signs: np.ndarray, null: Null | None, pairs: int,
                       alpha: float = ALPHA) -> Estimate:
    """The direction of a ratio from signs (of any shape). The value is infinite if more signs are
    positive, 0 if more are negative, else 1. The interval has all ratios that are possible."""
    more, less = np.count_nonzero(signs > 0), np.count_nonzero(signs < 0)
    value = math.inf if more > less else 0.0 if less > more else 1.0
    if null is None:
        return Estimate(value, None, pairs, directed=True)
    p = null.two_sided(signs.size - max(more, less))
    sure_side = (JUST_ABOVE, math.inf) if more > less else (0.0, JUST_BELOW)
    low, high = (0.0, math.inf) if p > alpha else sure_side
    return Estimate(value, Interval(low, high, null.level_of(null.rank_at(alpha))), pairs, p,
                    null.two_sided(0), directed=True)


def ratio_directed(new: Bounds, base: Bounds, paired: bool, alpha: float = ALPHA) -> Estimate:
    """The direction of new / base, for censored values above 0. paired: as in shift_estimate()."""
    if paired:
        rounds = len(new[0])
        return direction_estimate(signs_of(new, base), sign_null(rounds), rounds, alpha)
    every = signs_of(tuple(side[:, None] for side in new), tuple(side[None, :] for side in base))
    sides = len(new[0]), len(base[0])
    return direction_estimate(every.ravel(), unpaired_null(*sides), min(sides), alpha)
