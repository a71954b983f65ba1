# SPDX-License-Identifier: MIT
"""`uncork plot`: which pictures a result has. Pure: gives the text of their files."""

from __future__ import annotations

from suite.pictures.bars import bars_draw
from suite.pictures.curve import curve_draw
from suite.pictures.distribution import Distribution
from suite.pictures.ecdf import ecdf_draw
from suite.errors import UsageError, nearest_hint
from suite.frame import Matrix
from suite.metrics import metric_find
from suite.pictures.percentiles import percentiles_draw
from suite.pictures.picture import Drawing, Plan, x_value
from suite.scenario import METRIC_PICTURES, Picture
from suite.summary import metrics_default
from suite.units import size_parse

CURVE_VALUES = 4  # so many sizes or other numbers on an axis make a curve the better picture


def curve_axis(matrix: Matrix) -> str | None:
    """The axis along which a curve runs that nobody asked for: sizes first, then other numbers."""
    for axis in sorted(matrix.axes, key=lambda axis: axis != "message"):
        values = {cell.axes.get(axis) for cell in matrix.cells.values()}
        if len(values) >= CURVE_VALUES and (
                axis == "message" or all(value and size_parse(value) for value in values)):
            return axis
    return None


def pictures_default(matrix: Matrix) -> tuple[Picture, ...]:
    """What to draw when the scenario does not say; of an open loop all requests too."""
    x = curve_axis(matrix)
    pictures = (Picture("curve" if x else "bars", None, None, x, None),)
    if all(cell.open_loop for cell in matrix.cells.values()):
        pictures += (Picture("percentiles", None, None, None, None),)
    return pictures


def x_check(matrix: Matrix, x: str | None) -> None:
    """UsageError where no cell has the word."""
    words = set(matrix.axes).union(*(cell.words for cell in matrix.cells.values()))
    if x is not None and x not in words:
        raise UsageError(f'scenario.toml: [picture] x: no word "{x}" in this result'
                         f"{nearest_hint(x, words)}")


def plan_make(matrix: Matrix, picture: Picture) -> Plan:
    """Bars or a curve with the defaults filled in; UsageError for an unknown metric."""
    metric = metric_find(picture.metric or metrics_default(matrix)[0],
                         "scenario.toml: [picture] metric")
    x, kind = picture.x, picture.kind
    if kind == "curve":
        x = x or "message"
        if len({x_value(cell, x) for cell in matrix.cells.values()}) < 2:
            kind = "bars"  # an axis of one value has no curve
    if x not in matrix.axes:
        x = None
    table = matrix.result.scenario.table
    shaded = kind == "curve" and x is not None and table is not None and x == table.best
    return Plan(kind, metric, x, picture.name or f"{metric.name}-{kind}", shaded)


def distribution_make(matrix: Matrix, picture: Picture) -> Distribution:
    """Percentiles or an ECDF with the defaults filled in: lines by the last axis."""
    of = picture.of or "latency"
    x = picture.x if picture.x in matrix.axes else next(reversed(matrix.axes), None)
    return Distribution(picture.kind, of, x, picture.name or f"{of}-{picture.kind}")


def picture_draw(matrix: Matrix, picture: Picture) -> list[Drawing]:
    """One picture of a scenario, which may be several."""
    x_check(matrix, picture.x)
    if picture.kind in METRIC_PICTURES:
        plan = plan_make(matrix, picture)
        return bars_draw(matrix, plan) if plan.kind == "bars" else curve_draw(matrix, plan)
    draw = {"percentiles": percentiles_draw, "ecdf": ecdf_draw}[picture.kind]
    return draw(matrix, distribution_make(matrix, picture))


def drawings_make(matrix: Matrix) -> list[Drawing]:
    """Every picture of a result; UsageError where two would have one name."""
    pictures = matrix.result.scenario.pictures or pictures_default(matrix)
    drawings = [drawing for picture in pictures for drawing in picture_draw(matrix, picture)]
    names = [drawing.name for drawing in drawings]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f'scenario.toml: [picture] two pictures are called "{twice}": '
                         "give one a name")
    return drawings
