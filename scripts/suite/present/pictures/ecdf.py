# SPDX-License-Identifier: MIT
"""Empirical distribution functions: the share of requests that took at most so long. Pure.

In an open loop of all that were due, so that a line ends below 1 where some were never sent.
"""

from __future__ import annotations

from suite.analyse.frame import Matrix
from suite.base.units import Scale
from suite.present.pictures.distribution import Distribution, distribution_draw, tics_of, time_in
from suite.present.pictures.picture import Drawing, gnuplot_string, number_data, tics_settings
from suite.stats.histogram import Histogram

TAIL = 0.99  # the axis ends where so many of every cell have come: percentiles show the rest


def line_data(histogram: Histogram, scale: Scale) -> str:
    """The block of one line in a .dat: the share at the upper end of each bin."""
    lines = [f"{number_data(time_in(scale, histogram.minimum))} 0\n"]
    seen = 0
    for low, width, count in histogram.bins:
        seen += count
        end = min(low + width - 1, histogram.maximum)
        lines.append(f"{number_data(time_in(scale, end))} {number_data(seen / histogram.total)}\n")
    return "".join(lines)


def axes_settings(histograms: list[Histogram], scale: Scale, label: str) -> list[str]:
    """Range, tics and labels; the extremes of few requests do not squeeze all others."""
    lows = [time_in(scale, h.quantile(1 - TAIL) or h.minimum) for h in histograms]
    highs = [time_in(scale, h.quantile(TAIL) or h.maximum) for h in histograms]
    low, high = min(lows, default=1.0), max(highs, default=10.0)
    return [f"left = {number_data(low / 1.1)}", f"right = {number_data(high * 1.1)}",
            f"label_x = {gnuplot_string(label)}",
            *tics_settings("x", tics_x=tics_of(low, high, 12), tics_text=tics_of(low, high, 6))]


def ecdf_draw(matrix: Matrix, plan: Distribution) -> list[Drawing]:
    """The distribution functions of a result."""
    return distribution_draw(matrix, plan, line_data, axes_settings)
