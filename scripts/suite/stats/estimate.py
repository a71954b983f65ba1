# SPDX-License-Identifier: MIT
"""An interval and an estimate, and what is read off them: the noise floor, the relative width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

ALPHA = 0.05  # of every interval, two-sided


class Interval(NamedTuple):
    """A closed interval; level: its coverage (0.969), None: only min..max. An end may be Beyond."""

    low: float
    high: float
    level: float | None

    def contains(self, value: float) -> bool:
        """Whether value lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A centre with its interval, and the number of pairs (unpaired: of values on the smaller side)
    behind it. interval: None where there are too few pairs. p: of no change, two-sided, by the test
    that the interval inverts: the smallest level at which the closed interval excludes it, so at
    most ALPHA exactly where this one does. p_least: the smallest p that so many pairs can give.
    directed: only a direction is known (stats/direction.py)."""

    value: float
    interval: Interval | None
    pairs: int
    p: float | None = None
    p_least: float = 1.0
    directed: bool = False

    @property
    def span(self) -> tuple[float, ...]:
        """The centre and both ends of its interval; without one, or where only the direction is
        known, the centre alone."""
        ends = () if self.interval is None or self.directed else self.interval[:2]
        return (self.value, *ends)


def estimate_floor(same: Estimate) -> float | None:
    """The noise floor of a baseline as a ratio, 1 or above; same: A' / A. None without an interval.
    It is the farther end, in logarithms, of the 95 % interval of A' / A. A ratio from 1 / floor to
    floor is one that the comparison of the baseline with itself, in as many rounds, does not
    exclude."""
    within = same.interval
    return None if within is None or same.directed else max(within.high, 1 / within.low)


def is_within_floor(ratio: float, floor: float | None) -> bool:
    """Whether a ratio (above 0) is no farther from 1 than the noise floor; False without one."""
    return floor is not None and 1 / floor <= ratio <= floor


def relative_width(centre: float, interval: Interval) -> float:
    """The farther end of the interval from its centre (not 0), as a fraction of the centre."""
    return max(interval.high - centre, centre - interval.low) / abs(centre)
