# SPDX-License-Identifier: MIT
"""Whole distributions: what percentile plots and ECDFs share. Pure. A picture merges the histograms
of all counted runs of a cell, as an export does; a table shows the median of rounds."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import Scale, counted_text, scale_choose, share_text
from suite.observe.frame import Cell, Matrix
from suite.observe.histogram import Histogram
from suite.observe.measured import NANOSECOND, MeasuredRun, histogram_of
from suite.present.pictures import parts
from suite.present.pictures.canvas import canvas_of
from suite.scenario.scenario import Picture

TIC_UNITS = 62  # the distance of tics along x, at least
BAND_MOST = 300  # points of a band, at most
FLOOR_NS = 1.0  # a shorter time is drawn as this: a logarithmic axis has no 0
HISTOGRAM_TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
          "handshake": "handshake", "handover": "hand-over"}

Points = Callable[[Histogram, Scale], Iterable[tuple[float, float]]]  # gives (x, y) of one line
# Gives the settings of both axes. str: the label of the axis of times; int: the most tics along x.
AxesSettings = Callable[[list[Histogram], Scale, str, int], dict[str, object]]


def unsent_text(runs: Sequence[MeasuredRun]) -> str:
    """` (3.1% never sent)`: the share of due requests without a latency; empty without such."""
    late = sum(run.late or 0 for run in runs)
    due = sum(run.due or 0 for run in runs)
    return f" ({share_text(late / due)} never sent)" if late and due else ""


def line_make(matrix: Matrix, cell: Cell, axes: Sequence[str], name: str
              ) -> tuple[str, Histogram | None, list[Histogram]]:
    """The label of a cell in the key, its histogram (None if no request was sent), and the
    histograms of its rounds."""
    runs = matrix.runs_good(cell.name)
    histogram = histogram_of(runs, name)
    missing = "" if histogram else f" ({parts.absence_text(cell)})"
    label = parts.series_name(matrix, cell, axes) + missing + unsent_text(runs)
    drawn = histogram if histogram and histogram.count else None
    return label, drawn, [found for run in runs if (found := histogram_of([run], name))]


def band_lines(rounds: Sequence[Sequence[tuple[float, float]]], xs: Iterable[float], ends: bool
               ) -> list[str]:
    """x, low and high of the median of rounds. ends: the band ends with the first round's line."""
    if len(rounds) < 2 or not all(rounds):
        return ["NaN NaN NaN"]
    grids = [[x for x, _ in points] for points in rounds]
    last, lines = min(grid[-1] for grid in grids), []
    for x in xs:
        places = [bisect_right(grid, x * (1 + 1e-9)) for grid in grids]
        values = [points[place - 1][1] if place else 0.0
                  for points, place in zip(rounds, places, strict=True)]
        if not ends or x <= last:
            interval = stats.median_interval(values, values)
            lines.append(parts.data_line(x, *parts.interval_ends(interval)))
    return lines


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, at least FLOOR_NS."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def time_tics(low: float, high: float, most: int) -> parts.Tics:
    return [(f"{tic:.15g}", tic) for tic in parts.round_numbers(low, high, most)]


def distribution_draw(matrix: Matrix, picture: Picture, points: Points,
                      axes_settings: AxesSettings) -> list[parts.Drawing]:
    """A picture for each combination of the other axes, unless no cell of it has the histogram: a
    cell that sends inline has no hand-over."""
    shown = picture.of or "latency"
    title, inner = HISTOGRAM_TITLES[shown], parts.series_axes(matrix, picture)
    # One cell at a time, because records are large.
    lines = {name: line_make(matrix, cell, inner, shown) for name, cell in matrix.cells.items()}
    if not any(histogram for _, histogram, _ in lines.values()):
        raise UsageError(f"picture: {picture.kind}: no cell has the {title} of "
                         "its requests; kind=bars draws what was measured")
    canvas, drawings = canvas_of(picture), []
    for values, place, cells in parts.pictures_divide(matrix, inner):
        inside = [lines[cell.name] for cell in cells]
        known = [found for _, found, _ in inside if found]
        if not known:
            continue
        scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
        since = " from the intended start" * (shown == "latency"
                                              and all(cell.open_loop for cell in cells))
        settings = parts.series_settings(canvas, matrix, inner, {
            tuple(cell.axes[axis] for axis in inner): lines[cell.name][0] for cell in cells})
        drawn = [[*points(histogram, scale)] if histogram else [] for _, histogram, _ in inside]
        bands = [[f"# rounds {label}", *band_lines(
            [[*points(one, scale)] for one in rounds],
            [x for x, _ in line[::-(-len(line) // BAND_MOST) or 1]], picture.kind != "ecdf")]
            for line, (label, _, rounds) in zip(drawn, inside, strict=True)] if parts.rounds_shown(
                canvas, matrix, len(inside)) else []
        blocks = [[f"# {label}", *([parts.data_line(*point) for point in line] or ["NaN NaN"])]
                  for line, (label, _, _) in zip(drawn, inside, strict=True)]
        signs = [f"shaded: {parts.interval_kind(matrix)} of the median of rounds"] * bool(bands)
        drawings.append(parts.Drawing(
            parts.place_name(parts.picture_name(picture, shown), values), "distribution",
            parts.data_text([*blocks, *bands]), {
                **canvas.axes_titles(
                    settings["key_rows"],
                    parts.headline_text(matrix, parts.what_text(title, scale.unit, "lower"), place),
                    parts.note_text(matrix, cells,
                                    f"all requests of {counted_text(matrix.rounds, 'round')}"),
                    signs),
                **settings, "rounds": bool(bands),
                **axes_settings(known, scale, f"{title}{since}, {scale.unit}",
                                round(parts.axes_units(canvas, settings) / TIC_UNITS))}))
    return drawings
