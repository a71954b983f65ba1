# SPDX-License-Identifier: MIT
"""`uncork plot`: which pictures a result has. Pure: gives the text of their files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from suite.analyse.frame import Matrix
from suite.base.errors import UsageError, nearest_hint
from suite.base.units import size_parse
from suite.present.pictures.picture import Drawing
from suite.scenario.scenario import Picture

CURVE_VALUES = 4  # so many sizes or other numbers on an axis make a curve the better picture


def curve_axis(matrix: Matrix) -> str | None:
    """The axis of a curve by default: sizes first, then other numbers."""
    for axis in sorted(matrix.axes, key=lambda axis: axis != "message"):
        values = {cell.axes.get(axis) for cell in matrix.cells.values()}
        if len(values) >= CURVE_VALUES and (
                axis == "message" or all(value and size_parse(value) for value in values)):
            return axis
    return None


def pictures_default(matrix: Matrix) -> list[Picture]:
    """The pictures of a scenario that names none: one of the first metric, for an open loop all
    requests too."""
    x = curve_axis(matrix)
    pictures = [Picture("curve" if x else "bars", None, None, x, None)]
    if all(cell.open_loop for cell in matrix.cells.values()):
        pictures.append(Picture("percentiles", None, None, None, None))
    return pictures


def drawings_make(matrix: Matrix, asked: Sequence[Picture] = ()) -> list[Drawing]:
    """The pictures asked for, else those of the scenario, else the default.

    UsageError where two would have one name, or one cannot be drawn from this result.
    """
    words = set(matrix.axes).union(*(cell.words for cell in matrix.cells.values()))
    drawings: list[Drawing] = []
    for picture in asked or matrix.result.scenario.pictures or pictures_default(matrix):
        if picture.x is not None and picture.x not in words:
            raise UsageError(f'picture: x: no word "{picture.x}" in this result'
                             f"{nearest_hint(picture.x, words)}")
        kind = import_module(f"{__package__}.{picture.kind}")
        drawings += kind.draw(matrix, picture)
    names = [drawing.name for drawing in drawings]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f'picture: two pictures are called "{twice}": give one a name')
    return drawings
