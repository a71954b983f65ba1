# SPDX-License-Identifier: MIT
"""Percentile plots: latency over 1 / (1 - q) on a logarithmic axis, where all nines have the same
width. Pure. A line ends at the quantile that Histogram.quantile() no longer knows: it needs
1 / (1 - q) values. In an open loop, requests that were due and never sent end it too."""

import math
from collections.abc import Iterator
from itertools import count

from suite.base.units import Scale
from suite.observe.frame import Matrix
from suite.observe.histogram import Histogram
from suite.present.pictures import parts
from suite.present.pictures.distribution import distribution_draw, time_in, time_tics
from suite.scenario.scenario import Picture
from suite.stats import Beyond

STEPS = 50  # points of a line for each nine
STEEP_TIMES = 10  # values that span more than this factor are on a logarithmic axis


def percentiles_points(histogram: Histogram, scale: Scale) -> Iterator[tuple[float, float]]:
    """(1 / (1 - q), quantile q) from q = 0 on."""
    for step in count():
        x = 10 ** (step / STEPS)
        value = histogram.quantile(1 - 1 / x)
        if value is None or isinstance(value, Beyond):
            return
        yield x, time_in(scale, value)


def nines_text(nines: int) -> str:
    """The percentile with so many nines: 0, 90 %, 99 %, 99.9 %."""
    if nines < 2:
        return "90 %" if nines else "0"
    return f"99.{'9' * (nines - 2)}".rstrip(".") + " %"


def percentiles_axes(histograms: list[Histogram], scale: Scale, label: str, most: int
                     ) -> dict[str, object]:
    """Ranges, tics and labels of both axes. y is logarithmic if the values span a lot."""
    points = [point for histogram in histograms for point in percentiles_points(histogram, scale)]
    right = max([10.0, *(x for x, _ in points)])
    values = [value for _, value in points] or [1.0]
    low, high = min(values), max(values)
    steep = high > STEEP_TIMES * low
    nines = [(nines_text(n), 10.0**n) for n in range(math.floor(math.log10(right) + 1e-9) + 1)]
    drawn = nines[::-(-len(nines) // max(most, 2))]
    times, in_text = (parts.tics_command("y", time_tics(low, high, count)) if steep
                      else "set ytics autofreq" for count in (12, 6))
    return {"left": 1, "right": right * 1.15, "bottom": low / 1.1 if steep else 0,
            "top": high * 1.1, "logarithmic_y": steep,
            "style": f"linespoints pointinterval {STEPS} pt points[i] ps 0.8 * grain",
            "label_x": "percentile of requests", "label_y": label,
            "tics_x": parts.tics_command("x", drawn),
            "tics_x_text": parts.tics_command("x", nines), "tics_y": times, "tics_y_text": in_text}


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return distribution_draw(matrix, picture, percentiles_points, percentiles_axes)
