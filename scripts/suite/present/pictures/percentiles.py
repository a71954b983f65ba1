# SPDX-License-Identifier: MIT
"""Percentile plots: latency over 1 / (1 - q) on a logarithmic axis, where all nines have the same
width. A line ends at the quantile that Histogram.quantile() no longer knows: it needs 1 / (1 - q)
values. In an open loop, requests that were due and never sent end it too. Pure.

ecdf.py shares distribution_draw(). A picture merges the histograms of all counted runs of a cell,
as an export does; a table shows the median of rounds.
"""

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import Scale, counted_text, scale_choose, share_text
from suite.observe.frame import Cell, Matrix
from suite.observe.histogram import Histogram
from suite.observe.measured import NANOSECOND, MeasuredRun, histogram_of
from suite.present.pictures import parts
from suite.present.pictures.canvas import Sign, canvas_of
from suite.scenario.scenario import Picture

STEPS = 50  # points of a line for each nine
STEEP_TIMES = 10  # values that span more than this factor are on a logarithmic axis
TIC_UNITS = 62  # the distance of tics along x, at least
BAND_MOST = 300  # points of a band, at most
FLOOR_NS = 1.0  # a shorter time is drawn as this: a logarithmic axis has no 0
HISTOGRAM_TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
          "handshake": "handshake", "handover": "hand-over"}

# The points of one line; the times are in the unit of the scale.
Points = Callable[[Histogram, Scale], list[tuple[float, float]]]
# The settings of both axes. str: the label of the axis of times; int: the most tics along x.
AxesSettings = Callable[[list[Histogram], Scale, str, int], dict[str, object]]


class Line(NamedTuple):
    """The line of a cell. histogram: None if no request was sent. rounds: one for each run."""

    label: str
    histogram: Histogram | None
    rounds: Sequence[Histogram]


def unsent_text(runs: Sequence[MeasuredRun]) -> str:
    """` (3.1% never sent)`: the share of due requests without a latency; empty without such."""
    late = sum(run.late or 0 for run in runs)
    due = sum(run.due or 0 for run in runs)
    return f" ({share_text(late / due)} never sent)" if late and due else ""


def line_make(matrix: Matrix, cell: Cell, axes: Sequence[str], name: str) -> Line:
    runs = matrix.runs_good(cell.name)
    histogram = histogram_of(runs, name)
    missing = "" if histogram else f" ({parts.absence_text(cell)})"
    return Line(parts.series_name(matrix, cell, axes) + missing + unsent_text(runs),
                histogram if histogram and histogram.count else None,
                [found for run in runs if (found := histogram_of([run], name))])


def band_rows(rounds: Sequence[Sequence[tuple[float, float]]], line: Sequence[tuple[float, float]],
              is_share: bool) -> Sequence[parts.Row]:
    """x of some points of a line; low and high of the median of rounds there. is_share: a round
    stays at its last share. Other bands end with the line of the first round that ends."""
    if len(rounds) < 2 or not all(rounds):
        return [(None, None, None)]
    xs = np.array([x for x, _ in line[::-(-len(line) // BAND_MOST) or 1]])
    if not is_share:
        xs = xs[xs <= min(points[-1][0] for points in rounds)]
    steps = [np.array([(0.0, 0.0), *points]).T for points in rounds]
    values = [ys[np.searchsorted(grid[1:], xs * (1 + 1e-9), side="right")] for grid, ys in steps]
    return [(x, *parts.interval_ends(stats.median_interval(found)))
            for x, found in zip(xs.tolist(), np.transpose(values).tolist(), strict=True)]


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, at least FLOOR_NS."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def time_tics(axis: str, low: float, high: float, most: int) -> str:
    return parts.tics_command(axis, [(f"{tic:.15g}", tic)
                                     for tic in parts.round_numbers(low, high, most)])


def distribution_draw(matrix: Matrix, picture: Picture, points: Points,
                      axes_settings: AxesSettings) -> list[parts.Drawing]:
    """A picture for each combination of the other axes, unless no cell of it has the histogram: a
    cell that sends inline has no hand-over."""
    shown = picture.of or "latency"
    title, inner = HISTOGRAM_TITLES[shown], parts.series_axes(matrix, picture)
    # One cell at a time, because records are large.
    lines = {name: line_make(matrix, cell, inner, shown) for name, cell in matrix.cells.items()}
    if not any(line.histogram for line in lines.values()):
        raise UsageError(f"picture: {picture.kind}: no cell has the {title} of "
                         "its requests; kind=bars draws what was measured")
    canvas, drawings = canvas_of(picture), []
    for values, place, cells in parts.pictures_divide(matrix, inner):
        inside = [lines[cell.name] for cell in cells]
        known = [line.histogram for line in inside if line.histogram]
        if not known:
            continue
        scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
        since = " from the intended start" * (shown == "latency"
                                              and all(cell.open_loop for cell in cells))
        settings = parts.series_settings(canvas, matrix, inner, {
            tuple(cell.axes[axis] for axis in inner): lines[cell.name].label for cell in cells})
        banded = parts.rounds_shown(canvas, matrix, len(inside))
        blocks, bands = list[Sequence[parts.Row]](), list[Sequence[parts.Row]]()
        for line in inside:
            drawn = points(line.histogram, scale) if line.histogram else []
            blocks.append([line.label, *(drawn or [(math.nan, math.nan)])])
            if banded:
                bands.append([f"rounds {line.label}", *band_rows(
                    [points(one, scale) for one in line.rounds], drawn, picture.kind == "ecdf")])
        signs = [Sign("shaded", "", f"{parts.interval_kind(matrix)} of the median of rounds")]
        drawings.append(parts.Drawing(
            parts.place_name(parts.picture_name(picture, shown), values), "distribution",
            parts.data_text([*blocks, *bands]), {
                **canvas.axes_titles(
                    settings["key_rows"],
                    parts.headline_text(matrix, parts.what_text(title, scale.unit, "lower"), place),
                    parts.note_text(matrix, cells,
                                    f"all requests of {counted_text(matrix.rounds, 'round')}"),
                    signs * banded),
                **settings, "rounds": banded,
                **axes_settings(known, scale, f"{title}{since}, {scale.unit}",
                                round(parts.axes_units(canvas, settings) / TIC_UNITS))}))
    return drawings


def percentiles_points(histogram: Histogram, scale: Scale) -> list[tuple[float, float]]:
    """(1 / (1 - q), quantile q) from q = 0 on."""
    points = []
    for step in count():
        x = 10 ** (step / STEPS)
        value = histogram.quantile(1 - 1 / x)
        if value is None or isinstance(value, stats.Beyond):
            break
        points.append((x, time_in(scale, value)))
    return points


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
    times, in_text = (time_tics("y", low, high, count) if steep else "set ytics autofreq"
                      for count in (12, 6))
    return {"left": 1, "right": right * 1.15, "bottom": low / 1.1 if steep else 0,
            "top": high * 1.1, "logarithmic_y": steep,
            "style": f"linespoints pointinterval {STEPS} pt points[i] ps 0.8 * grain",
            "label_x": "percentile of requests", "label_y": label,
            "tics_x": parts.tics_command("x", drawn),
            "tics_x_text": parts.tics_command("x", nines), "tics_y": times, "tics_y_text": in_text}


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return distribution_draw(matrix, picture, percentiles_points, percentiles_axes)
