# SPDX-License-Identifier: MIT
"""How far one series lies from another: Hodges-Lehmann estimates with the intervals and p of rank
tests.

Rounds that both sides share are paired (signed ranks over Walsh averages); what shares none is not
(Mann-Whitney over all pairs of one value of each side). Ratios are shifts of logarithms.

References: Hodges and Lehmann (1963); intervals by inverting the test, Hollander, Wolfe and
Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 3.2 and 3.3 (paired), 4.2 and 4.3
(unpaired).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import ROUNDS_NEEDED, Null, signed_rank_null, unpaired_null

# Logarithms of equal ratios differ by their rounding (up to 1e-14): what is nearer to 0 than this
# is a tie with it.
ROUNDING = 1e-12


# (places of i, places of j) in all pairs i <= j of so many values: int64 of shape (n(n+1)/2,). The
# cells of a result have as many rounds each.
pair_places = lru_cache(maxsize=4)(np.triu_indices)
# Elementary shifts, float64, ascending and not empty; their null, and how many pairs they are of.
Shifts = tuple[np.ndarray, Null | None, int]


def shifts_paired(differences: np.ndarray) -> Shifts:
    """The n(n+1)/2 Walsh averages (x_i + x_j) / 2 with i <= j; a null from 6 rounds on."""
    n = len(differences)
    first, second = pair_places(n)
    return (np.sort((differences[first] + differences[second]) / 2),
            signed_rank_null(n) if n >= ROUNDS_NEEDED else None, n)


def shifts_make(new: Sequence[float], base: Sequence[float], paired: bool) -> Shifts:
    """Paired, those of the differences by round; else the differences of every value of new from
    every one of base, and a null from 4 values a side on."""
    if paired:
        return shifts_paired(np.subtract(new, base, dtype=float))
    differences = np.subtract.outer(np.asarray(new, dtype=float), np.asarray(base, dtype=float))
    sides = len(new), len(base)
    return np.sort(differences, axis=None), unpaired_null(*sides), min(sides)


def estimate_build(ordered: np.ndarray, null: Null | None, pairs: int,
                   alpha: float = ALPHA) -> Estimate:
    """The median of elementary shifts (ascending, not empty); with a null its interval of
    confidence 1 - alpha, if so many have one, and p of a shift of 0. The interval [c-th smallest,
    c-th largest] excludes 0 where fewer than c shifts are <= 0, or >= 0. So p is that of the
    smaller of these two numbers, and a shift of 0 counts on both sides."""
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
    """The estimate of a ratio from elementary shifts of its logarithm, ascending."""
    shift = estimate_build(np.where(np.abs(ordered) < ROUNDING, 0.0, ordered), null, pairs, alpha)
    interval = shift.interval
    if interval is not None:
        interval = Interval(math.exp(interval.low), math.exp(interval.high), interval.level)
    return replace(shift, value=math.exp(shift.value), interval=interval)


def shift_estimate(new: Sequence[float], base: Sequence[float], paired: bool) -> Estimate:
    """new - base, neither empty. paired: both have one value for each round, and the interval
    begins at 6 rounds; else it begins at 4 values a side."""
    return estimate_build(*shifts_make(new, base, paired))


def ratio_estimate(new: Sequence[float], base: Sequence[float], paired: bool,
                   alpha: float = ALPHA) -> Estimate:
    """new / base, all above 0; as shift_estimate(), with an interval of confidence 1 - alpha."""
    return ratio_build(*shifts_make(np.log(new), np.log(base), paired), alpha)


def geometric_mean(ratios: Sequence[Sequence[float]]) -> Estimate:
    """Of the ratios (above 0; shape (cells, rounds)) of one or more cells over shared rounds: the
    geometric mean over the cells within each round, and then its estimate over rounds. So its
    interval holds for these cells only."""
    return ratio_build(*shifts_paired(np.mean(np.log(ratios), axis=0)))
