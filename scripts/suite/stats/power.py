# SPDX-License-Identifier: MIT
"""The minimum detectable effect: the change that the same comparison, with as many rounds and rows
and this noise, finds in 80 % of repetitions; and how many rounds find a change.

A comparison finds a change if its interval excludes 1. The half width of the measured interval is
one sample of how wide that is, so it is multiplied by a factor with which 80 % of changes are
found. The factor comes from a simulation of independent normal noise with a fixed seed: one sample
is shifted, and the half width is that of another. With many rounds the estimate is nearly normal
for any shape of noise (Noether 1987, "Sample size determination for some common nonparametric
tests"), and only the widening of intervals (stats/ratio.py) is simulated. If the noise is very
skewed, 70 to 85 % of changes are found.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from suite.stats.nulls import ALPHA, mann_whitney_null, rounds_deciding, signed_rank_null
from suite.stats.ratio import Ratio, widening_by, widening_of
from suite.stats.shift import ROUNDING

POWER = 0.8
ROUNDS_ADVISED = 1000  # a larger number of rounds is not advised
# The rounds of a gate are planned to find this change beyond the limit, in this share of results.
PLANNED_CHANGE, PLANNED_POWER = 1.1, 0.9
ROUNDS_SPARE = 6  # added to the fewest that can decide: with those one odd round prevents it
PLANNED_NOISE = 1.1  # the ratio of two medians is noisier than the estimate of the rank test
SEED = 1
SIMULATED_SHIFTS = 500  # the rank test is simulated for up to so many elementary shifts
SIMULATED_SAMPLES = 4000
SIMULATED_ROUNDS = 300  # the widening of more rounds is that of so many
quantile_of = NormalDist().inv_cdf


def widenings(rows: np.ndarray) -> np.ndarray:
    """The widening of each row; of shape (rows, 1)."""
    return np.array([[widening_of(row)] for row in rows])


@lru_cache
def width_factor(n: int, m: int | None, alpha: float = ALPHA, independent: bool = False) -> float:
    """The factor of a half width at confidence 1 - alpha, which must be possible. n: shared rounds;
    with m, n against m values. independent: as of ratio_make()."""
    null = signed_rank_null(n) if m is None else mann_whitney_null(n, m)
    chance, half = np.random.default_rng(SEED), SIMULATED_SAMPLES // 2
    if null.size > SIMULATED_SHIFTS:
        reach = np.ones((SIMULATED_SAMPLES, 1)) if m or independent else widenings(
            chance.standard_normal((SIMULATED_SAMPLES, min(n, SIMULATED_ROUNDS))))
        reach = reach * quantile_of(1 - alpha / 2)
        needed = reach[:half, 0] + chance.standard_normal(half)
        return float(np.quantile(needed / reach[half:, 0], POWER))
    noise = chance.standard_normal((SIMULATED_SAMPLES, n + (m or 0)))
    if m is None:
        first, second = np.triu_indices(n)
        shifts = (noise[:, first] + noise[:, second]) / 2
    else:
        shifts = (noise[:, :n, None] - noise[:, None, n:]).reshape(SIMULATED_SAMPLES, -1)
    rank = null.rank_at(alpha)
    centre = np.median(shifts, axis=1, keepdims=True)
    ends = np.partition(shifts, [rank - 1, null.size - rank], axis=1)[
        :, [rank - 1, null.size - rank]]
    wider = 1.0 if m or independent else widenings(noise)
    low, high = (centre + wider * (ends - centre)).T
    return float(np.quantile(-low[:half] / ((high - low)[half:] / 2), POWER))


def smallest_detectable(ratio: Ratio, alpha: float = ALPHA) -> float | None:
    """The minimum detectable effect at confidence 1 - alpha, as a fraction of the base; None if
    there are too few values for an interval."""
    interval = ratio.interval(alpha)
    if interval is None:
        return None
    sides = len(ratio.shifts.first), None if ratio.shifts.paired else len(ratio.shifts.second)
    half = math.log(interval.high / interval.low) / 2
    return math.expm1(half * width_factor(*sides, alpha, ratio.widening == 1))


def rounds_to_find(ratio: Ratio, rows: int, shift: float | None = None) -> float:
    """How many rounds (unpaired: values a side) find the change that was seen, in 80 % of
    repetitions, if this one of so many rows changed. shift: another change, a logarithm. The width
    of an interval falls with the root of the number of rounds. Infinite if no change was seen, if
    it has no interval, or if more than ROUNDS_ADVISED are needed."""
    interval, shift = ratio.interval(), ratio.centre if shift is None else shift
    if interval is None or abs(shift) < ROUNDING:
        return math.inf
    normal = quantile_of(1 - ALPHA / 2)
    longer = (quantile_of(1 - ALPHA / rows / 2) + quantile_of(POWER)) / normal
    half = math.log(interval.high / interval.low) / 2
    needed = max(math.ceil(ratio.pairs * (half * longer / shift) ** 2),
                 rounds_deciding(rows, ratio.shifts.paired))
    return needed if needed <= ROUNDS_ADVISED else math.inf


def rounds_planned(noise: float, rows: int, paired: bool = True) -> float:
    """How many rounds (unpaired: values a side) a gate of so many rows needs. With these it finds a
    row that is PLANNED_CHANGE beyond its limit, in PLANNED_POWER of results. noise: the standard
    deviation of the logarithm of the ratio of a round. Infinite beyond ROUNDS_ADVISED."""
    errors = PLANNED_NOISE * noise / math.log(PLANNED_CHANGE) * (
        quantile_of(1 - ALPHA / rows / 2) + quantile_of(PLANNED_POWER))
    for n in range(rounds_deciding(rows, paired) + ROUNDS_SPARE, ROUNDS_ADVISED + 1):
        # the correlation of independent rounds is 0, plus one standard error
        if n >= (errors * (widening_by(1 / math.sqrt(n) + 1 / n) if paired else 1.0)) ** 2:
            return n
    return math.inf


def noise_measured(ratio: Ratio) -> float | None:
    """The noise of a round for rounds_planned(), from the width of the 95 % interval of the rank
    test; None without an interval. It is a little larger, as few rounds may have been quiet by
    chance. A few rounds say nothing of their correlation: a plan is for independent ones."""
    ends = ratio.shifts.ends(ALPHA)
    if ends is None:
        return None
    return (ends.high - ends.low) / 2 / quantile_of(1 - ALPHA / 2) * (
        math.sqrt(ratio.pairs) + 0.5)
