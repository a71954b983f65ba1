# SPDX-License-Identifier: MIT
"""Run order: every run where it stood in time, as a ratio to the median of its cell. Pure.

A drift is a slope that all cells share, a disturbance a bump, an outlier a point far from the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from suite import stats
from suite.analyse.frame import Cell, Matrix
from suite.analyse.metrics import Metric
from suite.base.units import ratio_text, value_text
from suite.present.pictures.picture import (
    Drawing,
    Plan,
    absence_text,
    gnuplot_string,
    name_cut,
    name_safe,
    note_text,
    number_data,
    place_name,
    place_text,
    ratio_tics,
    rounds_text,
    series_settings,
    title_settings,
)
from suite.present.table import axis_values

STEEP = 2.0  # ratios that span more are on a logarithmic axis
# the axis reaches at least as far on both sides of 1, so that nothing looks like noise that is none
TIGHT = 0.02


@dataclass(frozen=True)
class Run:
    """One good run. at: when, in rounds from the first; ratio: to the median of its cell (above
    0)."""

    at: float
    ratio: float
    outlier: bool


@dataclass(frozen=True)
class Series:
    """The runs of one cell; failed: when runs of it failed."""

    label: str
    runs: tuple[Run, ...]
    failed: tuple[float, ...]


def moments_make(matrix: Matrix) -> pd.DataFrame:
    """The counted runs with the column `at`: the number of the round and where in it a run stood.

    Rounds are counted through all sessions; within one all runs are equally far apart.
    """
    frame = matrix.frame[(matrix.frame["round"] > 0) & (matrix.frame["status"] != "unsupported")]
    rounds = frame.groupby("round", sort=True)
    place = rounds.cumcount()
    number = rounds.ngroup()
    return frame.assign(at=number + (place + 0.5) / rounds["cell"].transform("size"))


def series_make(moments: pd.DataFrame, cell: Cell, label: str, metric: Metric) -> Series:
    """A series and what the key says of it."""
    runs = moments[moments["cell"] == cell.name]
    good = runs[(runs["status"] == "ok") & runs[metric.name].notna()]
    values = good[metric.name].tolist()
    failed = tuple(runs.loc[runs["status"] == "failed", "at"].tolist())
    if not values:
        return Series(f"{label} ({absence_text(cell)})", (), failed)
    middle = stats.median(values)
    if middle <= 0:
        return Series(f"{label} (median {value_text(middle, metric.unit)})", (), failed)
    found = zip(good["at"].tolist(), values, stats.outliers_mark(values), strict=True)
    return Series(f"{label}, {value_text(middle, metric.unit)}",
                  tuple(Run(at, value / middle, outlier) for at, value, outlier in found), failed)


def span_of(series: Sequence[Series]) -> tuple[float, float]:
    """From which ratio to which the axis reaches: all that is no outlier, and of outliers what is
    near.

    Else one bad run would make one flat line of all others.
    """
    runs = [run for one in series for run in one.runs]
    usual = [run.ratio for run in runs if not run.outlier]
    low, high = min([*usual, 1 - TIGHT]), max([*usual, 1 + TIGHT])
    wide = high / low
    near = [run.ratio for run in runs if low / wide <= run.ratio <= high * wide]
    return min([low, *near]), max([high, *near])


def run_line(run: Run, low: float, high: float) -> str:
    """One line of a .dat; a run beyond the axis stands at its edge, with its ratio above or below
    it."""
    drawn, told = number_data(min(max(run.ratio, low), high)), ratio_text(run.ratio)
    beyond = [f'"{told if outside else ""}"' for outside in (run.ratio > high, run.ratio < low)]
    return " ".join([number_data(run.at), drawn, drawn if run.outlier else "NaN", *beyond])


def series_data(series: Sequence[Series], low: float, high: float) -> str:
    """A .dat: a block for each series, and one of failed runs."""
    blocks = ["\n".join([f"# {one.label}",
                         *([run_line(run, low, high) for run in one.runs]
                           or ['NaN NaN NaN "" ""'])])
              for one in series]
    failed = sorted(at for one in series for at in one.failed)
    blocks.append("\n".join(["# failed", *([number_data(at) for at in failed] or ["NaN"])]))
    return "\n\n\n".join(blocks) + "\n"


def height_settings(low: float, high: float) -> list[str]:
    """Range and tics of the ratios."""
    steep = high / low > STEEP
    reach = (high - low) * 0.06
    tics = [f"set ytics ({ratio_tics(low, high, most)})" for most in (8, 5)] if steep else \
        ['set ytics autofreq; set format y "%gx"'] * 2
    return [f"bottom = {number_data(low / 1.1 if steep else low - reach)}",
            f"top = {number_data(high * 1.1 if steep else high + reach)}",
            f"logarithmic = {int(steep)}", f"tics_y = {gnuplot_string(tics[0])}",
            f"tics_text = {gnuplot_string(tics[1])}"]


def order_draw(matrix: Matrix, plan: Plan) -> list[Drawing]:
    """One picture for each combination of the axes other than that of the series, which is the last
    or x."""
    moments = moments_make(matrix)
    inner = plan.x or next(reversed(matrix.axes), None)
    outer = tuple(axis for axis in matrix.axes if axis != inner)
    drawings = []
    for values in axis_values(matrix.cells.values(), outer):
        cells = [cell for cell in matrix.cells.values()
                 if tuple(cell.axes[axis] for axis in outer) == values]
        series = [series_make(moments, cell,
                              name_cut(cell.axes[inner] or "none") if inner else matrix.result.name,
                              plan.metric) for cell in cells]
        drawings.append(order_build(matrix, plan, cells, series, place_text(outer, values),
                                    name_safe(place_name(plan.name, values))))
    return drawings


def order_build(matrix: Matrix, plan: Plan, cells: Sequence[Cell], series: Sequence[Series],
                place: str,
                name: str) -> Drawing:
    """One picture of these series."""
    what = f"{plan.metric.name} of every run / median of its cell".replace("_", " ")
    headline = f"{matrix.result.name}: {what}" + (f", {place}" if place else "")
    outliers = any(run.outlier for one in series for run in one.runs)
    low, high = span_of(series)
    settings = [
        f"name = {gnuplot_string(name)}",
        *title_settings(headline, note_text(matrix, cells, f"every run of {rounds_text(matrix)}")),
        f"rounds = {max(matrix.rounds, 1)}", f"outliers = {int(outliers)}",
        f"failures = {int(any(one.failed for one in series))}",
        f"widest = {max(len(one.label) for one in series)}",
        *series_settings([one.label for one in series]), *height_settings(low, high),
    ]
    return Drawing(name, "order", series_data(series, low, high), "\n".join(settings) + "\n")
