# SPDX-License-Identifier: MIT
"""Distributions of times. A picture merges the histograms of all counted runs of a cell; a table
shows the median of rounds. An open loop counts all requests that were due. Pure.

Percentile plot: latency over 1 / (1 - q) on a logarithmic axis, where all nines have the same
width. A line ends at the quantile that Histogram.quantile() no longer knows: it needs 1 / (1 - q)
values. Requests that were never sent end it too.

Empirical distribution function: the share of requests that took at most a time. If some requests
were never sent, its line ends below 1."""

from collections.abc import Sequence
from itertools import accumulate, count
from typing import NamedTuple

import numpy as np

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import Scale, counted_text, scale_choose, share_text
from suite.observe.frame import Matrix
from suite.observe.histogram import Histogram
from suite.observe.measured import NANOSECOND, MeasuredRun, histogram_of
from suite.present.pictures import parts
from suite.present.pictures.canvas import Sign
from suite.scenario.scenario import Picture

STEPS = 50  # points of a line for each nine
STEEP_TIMES = 10  # values that span more than this factor are on a logarithmic axis
TAIL = 0.99  # an ecdf ends at this quantile of the slowest cell; kind=percentiles shows the rest
BAND_MOST = 300  # points of a band, at most
FLOOR_NS = 1.0  # a shorter time is drawn as this: a logarithmic axis has no 0
HISTOGRAM_TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
                    "handshake": "handshake", "handover": "hand-over"}

Points = list[tuple[float, float]]  # of a line


def unsent_text(runs: Sequence[MeasuredRun]) -> str:
    """` (3.1% never sent)`: the share of due requests without a latency; empty without such."""
    late = sum(run.late or 0 for run in runs)
    due = sum(run.due or 0 for run in runs)
    return f" ({share_text(late / due)} never sent)" if late and due else ""


class Line(NamedTuple):
    """The line of a cell. histogram: None if no request was sent. rounds: one for each run."""

    series: parts.Series
    histogram: Histogram | None
    rounds: Sequence[Histogram]


def line_make(matrix: Matrix, series: parts.Series, shown: str) -> Line:
    """Its name gets the reason why there is no line, or why it ends early."""
    (cell,) = series.cells
    runs = matrix.runs_good(cell.name)
    histogram = histogram_of(runs, shown)
    series = series if histogram else series.absent()
    return Line(series._replace(name=series.name + unsent_text(runs)),
                histogram if histogram and histogram.count else None,
                [found for run in runs if (found := histogram_of([run], shown))])


def band_rows(rounds: Sequence[Points], line: Points, shares: bool) -> Sequence[parts.Row]:
    """x of some points of a line; low and high of the median of rounds there. shares: a round stays
    at its last share; else the band ends with the line of the first round that ends."""
    if len(rounds) < 2 or not all(rounds):
        return []
    xs = np.array([x for x, _ in line[::-(-len(line) // BAND_MOST) or 1]])
    if not shares:
        xs = xs[xs <= min(points[-1][0] for points in rounds)]
    steps = [np.array([(0.0, 0.0), *points]).T for points in rounds]
    values = [ys[np.searchsorted(grid[1:], xs * (1 + 1e-9), side="right")] for grid, ys in steps]
    intervals = map(stats.median_interval, np.transpose(values).tolist())
    return [(x, *interval[:2]) for x, interval in zip(xs.tolist(), intervals, strict=True)
            if interval]


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, at least FLOOR_NS."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def percentiles_points(histogram: Histogram, scale: Scale) -> Points:
    """(1 / (1 - q), quantile q) from q = 0 on."""
    points = []
    for step in count():
        x = 10 ** (step / STEPS)
        value = histogram.quantile(1 - 1 / x)
        if value is None or isinstance(value, stats.Beyond):
            break
        points.append((x, time_in(scale, value)))
    return points


def ecdf_points(histogram: Histogram, scale: Scale) -> Points:
    """(time, share): a share of 0 at the smallest value, then the share at the end of each bin."""
    ends = [min(low + width - 1, histogram.maximum) for low, width, _ in histogram.bins]
    counts = accumulate(count for _, _, count in histogram.bins)
    return [(time_in(scale, histogram.minimum), 0),
            *((time_in(scale, end), seen / histogram.total)
              for end, seen in zip(ends, counts, strict=True))]


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """A picture for each combination of the other axes, unless no cell of it has the histogram: a
    cell that sends inline has no hand-over."""
    shown, shares = picture.of or "latency", picture.kind == "ecdf"
    points_of, tail = (ecdf_points, TAIL) if shares else (percentiles_points, 1.0)
    title, inner, drawings = HISTOGRAM_TITLES[shown], parts.axes_inside(matrix, picture), []
    for page in parts.pages_divide(matrix, picture, shown, inner):
        # One cell at a time, because records are large.
        lines = [line_make(matrix, one, shown) for one in page.series(inner)]
        known = [line.histogram for line in lines if line.histogram]
        if not known:
            continue
        scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
        drawn = [points_of(line.histogram, scale) if line.histogram else [] for line in lines]
        blocks: list[parts.Block] = [[line.series.name, *points]
                                     for line, points in zip(lines, drawn, strict=True)]
        banded = parts.rounds_shown(page.canvas, matrix, len(lines))
        if banded:
            blocks += [[f"rounds {line.series.name}", *band_rows(
                [points_of(one, scale) for one in line.rounds], points, shares)]
                for line, points in zip(lines, drawn, strict=True)]
        low = time_in(scale, min(h.quantile(1 - tail) or h.minimum for h in known))
        high = time_in(scale, max(h.quantile(tail) or h.maximum for h in known))
        since = " from the intended start" * (shown == "latency"
                                              and all(cell.open_loop for cell in page.cells))
        times = f"{title}{since}, {scale.unit}"
        signs = [Sign("shaded", "", f"{parts.interval_kind(matrix)} of the median of rounds")]
        drawings.append(page.axes_drawing(
            "distribution", [line.series for line in lines], blocks,
            parts.what_text(title, scale.unit, "lower"),
            page.note(f"all requests of {counted_text(matrix.rounds, 'round')}"), signs * banded, {
                "rounds": banded, "shares": shares, "nine": STEPS,
                "low": low, "high": high, "steep": high > STEEP_TIMES * low,
                "last": max([10.0, *(x for points in drawn for x, _ in points)]),
                "label_x": times if shares else "percentile of requests",
                "label_y": "share of requests" if shares else times}))
    if not drawings:
        raise UsageError(f"picture: {picture.kind}: no cell has the {title} of "
                         "its requests; kind=bars draws what was measured")
    return drawings
