# SPDX-License-Identifier: MIT
"""`uncork plot`: chooses the pictures of a result and makes their drawings. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import count
from types import MappingProxyType

from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import EXACT_ONLY
from suite.observe.frame import Matrix
from suite.present.pictures.curve import axis_make
from suite.present.pictures.parts import Drawing, picture_metric
from suite.scenario.scenario import PICTURES, Picture

DRAWN_AS = {"counts": "bars", "ecdf": "percentiles"}  # the module of a kind without its own
CURVE_VALUES = 4  # with so many numbers on an axis the default picture is a curve


def pictures_default(matrix: Matrix) -> list[Picture]:
    """The first metric: along `message` or another axis of numbers, else as bars. Of open loops
    also the percentiles of all requests."""
    axes = [axis_make(matrix, axis)
            for axis in sorted(matrix.axes, key=lambda axis: axis != "message")]
    x = next((axis.name for axis in axes
              if axis and not axis.apart and len(axis.positions) >= CURVE_VALUES), None)
    pictures = [Picture("curve" if x else "bars", x=x)]
    if all(cell.open_loop for cell in matrix.cells.values()):
        pictures.append(Picture("percentiles"))
    return pictures


def picture_draw(matrix: Matrix, picture: Picture) -> list[Drawing]:
    words = set(matrix.axes).union(*(cell.words for cell in matrix.cells.values()))
    if picture.x is not None and picture.x not in words:
        raise UsageError(f'picture: x: no word "{picture.x}" in this result'
                         f"{nearest_hint(picture.x, words)}")
    shown = PICTURES[picture.kind]
    timed = shown == "of" or shown == "metric" and picture_metric(matrix, picture).timed
    reasons = {cell.emulated for cell in matrix.cells.values() if cell.runs_ok}
    if timed and reasons and all(reasons):
        raise UsageError(f"picture: {picture.kind}: {' or '.join(sorted(reasons))}: {EXACT_ONLY}")
    module = import_module(f"{__package__}.{DRAWN_AS.get(picture.kind, picture.kind)}")
    drawings: list[Drawing] = module.draw(matrix, picture)
    return drawings


def drawings_make(matrix: Matrix, asked: Sequence[Picture] = (),
                  refused: Callable[[str], None] | None = None,
                  looks: Mapping[str, str] = MappingProxyType({})) -> list[Drawing]:
    """The pictures asked for, else those of the scenario, else the default; each has its own name.
    looks: words of LOOKS for all of them. A picture that was not asked for and cannot be drawn is
    left out, and `refused` gets the reason."""
    named: dict[str, Drawing] = {}
    for picture in asked or matrix.result.scenario.pictures or pictures_default(matrix):
        try:
            drawings = picture_draw(matrix, replace(picture, **looks))
        except UsageError as error:
            if asked or refused is None:
                raise
            refused(f"left out: {error}")
            continue
        size = looks.get("size", picture.size)
        for drawing in drawings:
            names = (drawing.name + f"-{size}" * bool(size) + f"-{n}" * (n > 1) for n in count(1))
            name = next(name for name in names if name not in named)
            named[name] = replace(drawing, name=name)
    return [*named.values()]
