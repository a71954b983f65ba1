# SPDX-License-Identifier: MIT
"""Histograms of a record, in the shape of docs/record.md: read, merge, quantiles. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from suite.base.units import Beyond

OPEN = 2**64  # the width of a bin without an upper end


@dataclass(frozen=True)
class Histogram:
    """Values in ns. bins: (low, width, count), by their upper ends. maximum, minimum and sum are
    exact. beyond: the number of censored values: each is only known to be larger than all others.
    """

    count: int
    maximum: float
    minimum: float
    sum: float
    bins: tuple[tuple[int, int, int], ...]
    beyond: int = 0

    @property
    def total(self) -> int:
        return self.count + self.beyond

    def quantile(self, share: float) -> float | None:
        """The value, in ns, at rank ceil(share * total): the middle of its bin; if it is censored,
        Beyond(maximum); in an open bin, or above its low, Beyond(low). None if there are fewer than
        1 / (1 - share) values: too few for the tail."""
        if self.total * (1 - share) < 1 - 1e-9:
            return None
        rank, seen = math.ceil(share * self.total - 1e-9), 0
        last = self.bins[-1][0] if self.bins and self.bins[-1][1] == OPEN else math.inf
        for low, width, count in self.bins:
            seen += count
            if seen >= rank:
                if low >= last:
                    return Beyond(max(last, self.minimum))
                return min(max(low + (width - 1) / 2, self.minimum), self.maximum)
        return Beyond(self.maximum)

    def largest(self) -> float:
        """The largest value, in ns, exact; Beyond(maximum) if it is censored."""
        return Beyond(self.maximum) if self.beyond else self.maximum


def histogram_read(part: dict[str, Any]) -> Histogram:
    """Older records count all values above 100 s in their last bin, which ends below maximum."""
    bins = [(low, width, count) for low, width, count in part["bins"]]
    if bins and sum(bins[-1][:2]) <= part["maximum"]:
        bins[-1] = (bins[-1][0], OPEN, bins[-1][2])
    return Histogram(part["count"], part["maximum"], part["minimum"], part["sum"], tuple(bins))


def histograms_merge(parts: Sequence[Histogram]) -> Histogram | None:
    """One histogram of several; None if none has a value."""
    parts = [part for part in parts if part.total]
    if len(parts) < 2:
        return parts[0] if parts else None
    counts: Counter[tuple[int, int]] = Counter()
    for low, width, count in chain.from_iterable(part.bins for part in parts):
        counts[low, width] += count
    bins = tuple((low, width, count) for (low, width), count
                 in sorted(counts.items(), key=lambda item: sum(item[0])))
    counted = [part for part in parts if part.count] or parts
    return Histogram(sum(part.count for part in parts), max(part.maximum for part in counted),
                     min(part.minimum for part in counted), sum(part.sum for part in parts), bins,
                     sum(part.beyond for part in parts))
