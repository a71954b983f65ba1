# SPDX-License-Identifier: MIT
"""Whole distributions: the histogram of a cell, and what percentile plots and ECDFs share. Pure.

The histograms of all counted runs of a cell are one here: what is drawn and exported is where all
of its requests lie, not the median of rounds that a table shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.analyse.frame import Cell, Matrix
from suite.analyse.measured import NANOSECOND, MeasuredRun
from suite.base.units import Scale, percent_text, scale_choose
from suite.present.pictures.picture import (
    Drawing,
    absence_text,
    gnuplot_string,
    headline_text,
    note_text,
    place_name,
    place_text,
    round_numbers,
    rounds_text,
    series_settings,
    title_settings,
)
from suite.present.table import axis_values
from suite.stats.histogram import Histogram, histograms_merge

FLOOR_NS = 1.0  # what is shorter has no place on a logarithmic axis
TITLES = {"latency": "latency", "service": "service time", "late_start": "late start",
          "handshake": "handshake", "handover": "hand-over"}

Block = Callable[[Histogram, Scale], str]  # the .dat of one line
Axes = Callable[[list[Histogram], Scale, str], list[str]]  # settings of both axes; str: the label


@dataclass(frozen=True)
class Distribution:
    """A picture with everything chosen. of: one of HISTOGRAMS; x: the axis that names the lines."""

    kind: str
    of: str
    x: str | None
    name: str


@dataclass(frozen=True)
class Line:
    """One cell of a picture; its histogram is None where no good run has one."""

    label: str
    histogram: Histogram | None


def runs_good(matrix: Matrix, cell: str) -> list[MeasuredRun]:
    """The good counted runs of a cell of which times say something; their records are read again,
    for a histogram is no figure."""
    return [] if matrix.cells[cell].emulated else [MeasuredRun(record)
                                                     for record in matrix.records_good(cell)]


def histogram_of(runs: Sequence[MeasuredRun], of: str) -> Histogram | None:
    """One histogram of all runs that have it."""
    return histograms_merge([found for run in runs if (found := run.histograms[of])])


def unsent_text(runs: Sequence[MeasuredRun]) -> str:
    """` (3.1% never sent)` where an open loop did not send all that was due: it has no latency."""
    late = sum(run.late or 0 for run in runs)
    due = sum(run.due or 0 for run in runs)
    if not late or not due:
        return ""
    share = late / due
    text = "<0.1%" if share < 0.001 else ">99.9%" if 0.9995 <= share < 1 else percent_text(share)
    return f" ({text} never sent)"


def line_make(cell: Cell, label: str, runs: Sequence[MeasuredRun], of: str) -> Line:
    """A line and what the key says of it."""
    histogram = histogram_of(runs, of)
    missing = "" if histogram else f" ({absence_text(cell)})"
    return Line(label + missing + unsent_text(runs), histogram)


def lines_make(matrix: Matrix, plan: Distribution) -> dict[str, Line]:
    """The line of every cell, one cell after the other: records are large."""
    return {cell.name: line_make(cell,
                                 cell.axes[plan.x] or "none" if plan.x else matrix.result.name,
                                 runs_good(matrix, cell.name), plan.of)
                                 for cell in matrix.cells.values()}


def title_text(of: str, cells: Sequence[Cell]) -> str:
    """What stands at the axis."""
    since = " from the intended start" if of == "latency" and all(c.open_loop
        for c in cells) else ""
    return TITLES[of] + since


def time_in(scale: Scale, value_ns: float) -> float:
    """A time in the unit of a picture, never 0."""
    return scale.apply(max(value_ns, FLOOR_NS) * NANOSECOND)


def tics_of(low: float, high: float, most: int) -> list[tuple[str, float]]:
    """Tics of a logarithmic axis of times."""
    return [(f"{tic:.15g}", tic) for tic in round_numbers(low, high, most)]


def sheet_draw(matrix: Matrix, plan: Distribution, cells: Sequence[Cell], values: Sequence[str],
               lines: Sequence[Line], block: Block, axes: Axes) -> Drawing:
    """One picture of cells that share the values of all axes but that of the lines."""
    known = [line.histogram for line in lines if line.histogram]
    scale = scale_choose([(h.quantile(0.5) or h.maximum) * NANOSECOND for h in known], "s")
    name = place_name(plan.name, values)
    place = place_text((axis for axis in matrix.axes if axis != plan.x), values)
    headline = headline_text(matrix, TITLES[plan.of], scale.unit, "lower", place)
    key = plan.x or ""
    settings = [
        f"name = {gnuplot_string(name)}",
        *title_settings(headline, note_text(matrix, cells,
                                            f"all requests of {rounds_text(matrix)}")),
        f"title_key = {gnuplot_string(key)}",
        f"widest = {max(len(key), *(len(line.label) for line in lines))}",
        *series_settings([line.label for line in lines]),
        *axes(known, scale, f"{title_text(plan.of, cells)}, {scale.unit}"),
    ]
    blocks = [f"# {line.label}\n" + ((block(line.histogram, scale) if line.histogram else "")
                                     or "NaN NaN\n") for line in lines]
    return Drawing(name, plan.kind, "\n\n".join(blocks), "\n".join(settings) + "\n")


def distribution_draw(matrix: Matrix, plan: Distribution, block: Block, axes: Axes
                      ) -> list[Drawing]:
    """A picture for each combination of the axes other than that of the lines; none where good
    cells have nothing of it and others have: what is sent inline is not handed over."""
    outer = tuple(axis for axis in matrix.axes if axis != plan.x)
    known = lines_make(matrix, plan)
    drawings = []
    anywhere = any(line.histogram for line in known.values())
    for values in axis_values(matrix.cells.values(), outer):
        cells = [cell for cell in matrix.cells.values()
                 if tuple(cell.axes[axis] for axis in outer) == values]
        lines = [known[cell.name] for cell in cells]
        if anywhere and all(cell.status == "ok" and not cell.emulated and not line.histogram
                            for cell, line in zip(cells, lines, strict=True)):
            continue
        drawings.append(sheet_draw(matrix, plan, cells, values, lines, block, axes))
    return drawings
