# SPDX-License-Identifier: MIT
"""The band of a published ratio, and where a measured interval lies.

`X / Y ~ 1.87 within 1.5` claims that the ratio is from 1.87 / 1.5 to 1.87 * 1.5, and beyond
near_of(1.87): a smaller gain is none. A number within a factor of 1.1 of 1 claims that nothing
changes: without `within`, which says how near to 1 is meant, the claim is undecided.
"""

import math

from suite import stats
from suite.decide.expressions import WITHIN, Operation

NEAR = 1.1  # a claimed ratio within this factor of 1 claims that nothing changes


def near_of(value: float) -> float:
    """The smallest change that counts as one in the direction of a claimed ratio: NEAR, or the root
    of a ratio nearer to 1 than NEAR squared; 1 if the ratio claims that nothing changes."""
    if 1 / NEAR < value < NEAR:
        return 1.0
    return min(max(math.sqrt(value), 1 / NEAR), NEAR)


def band_of(claim: Operation) -> tuple[float, float] | None:
    """The range that a claim with ABOUT allows; None for a number near 1 without `within`."""
    value = claim.limit or 1.0
    within, near = claim.within or WITHIN, near_of(value)
    low, high = value / within, value * within
    if near == 1:
        return (low, high) if claim.within else None
    return (max(low, near), high) if value > 1 else (low, min(high, near))


def side_of(value: float, low: float, high: float) -> int:
    """Where a measured interval lies: 1 if all of it changes as much as near_of() a claimed ratio
    and in its direction, -1 if none of it does, else 0; 0 if the ratio claims that nothing
    changes."""
    near = near_of(value)
    change = (low > near) - (high < near)
    return 0 if near == 1 else change if value > 1 else -change


def band_decide(claim: Operation, ratio: stats.Interval | None) -> tuple[str, int, list[float]]:
    """Outcome and side of a claim with ABOUT, and the limits that leave one of them open. ratio:
    the interval of left / right."""
    band, value = band_of(claim), claim.limit or 1.0
    if band is None or ratio is None:
        return "undecided", 0, []
    low, high, near = ratio.low * value, ratio.high * value, near_of(value)
    side = side_of(value, low, high)
    inside = band[0] <= low and high <= band[1] and (side > 0 or near == 1)
    outcome = "ok" if inside else "not ok" if high < band[0] or low > band[1] else "undecided"
    is_open = outcome == "undecided" or (side == 0 and near != 1)
    return outcome, side, [limit / value for limit in sorted({*band, near} - {1.0})
                           if is_open and low <= limit <= high]
