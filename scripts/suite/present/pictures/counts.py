# SPDX-License-Identifier: MIT
"""Counts as bars, a panel for each metric. They prove that a strategy does what its name says."""

from suite.base.errors import UsageError
from suite.base.units import Scale
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS
from suite.observe.selection import metrics_shown
from suite.present.pictures import parts
from suite.present.pictures.bars import Bar, Panel, bars_drawing, bars_inside
from suite.present.pictures.canvas import canvas_of
from suite.scenario.scenario import Picture


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """A picture for each combination of the axes other than that of the bars, by default the last.
    It has a panel for each count of the table that any of its cells has."""
    names = metrics_shown(matrix, matrix.result.scenario.table.columns)
    counted = [METRICS[name] for name in names if METRICS[name].counts
               and any(len(matrix.series(cell, name)) for cell in matrix.whole.cells)]
    if not counted:
        raise UsageError("picture: counts: nothing was counted here: none of these is a count "
                         f"with a value: {', '.join(names)}")
    figures = {metric: parts.figures_of(matrix, metric) for metric in counted}
    drawings = []
    x = parts.picture_axis(matrix, picture) or next(reversed(matrix.axes), None)
    inner, bar_names = bars_inside(matrix, x, canvas_of(picture).name_most)
    for page in parts.pages_divide(matrix, picture, "", inner):
        panels = [Panel(metric.text, metric, Scale(1.0, ""), [
            Bar(bar_names[cell.name], cell, found.get(cell.name)) for cell in page.cells])
            for metric, found in figures.items() if any(cell.name in found for cell in page.cells)]
        if panels:
            drawings.append(bars_drawing(page, "what was counted", "how many", panels))
    return drawings
