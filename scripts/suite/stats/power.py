# SPDX-License-Identifier: MIT
"""Which change would have been found: that for which the same test, with as many rounds and this
noise, excludes no change in 80 % of all repetitions.

A shift is found where it is longer than the interval reaches from it towards 0. How far that is, is
known from the half width of the interval that was measured, but only as a sample: so the half width
is multiplied by the factor that makes 80 % of it. For many rounds that is (z_0.975 + z_0.8) /
z_0.975 = 1.43, whatever the shape of the noise, because such an estimate is as good as normal then
(Noether (1987), "Sample size determination for some common nonparametric tests"; Lehmann,
"Nonparametrics" (1975), sections 2.2 and 4.2). For fewer it is that of normal noise, by a
simulation with a fixed seed: a first sample is shifted, and the half width is that of a second one.
Noise of other shapes, very skewed or with two states of the machine, makes it 70 to 85 %.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from suite.stats.estimate import Estimate
from suite.stats.nulls import ALPHA, mann_whitney_null, rounds_deciding, signed_rank_null
from suite.stats.shift import ROUNDING, shift_estimate

POWER = 0.8
ROUNDS_ADVISED = 1000  # more are no advice
# What the rounds of a gate are planned for: a change beyond the limit, and how often it is found.
PLANNED_CHANGE, PLANNED_POWER = 1.1, 0.9
ROUNDS_SPARE = 6  # beyond the fewest that can decide, which a single odd round would undo
SEED = 1
SIMULATED_SHIFTS = 1000  # elementary shifts of a sample up to which the factor is simulated
SIMULATED_NUMBERS = 4_000_000  # elementary shifts of all samples together: 32 MB, 0.1 s
SIMULATED_SAMPLES = 20_000

# quantiles of the normal distribution, of 1 - ALPHA / 2 and of POWER
Z_INTERVAL, Z_POWER = 1.959963984540054, 0.8416212335729143
FACTOR_OF_MANY = (Z_INTERVAL + Z_POWER) / Z_INTERVAL


@lru_cache
def width_factor(n: int, m: int | None) -> float:
    """The factor of a half width: over n shared rounds (at least 6) where m is None, else of n
    against m values (at least 4 each). Simulated samples of elementary shifts, one a row: one half
    is shifted, the other measured."""
    null = signed_rank_null(n) if m is None else mann_whitney_null(n, m)
    if null.size > SIMULATED_SHIFTS:
        return FACTOR_OF_MANY
    samples = min(SIMULATED_SAMPLES, SIMULATED_NUMBERS // null.size) // 2 * 2
    noise = np.random.default_rng(SEED).standard_normal((samples, n + (m or 0)))
    if m is None:
        first, second = np.triu_indices(n)
        shifts = (noise[:, first] + noise[:, second]) / 2
    else:
        shifts = (noise[:, :n, None] - noise[:, None, n:]).reshape(samples, -1)
    ends = [null.rank_at(ALPHA) - 1, null.size - null.rank_at(ALPHA)]
    low, high = np.partition(shifts, ends, axis=1)[:, ends].T
    return float(np.quantile(-low[:samples // 2] / ((high - low)[samples // 2:] / 2), POWER))


def rounds_to_find(new: Sequence[float], base: Sequence[float], paired: bool, rows: int,
                   floor: float = 1.0) -> float:
    """How many rounds (or values a side) find the change that was seen in 80 % of repetitions, as
    the only one of so many rows that changed, and beyond a noise floor, which shrinks as intervals
    do. Values above 0."""
    return rounds_for_shift(shift_estimate(np.log(new), np.log(base), paired), paired, rows, floor)


def rounds_for_shift(shift: Estimate, paired: bool, rows: int, floor: float) -> float:
    """The same for the shift of logarithms that was seen, with its 95 % interval. The width of an
    interval falls with the root of their number, and the correction takes ALPHA / rows of the
    normal distribution in place of ALPHA. Infinite where nothing was seen, or more than
    ROUNDS_ADVISED are needed, or there are too few values for an interval."""
    if shift.interval is None or abs(shift.value) < ROUNDING:
        return math.inf
    from statistics import NormalDist  # slow to import
    rounds, half = shift.pairs, (shift.interval.high - shift.interval.low) / 2
    longer = (NormalDist().inv_cdf(1 - ALPHA / rows / 2) + Z_POWER) / Z_INTERVAL
    farthest = max(half * longer, math.log(floor)) / abs(shift.value)
    needed = max(math.ceil(rounds * farthest ** 2), rounds_deciding(rows, paired))
    return needed if needed <= ROUNDS_ADVISED else math.inf


@lru_cache
def errors_planned(rows: int) -> float:
    """The standard errors of a change that a gate of so many rows finds in PLANNED_POWER of
    results. Its interval of confidence 1 - ALPHA / rows must exclude the limit, and the change must
    be beyond the noise floor, which is the farther end of an interval of the same width, of A' / A.
    Simulated for normal noise: a row's new runs, its runs A and its runs A'."""
    from statistics import NormalDist  # slow to import
    new, base, again = np.random.default_rng(SEED).standard_normal((3, SIMULATED_SAMPLES))
    noise, same = (new - base) / math.sqrt(2), (again - base) / math.sqrt(2)
    reach = np.maximum(NormalDist().inv_cdf(1 - ALPHA / rows / 2), Z_INTERVAL + np.abs(same))
    return float(np.quantile(reach - noise, PLANNED_POWER))


def rounds_planned(noise: float, rows: int, paired: bool = True) -> float:
    """How many rounds (or values a side) a gate of so many rows needs: they find a row that is
    PLANNED_CHANGE beyond its limit in PLANNED_POWER of results. noise: the standard deviation of
    the logarithm of the ratio of a round. Infinite where more than ROUNDS_ADVISED are needed."""
    errors = noise * errors_planned(rows) / math.log(PLANNED_CHANGE)
    needed = max(math.ceil(errors ** 2), rounds_deciding(rows, paired) + ROUNDS_SPARE)
    return needed if needed <= ROUNDS_ADVISED else math.inf


def noise_measured(shift: Estimate) -> float | None:
    """The noise of a round for rounds_planned(), by the width of a 95 % interval; None without
    one. It is taken a little larger, because so few rounds may have been quiet by luck."""
    if shift.interval is None:
        return None
    rounds, half = math.sqrt(shift.pairs), (shift.interval.high - shift.interval.low) / 2
    return half / Z_INTERVAL * (rounds + 0.5)


def smallest_detectable(new: Sequence[float], base: Sequence[float], paired: bool) -> float | None:
    """The smallest change, as a fraction of the base, that would be found in 80 % of comparisons
    with as many values and this noise. The values are above 0 and no logarithms. None below 6
    rounds, or below 4 values a side. paired: both have one value for each round."""
    shift = shift_estimate(np.log(new), np.log(base), paired)
    if shift.interval is None:
        return None
    factor = width_factor(len(new), None if paired else len(base))
    return math.expm1((shift.interval.high - shift.interval.low) / 2 * factor)
