# SPDX-License-Identifier: MIT
"""Percentile plots: latency over 1 / (1 - q) on a logarithmic axis, where all nines have the same
width. A line ends at the quantile that Histogram.quantile() no longer knows: it needs 1 / (1 - q)
values. In an open loop, requests that were due and never sent end it too. Pure.

ecdf.py shares distribution_draw(). A picture merges the histograms of all counted runs of a cell,
as an export does; a table shows the median of rounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from suite.present.pictures.canvas import Sign
from suite.scenario.scenario import Picture

STEPS = 50  # points of a line for each nine
STEEP_TIMES = 10  # values that span more than this factor are on a logarithmic axis
BAND_MOST = 300  # points of a band, at most
FLOOR_NS = 1.0  # a shorter time is drawn as this: a logarithmic axis has no 0
HISTOGRAM_TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
          "handshake": "handshake", "handover": "hand-over"}



@dataclass(frozen=True)
class Kind:
    """points: of one line, in the unit of the scale. axes: the settings of both axes, by the
    histograms of a picture; its str is what the times are. ends: whether a band ends with the line
    of the first round that ends; else a round stays at its last point."""

    points: Callable[[Histogram, Scale], list[tuple[float, float]]]
    axes: Callable[[list[Histogram], Scale, str], dict[str, object]]
    ends: bool


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


def line_make(matrix: Matrix, cell: Cell, label: str, name: str) -> Line:
    runs = matrix.runs_good(cell.name)
    histogram = histogram_of(runs, name)
    missing = "" if histogram else f" ({parts.absence_text(cell)})"
    return Line(label + missing + unsent_text(runs),
                histogram if histogram and histogram.count else None,
                [found for run in runs if (found := histogram_of([run], name))])


def band_rows(rounds: Sequence[Sequence[tuple[float, float]]], line: Sequence[tuple[float, float]],
              ends: bool) -> Sequence[parts.Row]:
    """x of some points of a line; low and high of the median of rounds there. ends: as in Kind."""
    if len(rounds) < 2 or not all(rounds):
        return []
    xs = np.array([x for x, _ in line[::-(-len(line) // BAND_MOST) or 1]])
    if ends:
        xs = xs[xs <= min(points[-1][0] for points in rounds)]
    steps = [np.array([(0.0, 0.0), *points]).T for points in rounds]
    values = [ys[np.searchsorted(grid[1:], xs * (1 + 1e-9), side="right")] for grid, ys in steps]
    return [(x, *parts.interval_ends(stats.median_interval(found)))
            for x, found in zip(xs.tolist(), np.transpose(values).tolist(), strict=True)]


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, at least FLOOR_NS."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def distribution_draw(matrix: Matrix, picture: Picture, kind: Kind) -> list[parts.Drawing]:
    """A picture for each combination of the other axes, unless no cell of it has the histogram: a
    cell that sends inline has no hand-over."""
    shown = picture.of or "latency"
    title, inner, drawings = HISTOGRAM_TITLES[shown], parts.series_axes(matrix, picture), []
    for page in parts.pages_divide(matrix, picture, shown, inner):
        groups = parts.cells_group(page.cells, inner)
        names = parts.series_names(groups, inner, matrix.result.name)
        # One cell at a time, because records are large.
        lines = {at: line_make(matrix, cell, names[at], shown) for at, (cell,) in groups.items()}
        known = [line.histogram for line in lines.values() if line.histogram]
        if not known:
            continue
        scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
        since = " from the intended start" * (shown == "latency"
                                              and all(cell.open_loop for cell in page.cells))
        banded = parts.rounds_shown(page.canvas, matrix, len(lines))
        blocks, bands = list[parts.Block](), list[parts.Block]()
        for line in lines.values():
            drawn = kind.points(line.histogram, scale) if line.histogram else []
            blocks.append([line.label, *drawn])
            if banded:
                bands.append([f"rounds {line.label}", *band_rows(
                    [kind.points(one, scale) for one in line.rounds], drawn, kind.ends)])
        signs = [Sign("shaded", "", f"{parts.interval_kind(matrix)} of the median of rounds")]
        labels = {at: line.label for at, line in lines.items()}
        drawings.append(page.axes_drawing(
            "distribution", [*blocks, *bands], parts.what_text(title, scale.unit, "lower"),
            f"all requests of {counted_text(matrix.rounds, 'round')}", signs * banded, {
                **parts.series_settings(page.canvas, matrix, inner, labels), "rounds": banded,
                **kind.axes(known, scale, f"{title}{since}, {scale.unit}")}))
    if not drawings:
        raise UsageError(f"picture: {picture.kind}: no cell has the {title} of "
                         "its requests; kind=bars draws what was measured")
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


def percentiles_axes(histograms: list[Histogram], scale: Scale, label: str) -> dict[str, object]:
    """y is logarithmic if the values span a lot."""
    points = [point for histogram in histograms for point in percentiles_points(histogram, scale)]
    values = [value for _, value in points] or [1.0]
    steep = max(values) > STEEP_TIMES * min(values)
    return {"shares": False, "nine": STEPS, "left": 1,
            "right": 1.15 * max([10.0, *(x for x, _ in points)]),
            "bottom": min(values) / 1.1 if steep else 0, "top": max(values) * 1.1, "steep": steep,
            "label_x": "percentile of requests", "label_y": label}


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return distribution_draw(matrix, picture, Kind(percentiles_points, percentiles_axes, ends=True))
