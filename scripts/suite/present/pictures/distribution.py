# SPDX-License-Identifier: MIT
"""Whole distributions: the histogram of a cell, and what percentile plots and ECDFs share. Pure.

The histograms of all counted runs of a cell are merged here. So a picture and an export show all of
its requests; a table shows the median of rounds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from suite import stats
from suite.analyse.frame import Cell, Matrix
from suite.analyse.histograms import histogram_of, runs_good
from suite.analyse.measured import NANOSECOND, MeasuredRun
from suite.base.errors import UsageError
from suite.base.units import Scale, counted_text, percent_text, scale_choose
from suite.present.pictures.look import BODY, BODY_LEAST, BODY_SHARE, LINE, look_of
from suite.present.pictures.picture import (
    Drawing,
    Tics,
    absence_text,
    axes_units,
    data_line,
    data_text,
    headline_text,
    interval_ends,
    interval_kind,
    name_cut,
    note_text,
    picture_axis,
    picture_name,
    pictures_divide,
    place_name,
    round_numbers,
    rounds_shown,
    series_settings,
    title_settings,
    what_text,
)
from suite.scenario.scenario import Picture
from suite.stats.histogram import Histogram

TIC_UNITS = 62  # from tic to tic along x, at least
BAND_MOST = 300  # points of a band
FLOOR_NS = 1.0  # a shorter time has no place on a logarithmic axis
HISTOGRAM_TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
          "handshake": "handshake", "handover": "hand-over"}

Points = Callable[[Histogram, Scale], Iterable[tuple[float, float]]]  # (x, y) of one line
# settings of both axes; str: the label of the axis of times; int: of tics along x at most
AxesSettings = Callable[[list[Histogram], Scale, str, int], dict[str, object]]


def unsent_text(runs: Sequence[MeasuredRun]) -> str:
    """` (3.1% never sent)` for an open loop that did not send all that was due: that part has no
    latency."""
    late = sum(run.late or 0 for run in runs)
    due = sum(run.due or 0 for run in runs)
    if not late or not due:
        return ""
    share = late / due
    text = "<0.1%" if share < 0.001 else ">99.9%" if 0.9995 <= share < 1 else percent_text(share)
    return f" ({text} never sent)"


def line_make(matrix: Matrix, cell: Cell, x: str | None, name: str
              ) -> tuple[str, Histogram | None, list[Histogram]]:
    """The label of a cell in the key, its histogram, and those of its rounds."""
    runs = runs_good(matrix, cell.name)
    histogram = histogram_of(runs, name)
    missing = "" if histogram else f" ({absence_text(cell)})"
    label = name_cut(cell.axes[x] or "none") if x else matrix.result.name
    rounds = [found for run in runs if (found := histogram_of([run], name))]
    return label + missing + unsent_text(runs), histogram, rounds


def band_lines(rounds: Sequence[Sequence[tuple[float, float]]], xs: Iterable[float], ends: bool
               ) -> list[str]:
    """The interval of the median of the lines of rounds, at each x: x, low, high. ends: it ends
    with the first of them."""
    if len(rounds) < 2 or not all(rounds):
        return ["NaN NaN NaN"]
    grids = [[x for x, _ in points] for points in rounds]
    last, lines = min(grid[-1] for grid in grids), []
    for x in xs:
        places = [bisect_right(grid, x * (1 + 1e-9)) for grid in grids]
        values = [points[place - 1][1] if place else 0.0
                  for points, place in zip(rounds, places, strict=True)]
        if not ends or x <= last:
            within = stats.median_interval(values, values)
            lines.append(data_line(x, *interval_ends(within)))
    return lines


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, never 0."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def time_tics(low: float, high: float, most: int) -> Tics:
    """Tics of a logarithmic axis of times."""
    return [(f"{tic:.15g}", tic) for tic in round_numbers(low, high, most)]


def distribution_draw(matrix: Matrix, picture: Picture, points: Points,
                      axes_settings: AxesSettings) -> list[Drawing]:
    """A picture for each combination of the axes other than that of the lines, by default the last.

    There is none where no cell has this histogram: what is sent inline is not handed over.
    UsageError where no cell of the result has one.
    """
    shown = picture.of or "latency"
    x = picture_axis(matrix, picture) or next(reversed(matrix.axes), None)
    # One cell after the other: records are large.
    lines = {name: line_make(matrix, cell, x, shown) for name, cell in matrix.cells.items()}
    if not any(histogram for _, histogram, _ in lines.values()):
        raise UsageError(f"picture: {picture.kind}: no cell has the {HISTOGRAM_TITLES[shown]} of "
                         "its requests; kind=bars draws what was measured")
    look, drawings = look_of(picture), []
    for values, place, cells in pictures_divide(matrix, (x,)):
        inside = [lines[cell.name] for cell in cells]
        known = [found for _, found, _ in inside if found]
        if not known:
            continue
        scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
        headline = headline_text(matrix, what_text(HISTOGRAM_TITLES[shown], scale.unit, "lower"),
                                 place)
        since = " from the intended start" * (shown == "latency"
                                              and all(cell.open_loop for cell in cells))
        settings = series_settings(look, matrix, (x,) if x else (), {
            (cell.axes[x],) if x else (): lines[cell.name][0] for cell in cells})
        rows, tics = settings["key_rows"], round(axes_units(look, settings) / TIC_UNITS)
        drawn = [[*points(histogram, scale)] if histogram else [] for _, histogram, _ in inside]
        bands = [[f"# rounds {label}", *band_lines(
            [[*points(one, scale)] for one in rounds],
            [x for x, _ in line[::-(-len(line) // BAND_MOST) or 1]], picture.kind != "ecdf")]
            for line, (label, _, rounds) in zip(drawn, inside, strict=True)] if rounds_shown(
                look, matrix, len(inside)) else []
        drawings.append(Drawing(
            place_name(picture_name(picture, shown), values), "distribution",
            data_text([*([f"# {label}", *([data_line(*point) for point in line] or ["NaN NaN"])]
                         for line, (label, _, _) in zip(drawn, inside, strict=True)), *bands]), {
                **title_settings(look, look.share(BODY, BODY_SHARE) + LINE * rows, headline,
                                 note_text(matrix, cells, "all requests of "
                                           + counted_text(matrix.rounds, "round")),
                                 [f"shaded: {interval_kind(matrix)} of the median of rounds"]
                                 * bool(bands),
                                 least=BODY_LEAST + LINE * rows), **settings,
                "rounds": bool(bands),
                **axes_settings(known, scale, f"{HISTOGRAM_TITLES[shown]}{since}, {scale.unit}",
                                tics)}))
    return drawings
