# SPDX-License-Identifier: MIT
"""Counts as bars, a panel for each metric. They prove that a strategy does what its name says."""

from dataclasses import replace

from suite.base.errors import UsageError
from suite.base.units import Scale
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import metrics_shown
from suite.present.pictures import parts
from suite.present.pictures.bars import bars_drawing, panel_bars, panel_limit, panels_make
from suite.present.pictures.canvas import canvas_of
from suite.scenario.scenario import Picture

COUNT = Scale(1.0, "")


def metrics_counted(matrix: Matrix) -> list[Metric]:
    """The metrics of the table that are counts and have a value. UsageError without any."""
    names = metrics_shown(matrix, matrix.result.scenario.table.columns)
    found = [METRICS[name] for name in names if METRICS[name].counts
             and any(len(matrix.series(cell, name)) for cell in matrix.whole.cells)]
    if not found:
        raise UsageError("picture: counts: nothing was counted here: none of these is a count "
                         f"with a value: {', '.join(names)}")
    return found


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """A picture for each combination of the axes other than that of the bars, by default the last.
    It has a panel for each metric that any of its cells has."""
    counted = {metric: parts.figures_of(matrix, metric) for metric in metrics_counted(matrix)}
    base, canvas, drawings = matrix.baseline, canvas_of(picture), []
    for place in panels_make(matrix, parts.picture_axis(matrix, picture) or next(
            reversed(matrix.axes), None), canvas.name_most):
        shown = {metric: figures for metric, figures in counted.items()
                 if any(cell.name in figures for _, cell in place.rows)}
        if not shown:
            continue
        panels = [replace(place, head=metric.text) for metric in shown]
        extents, bars = zip(*(
            panel_bars(panel, figures, metric, COUNT, panel_limit(panel, figures, COUNT), base)
            for panel, (metric, figures) in zip(panels, shown.items(), strict=True)), strict=True)
        values = [word.partition("=")[2] for word in place.head.split()]
        drawings.append(bars_drawing(
            matrix, parts.place_name(parts.picture_name(picture, ""), values),
            parts.headline_text(matrix, "what was counted", place.head), ("how many", ""), shown,
            panels, extents, bars, canvas))
    return drawings
