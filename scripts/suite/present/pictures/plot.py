# SPDX-License-Identifier: MIT
"""`uncork plot`: which pictures a result has. Pure: gives the text of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from suite.analyse.comparison.build import compare_baseline
from suite.analyse.comparison.differences import refusals_check
from suite.analyse.comparison.model import Comparison
from suite.analyse.frame import Matrix
from suite.analyse.metrics import Metric, metric_find
from suite.analyse.summary import metrics_default
from suite.base.errors import UsageError, nearest_hint
from suite.base.units import size_parse
from suite.present.pictures.bars import bars_draw
from suite.present.pictures.compared import Versus
from suite.present.pictures.counts import counts_draw
from suite.present.pictures.curve import curve_draw
from suite.present.pictures.distribution import Distribution
from suite.present.pictures.ecdf import ecdf_draw
from suite.present.pictures.forest import forest_draw
from suite.present.pictures.heatmap import heatmap_draw
from suite.present.pictures.order import order_draw
from suite.present.pictures.percentiles import percentiles_draw
from suite.present.pictures.picture import Drawing, Plan, x_value
from suite.scenario.scenario import Picture

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
    """What to draw when nobody says: one picture of the first metric, of an open loop all requests
    too."""
    x = curve_axis(matrix)
    pictures = (Picture("curve" if x else "bars", None, None, x, None),)
    if all(cell.open_loop for cell in matrix.cells.values()):
        pictures += (Picture("percentiles", None, None, None, None),)
    return pictures


def x_check(matrix: Matrix, x: str | None) -> None:
    """UsageError where no cell has the word."""
    words = set(matrix.axes).union(*(cell.words for cell in matrix.cells.values()))
    if x is not None and x not in words:
        raise UsageError(f'picture: x: no word "{x}" in this result{nearest_hint(x, words)}')


def metric_of(matrix: Matrix, picture: Picture) -> Metric:
    """The metric of a picture, the first of the result where none is named; UsageError for one that
    there is not."""
    return metric_find(picture.metric or metrics_default(matrix)[0], "picture: metric")


def axis_of(matrix: Matrix, picture: Picture) -> str | None:
    """The axis along which a picture runs, if it varies here."""
    return picture.x if picture.x in matrix.axes else None


def name_of(picture: Picture, what: str) -> str:
    """What the files are called."""
    return picture.name or "-".join(filter(None, (what, picture.kind)))


def plan_make(matrix: Matrix, picture: Picture) -> Plan:
    """What needs no more than a metric and an axis, with the defaults filled in."""
    metric, x = metric_of(matrix, picture), axis_of(matrix, picture)
    return Plan(picture.kind, metric, x, name_of(picture, metric.name))


def curve_make(matrix: Matrix, picture: Picture) -> list[Drawing]:
    """A curve; along an axis of one value there is none, and bars are drawn."""
    picture = replace(picture, x=picture.x or "message")
    if len({x_value(cell, picture.x or "") for cell in matrix.cells.values()}) < 2:
        return bars_make(matrix, replace(picture, kind="bars"))
    plan, table = plan_make(matrix, picture), matrix.result.scenario.table
    shaded = plan.x is not None and table is not None and plan.x == table.best
    return curve_draw(matrix, replace(plan, shaded=shaded))


def bars_make(matrix: Matrix, picture: Picture) -> list[Drawing]:
    """Bars."""
    return bars_draw(matrix, plan_make(matrix, picture))


def order_make(matrix: Matrix, picture: Picture) -> list[Drawing]:
    """Runs in their order."""
    return order_draw(matrix, plan_make(matrix, picture))


def counts_make(matrix: Matrix, picture: Picture) -> list[Drawing]:
    """What was counted."""
    return counts_draw(matrix, replace(plan_make(matrix, picture), name=name_of(picture, "")))


def versus_make(draw: Callable[[Sequence[Comparison], Versus], list[Drawing]]
                ) -> Callable[[Matrix, Picture], list[Drawing]]:
    """Draws the baseline against each other value of its axis; UsageError where there is none."""
    def make(matrix: Matrix, picture: Picture) -> list[Drawing]:
        metric = metric_of(matrix, picture)
        comparisons = [refusals_check(one, (), False, False)
                       for one in compare_baseline(matrix, (metric,))]
        if not comparisons:
            raise UsageError(f"picture: {picture.kind}: nothing stands beside a baseline here: "
                             "it needs baseline=WORD=VALUE and another value of that word")
        return draw(comparisons,
                    Versus(metric, axis_of(matrix, picture), name_of(picture, metric.name)))
    return make


def distribution_make(draw: Callable[[Matrix, Distribution], list[Drawing]]
                      ) -> Callable[[Matrix, Picture], list[Drawing]]:
    """Draws a histogram with the defaults filled in: lines by the last axis."""
    def make(matrix: Matrix, picture: Picture) -> list[Drawing]:
        of = picture.of or "latency"
        x = axis_of(matrix, picture) or next(reversed(matrix.axes), None)
        return draw(matrix, Distribution(picture.kind, of, x, name_of(picture, of)))
    return make


# by the kinds of scenario.PICTURES
MAKERS: Mapping[str, Callable[[Matrix, Picture], list[Drawing]]] = {
    "bars": bars_make,
    "curve": curve_make,
    "heatmap": versus_make(heatmap_draw),
    "forest": versus_make(forest_draw),
    "order": order_make,
    "counts": counts_make,
    "percentiles": distribution_make(percentiles_draw),
    "ecdf": distribution_make(ecdf_draw),
}


def drawings_make(matrix: Matrix, asked: Sequence[Picture] = ()) -> list[Drawing]:
    """The pictures asked for, else those of the scenario, else the default.

    UsageError where two would have one name, or one cannot be drawn from this result.
    """
    pictures = asked or matrix.result.scenario.pictures or pictures_default(matrix)
    drawings = []
    for picture in pictures:
        x_check(matrix, picture.x)
        drawings += MAKERS[picture.kind](matrix, picture)
    names = [drawing.name for drawing in drawings]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f'picture: two pictures are called "{twice}": give one a name')
    return drawings
