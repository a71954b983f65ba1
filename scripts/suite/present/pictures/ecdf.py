# SPDX-License-Identifier: MIT
"""Empirical distribution functions: the share of requests that took at most a time. Pure. An open
loop counts all requests that were due: if some were never sent, its line ends below 1."""

from itertools import accumulate

from suite.base.units import Scale
from suite.observe.frame import Matrix
from suite.observe.histogram import Histogram
from suite.present.pictures import parts
from suite.present.pictures.percentiles import Points, distribution_draw, time_in
from suite.scenario.scenario import Picture

TAIL = 0.99  # the axis ends at this quantile of the slowest cell; kind=percentiles shows the rest


def ecdf_points(histogram: Histogram, scale: Scale) -> Points:
    """(time, share): a share of 0 at the smallest value, then the share at the end of each bin."""
    ends = [min(low + width - 1, histogram.maximum) for low, width, _ in histogram.bins]
    counts = accumulate(count for _, _, count in histogram.bins)
    return [(time_in(scale, histogram.minimum), 0),
            *((time_in(scale, end), seen / histogram.total)
              for end, seen in zip(ends, counts, strict=True))]


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return distribution_draw(matrix, picture, ecdf_points, TAIL)
