# SPDX-License-Identifier: MIT
"""How far one series lies from another: Hodges-Lehmann estimates with the intervals and p of rank
tests; or only which is larger, where some values are censored.

Rounds that both sides share are paired (signed ranks over Walsh averages); what shares none is not
(Mann-Whitney over all pairs of one value of each side). Ratios are shifts of logarithms.

References: Hodges and Lehmann (1963); intervals by inverting the test, Hollander, Wolfe and
Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 3.2 and 3.3 (paired), 4.2 and 4.3
(unpaired).

Of a censored value only a bound is known that it lies beyond, so that no ratio can be estimated. A
pair counts for a direction if it is sure: the bound of the one is no less than the other. A pair
that is not sure counts against both directions, so that the test claims too little, never too much.
Rounds that both sides share: sign test; else Mann-Whitney, which needs no more than these signs.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import ROUNDS_NEEDED, Null, sign_null, signed_rank_null, unpaired_null

# Logarithms of equal ratios differ by their rounding (up to 1e-14): what is nearer to 0 than this
# is a tie with it.
ROUNDING = 1e-12
# The least and the most that each value can be, float64 of shape (values,): the most is infinite if
# the value is censored.
Spans = tuple[np.ndarray, np.ndarray]
JUST_ABOVE, JUST_BELOW = math.nextafter(1, math.inf), math.nextafter(1, 0)
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


def signs_of(new: Spans, base: Spans) -> np.ndarray:
    """Of each pair, as int64 of the shape to which new and base broadcast: 1 where new is surely
    larger, -1 where it is surely smaller, else 0."""
    above = (new[0] > base[1]) | ((new[0] >= base[1]) & np.isinf(new[1]))
    below = (base[0] > new[1]) | ((base[0] >= new[1]) & np.isinf(base[1]))
    return above.astype(int) - below.astype(int)


def direction_estimate(signs: np.ndarray, null: Null | None, pairs: int,
                       alpha: float = ALPHA) -> Estimate:
    """What signs (of any shape) tell of a ratio: that it is above 1, or below, or neither. Its
    value is infinite, 0 or 1 by what is more frequent, its interval all that it may be."""
    more, less = np.count_nonzero(signs > 0), np.count_nonzero(signs < 0)
    value = math.inf if more > less else 0.0 if less > more else 1.0
    if null is None:
        return Estimate(value, None, pairs, directed=True)
    p = null.two_sided(signs.size - max(more, less))
    sure_side = (JUST_ABOVE, math.inf) if more > less else (0.0, JUST_BELOW)
    low, high = (0.0, math.inf) if p > alpha else sure_side
    return Estimate(value, Interval(low, high, null.level_of(null.rank_at(alpha))), pairs, p,
                    null.two_sided(0), directed=True)


def ratio_directed(new: Spans, base: Spans, paired: bool, alpha: float = ALPHA) -> Estimate:
    """new / base as far as it is known, of values above 0; paired: both have a value a round."""
    if paired:
        rounds = len(new[0])
        return direction_estimate(signs_of(new, base), sign_null(rounds), rounds, alpha)
    every = signs_of(tuple(side[:, None] for side in new), tuple(side[None, :] for side in base))
    sides = len(new[0]), len(base[0])
    return direction_estimate(every.ravel(), unpaired_null(*sides), min(sides), alpha)
