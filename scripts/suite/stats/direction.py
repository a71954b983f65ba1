# SPDX-License-Identifier: MIT
"""Which of two is larger, where some values are censored: only a bound is known that they lie
beyond.

No ratio can be estimated then. A pair counts for a direction if it is sure: the bound of the one is
no less than the other. A pair that is not sure counts against both directions, so that the test
claims too little, never too much. Rounds that both sides share: sign test; else Mann-Whitney, which
needs no more than these signs.
"""

from __future__ import annotations

import math

import numpy as np

from suite.stats.estimate import ALPHA, Estimate, Interval
from suite.stats.nulls import Null, sign_null, unpaired_null

# The least and the most that each value can be, float64 of shape (values,): the most is infinite if
# the value is censored.
Spans = tuple[np.ndarray, np.ndarray]
JUST_ABOVE, JUST_BELOW = math.nextafter(1, math.inf), math.nextafter(1, 0)


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
