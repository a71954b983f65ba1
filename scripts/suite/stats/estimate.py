# SPDX-License-Identifier: MIT
"""What an answer is made of: an interval, an estimate; and what is read off them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ALPHA = 0.05  # of every interval, two-sided


@dataclass(frozen=True)
class Interval:
    """A closed interval; level is its coverage (0.969), None where it is only min..max."""

    low: float
    high: float
    level: float | None

    def contains(self, value: float) -> bool:
        """Whether value lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A centre with its interval, and the number of pairs (unpaired: of values on the smaller side) behind it.

    interval: None where there are too few pairs. p: of no change, two-sided, by the test that the interval inverts: the
    smallest level at which the closed interval excludes it, so at most ALPHA exactly where this one does.
    """

    value: float
    interval: Interval | None
    pairs: int
    p: float | None = None


def same_band(ratios: Iterable[Estimate]) -> float | None:
    """The A/A band: how far from 1 the farthest end of the intervals of A'/A lies, as a fraction.

    None where no pair of runs has an interval.
    """
    ends = [abs(end - 1) for ratio in ratios if ratio.interval is not None
            for end in (ratio.interval.low, ratio.interval.high)]
    return max(ends, default=None)


def relative_width(centre: float, interval: Interval) -> float:
    """The farther end of the interval from its centre (not 0), as a fraction of the centre."""
    return max(interval.high - centre, centre - interval.low) / abs(centre)
