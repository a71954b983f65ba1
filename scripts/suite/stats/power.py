# SPDX-License-Identifier: MIT
"""The minimum detectable effect: the change that the same test, with as many rounds and this noise,
finds in 80 % of repetitions.

A test finds a shift if the interval of the shift excludes 0. The half width of the measured
interval is one sample of how wide that interval is. So the half width is multiplied by a factor
with which 80 % of shifts are found.

With many rounds the factor is (z_0.975 + z_0.8) / z_0.975 = 1.43 for any shape of noise, because
the estimate is then nearly normal: Noether (1987), "Sample size determination for some common
nonparametric tests"; Lehmann, "Nonparametrics" (1975), sections 2.2 and 4.2. With fewer rounds it
comes from a simulation of normal noise with a fixed seed: one sample is shifted, and the half width
is that of another sample. If the noise is very skewed, or the machine has two states, 70 to 85 % of
shifts are found.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from suite.stats.estimate import Estimate
from suite.stats.nulls import ALPHA, mann_whitney_null, rounds_deciding, signed_rank_null
from suite.stats.shift import ROUNDING, shift_estimate

POWER = 0.8
ROUNDS_ADVISED = 1000  # a larger number of rounds is not advised
# The rounds of a gate are planned to find this change beyond the limit, in this share of results.
PLANNED_CHANGE, PLANNED_POWER = 1.1, 0.9
ROUNDS_SPARE = 6  # added to the fewest that can decide: with those one odd round prevents it
SEED = 1
SIMULATED_SHIFTS = 1000  # the factor is simulated for up to so many elementary shifts of a sample
SIMULATED_NUMBERS = 4_000_000  # limit of the elementary shifts of all samples: 32 MB, 0.1 s
SIMULATED_SAMPLES = 20_000

# quantiles of the normal distribution, of 1 - ALPHA / 2 and of POWER
Z_INTERVAL, Z_POWER = 1.959963984540054, 0.8416212335729143
FACTOR_OF_MANY = (Z_INTERVAL + Z_POWER) / Z_INTERVAL


@lru_cache
def width_factor(n: int, m: int | None) -> float:
    """The factor of a half width. n: shared rounds, at least 6; with m, n against m values, at
    least 4 each. It is simulated with one sample of elementary shifts a row. The first half of the
    samples are shifts to find, the second half are intervals."""
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
    """How many rounds (unpaired: values a side) find the change that was seen, in 80 % of
    repetitions. rows: how many rows there are, of which this one changed; floor: the noise floor,
    which must be exceeded and shrinks as intervals do. All values are above 0."""
    return rounds_for_shift(shift_estimate(np.log(new), np.log(base), paired), paired, rows, floor)


def rounds_for_shift(shift: Estimate, paired: bool, rows: int, floor: float) -> float:
    """As rounds_to_find(), for the shift of logarithms with its 95 % interval. The width of an
    interval falls with the root of the number of rounds. For the correction, the quantile of the
    normal distribution is that of ALPHA / rows. Infinite if no shift was seen, if it has no
    interval, or if more than ROUNDS_ADVISED are needed."""
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
    """How far beyond the limit a change must be, in standard errors, so that a gate of so many rows
    finds it in PLANNED_POWER of results. Its interval at confidence 1 - ALPHA / rows must exclude
    the limit. The change must also exceed the noise floor: the farther end of the interval of
    A' / A, which is as wide. Simulated for normal noise of the new runs, the runs A and A'."""
    from statistics import NormalDist  # slow to import
    new, base, again = np.random.default_rng(SEED).standard_normal((3, SIMULATED_SAMPLES))
    noise, same = (new - base) / math.sqrt(2), (again - base) / math.sqrt(2)
    reach = np.maximum(NormalDist().inv_cdf(1 - ALPHA / rows / 2), Z_INTERVAL + np.abs(same))
    return float(np.quantile(reach - noise, PLANNED_POWER))


def rounds_planned(noise: float, rows: int, paired: bool = True) -> float:
    """How many rounds (unpaired: values a side) a gate of so many rows needs. With these it finds a
    row that is PLANNED_CHANGE beyond its limit, in PLANNED_POWER of results. noise: the standard
    deviation of the logarithm of the ratio of a round. Infinite beyond ROUNDS_ADVISED."""
    errors = noise * errors_planned(rows) / math.log(PLANNED_CHANGE)
    needed = max(math.ceil(errors ** 2), rounds_deciding(rows, paired) + ROUNDS_SPARE)
    return needed if needed <= ROUNDS_ADVISED else math.inf


def noise_measured(shift: Estimate) -> float | None:
    """The noise of a round for rounds_planned(), from the width of the 95 % interval; None without
    an interval. The result is a little larger: few rounds may have been quiet by chance."""
    if shift.interval is None:
        return None
    rounds, half = math.sqrt(shift.pairs), (shift.interval.high - shift.interval.low) / 2
    return half / Z_INTERVAL * (rounds + 0.5)


def smallest_detectable(new: Sequence[float], base: Sequence[float], paired: bool) -> float | None:
    """The minimum detectable effect, as a fraction of the base: the smallest change that is found
    in 80 % of comparisons with as many values and this noise. The values are above 0, and no
    logarithms. None below 6 rounds, or below 4 values a side. paired: both have one value for each
    round."""
    shift = shift_estimate(np.log(new), np.log(base), paired)
    if shift.interval is None:
        return None
    factor = width_factor(len(new), None if paired else len(base))
    return math.expm1((shift.interval.high - shift.interval.low) / 2 * factor)
