# SPDX-License-Identifier: MIT
"""Percentile plots: latency over 1 / (1 - q), so that each nine is as wide as the one before. Pure.

A line ends where fewer than 1 / (1 - q) values stand behind it, as Histogram.quantile does, and in
an open loop where the requests begin that were due and never sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from suite.analyse.frame import Matrix
from suite.base.units import Scale
from suite.present.pictures.distribution import Distribution, distribution_draw, tics_of, time_in
from suite.present.pictures.picture import Drawing, gnuplot_string, number_data, tics_settings
from suite.stats import Beyond
from suite.stats.histogram import Histogram

STEPS = 50  # points of a line for each nine
STEEP = 10  # values that span more are drawn on a logarithmic axis


def line_points(histogram: Histogram) -> Iterator[tuple[float, float]]:
    """(1 / (1 - q), the quantile in ns), from the smallest value on."""
    for step in count():
        x = 10 ** (step / STEPS)
        value = histogram.quantile(1 - 1 / x)
        if value is None or isinstance(value, Beyond):
            return
        yield x, value


def line_data(histogram: Histogram, scale: Scale) -> str:
    """The block of one line in a .dat."""
    return "".join(f"{number_data(x)} {number_data(time_in(scale, value))}\n"
                   for x, value in line_points(histogram))


def nines_text(nines: int) -> str:
    """The percentile at so many nines: 0, 90 %, 99 %, 99.9 %."""
    if nines < 2:
        return "90 %" if nines else "0"
    return f"99.{'9' * (nines - 2)}".rstrip(".") + " %"


def axes_settings(histograms: list[Histogram], scale: Scale, label: str) -> list[str]:
    """Ranges, tics and labels of both axes; y is logarithmic if the values span a lot."""
    points = [point for histogram in histograms for point in line_points(histogram)]
    right = max([10.0, *(x for x, _ in points)])
    values = [time_in(scale, value) for _, value in points] or [1.0]
    low, high = min(values), max(values)
    steep = high > STEEP * low
    nines = [(nines_text(n), 10.0**n) for n in range(math.floor(math.log10(right) + 1e-9) + 1)]
    settings = [
        f"right = {number_data(right * 1.15)}",
        f"bottom = {number_data(low / 1.1 if steep else 0)}",
        f"top = {number_data(high * 1.1)}", f"logarithmic_y = {int(steep)}",
        f"label_y = {gnuplot_string(label)}", *tics_settings("x", tics_x=nines),
    ]
    if not steep:
        return settings + ["tics_y = 'set ytics autofreq'", "tics_y_text = tics_y"]
    return settings + tics_settings("y", tics_y=tics_of(low, high, 12),
                                    tics_y_text=tics_of(low, high, 6))


def percentiles_draw(matrix: Matrix, plan: Distribution) -> list[Drawing]:
    """The percentile plots of a result."""
    return distribution_draw(matrix, plan, line_data, axes_settings)
