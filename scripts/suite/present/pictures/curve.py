# SPDX-License-Identifier: MIT
"""Curves: a metric along one axis, and below it its ratios to the baseline. Pure."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import Scale, scale_choose, size_parse
from suite.contrast.contrast import same_reach
from suite.decide.optimum import optima_build, optimum_of
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.pictures import parts
from suite.present.pictures.canvas import LETTER, Sign
from suite.scenario.scenario import Picture

TEXT_COLUMNS = 56  # the length of an axis in text, in characters
DOTS_BEYOND = 1.2  # a round above so many times the highest end of an interval is not drawn
STEEP_VALUES = 50  # a linear axis of more would show low costs as 0; it shows the plateau of a rate
APART = 4.0  # smallest number / position of a word among numbers


@dataclass(frozen=True)
class Axis:
    """The position of each value of a word along x, on a logarithmic scale. apart: that of a word
    among numbers (`default`): it stands on their left, and no line joins it to them."""

    name: str
    positions: Mapping[str, float]
    apart: float | None

    def at(self, cell: Cell) -> float:
        return self.positions[cell.words.get(self.name, "none")]


def axis_make(matrix: Matrix, x: str) -> Axis | None:
    """The axis along x; None with fewer than two numbers, or more than one word. A message stands
    at its bytes as the records have them, another number at its value. If two values are the same
    number, all stand side by side."""
    values = list(dict.fromkeys(cell.words.get(x, "none") for cell in matrix.cells.values()))
    numbers: dict[str, float | None] = {value: size_parse(value) for value in values}
    if x == "message":
        numbers |= {cell.words.get(x, "none"): end.message_bytes for cell in matrix.cells.values()
                    for traits in matrix.traits_of(cell.name) for end in traits.ends
                    if end.message_bytes is not None}
    known = {value: float(number) for value, number in numbers.items() if number}
    words = [value for value in values if value not in known]
    if len(words) > 1 or len(known) < 2:
        return None
    if len(set(known.values())) < len(known):
        known = {value: 2.0**place for place, value in enumerate(known)}
    apart = min(known.values()) / APART
    return Axis(x, dict.fromkeys(words, apart) | known, apart if words else None)


@dataclass(frozen=True)
class Curves:
    """What one picture shows. figures: by cell, absent without one. alike: the cells that are
    shaded; None for a picture without shades."""

    page: parts.Page
    metric: Metric
    axis: Axis
    scale: Scale
    figures: Mapping[str, Figure]
    alike: Collection[str] | None

    def row(self, cell: Cell) -> parts.Row:
        """Position, value, low, high, ratio, low, high, whether it is a change, the value if it is
        a bound, the value if it is shaded."""
        figure = self.figures.get(cell.name)
        span, ratio = parts.figure_span(figure, self.scale), figure.ratio if figure else None
        return (self.axis.at(cell), *span, *parts.ratio_span(ratio),
                figure.verdict.claims if figure and figure.verdict and ratio else None,
                span[0] if figure and isinstance(figure.median, stats.Beyond) else None,
                span[0] if self.alike and cell.name in self.alike else None)

    def rows(self, cells: Iterable[Cell]) -> list[parts.Row]:
        """A blank line after Axis.apart ends the line that is drawn."""
        return [row for cell in cells
                for row in (self.row(cell), *[()] * (self.axis.at(cell) == self.axis.apart))]

    def dots(self, cells: Iterable[Cell]) -> list[tuple[float, float, float]]:
        """Each round: position, value, offset from the others."""
        return [(self.axis.at(cell), *dot) for cell in cells if cell.name in self.figures
                for dot in parts.dots_of(self.page.matrix, cell, self.metric, self.scale)]

    @property
    def highest(self) -> float:
        """The highest dot that is drawn: one far above all intervals would make the curves flat."""
        return DOTS_BEYOND * max((
            end for figure in self.figures.values() for end in parts.figure_span(figure, self.scale)
            if end is not None and math.isfinite(end)), default=0.0)

    @property
    def is_steep(self) -> bool:
        """Whether the values are on a logarithmic axis."""
        values = [figure.median for figure in self.figures.values() if figure.median > 0]
        return bool(values) and max(values) > STEEP_VALUES * min(values)


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """If the table looks for the best value of x, all other axes are series, and the best value of
    each is shaded with those that may be as good."""
    x = picture.x or "message"
    axis = axis_make(matrix, x)
    if axis is None:
        would = [f"x={name}" for name in matrix.axes if axis_make(matrix, name)]
        raise UsageError(f"picture: curve: a curve runs along numbers, and {x} has fewer than two "
                         f"here: type {' or '.join([*would, 'kind=bars'])}")
    metric, alike = parts.picture_metric(matrix, picture), None
    if axis.name == matrix.result.scenario.table.best:
        optima = optima_build(matrix, axis.name, metric)
        alike = {cell.name for cell in matrix.cells.values()
                 if (optimum := optimum_of(optima, cell)) and cell.axes[axis.name] in optimum.alike}
    others = tuple(name for name in matrix.axes if name != axis.name)
    inner = others if alike is not None else others[-1:]
    figures, drawings = parts.figures_of(matrix, metric), []
    if not figures:
        raise UsageError(f"picture: curve: no cell has {metric.name}; kind=bars says why")
    for page in parts.pages_divide(matrix, picture, metric.name, (axis.name, *inner)):
        used = {cell.name: figures[cell.name] for cell in page.cells if cell.name in figures}
        scale = scale_choose((figure.median for figure in used.values()), metric.unit)
        drawings.append(curve_drawing(Curves(page, metric, axis, scale, used, alike), inner))
    return drawings


def curve_drawing(curves: Curves, inner: tuple[str, ...]) -> parts.Drawing:
    """inner: the axes of the series, empty for a single series."""
    page, metric, used = curves.page, curves.metric, curves.figures.values()
    series = [one._replace(cells=sorted(one.cells, key=curves.axis.at)) if any(
        cell.name in curves.figures for cell in one.cells) else one.absent(metric.timed)
        for one in page.series(inner, metric.text)]
    base = next((number for number, one in enumerate(series, start=1)
                 if len(series) > 1 and one.words == page.matrix.baseline), 0)
    floors = {curves.axis.at(cell): floor for cell in (series[base - 1].cells if base else ())
              if (floor := same_reach(page.matrix, cell, metric.name))}
    along = axis_settings(curves.axis, min(
        TEXT_COLUMNS, round((page.canvas.width - parts.AXES_MARGINS) / LETTER)))
    rounds = parts.rounds_shown(page.canvas, page.matrix, len(series))
    dots = [(one.name, curves.dots(one.cells)) for one in series if rounds]
    blocks: list[parts.Block] = [[one.name, *curves.rows(one.cells)] for one in series]
    if floors:
        edges = {along["left"]: floors[min(floors)], along["right"]: floors[max(floors)]}
        blocks.append(["A/A interval", *((at, 1 / floor, floor)
                                         for at, floor in sorted({**floors, **edges}.items()))])
    blocks += [[f"rounds {name}", *(dot for dot in found if dot[1] <= curves.highest)]
               for name, found in dots]
    beyond = any(isinstance(figure.median, stats.Beyond) for figure in used)
    undecided = any(base and figure.verdict and not figure.verdict.claims for figure in used)
    signs = [Sign("", "|", parts.interval_kind(page.matrix)),
             *[Sign("pale", "small letter", "undecided")] * undecided,
             *[Sign("shaded", "", "as good as the best")] * bool(curves.alike),
             *[Sign("arrow", "^", "at least so much")] * beyond,
             *parts.floor_signs("grey", "", floors.values()),
             *parts.dots_signs(rounds, sum(value > curves.highest for _, found in dots
                                           for _, value, _ in found))]
    return page.axes_drawing(
        "curve", series, blocks, parts.what_text(metric.text, curves.scale.unit, metric.better),
        page.note(parts.medians_text(page.matrix), metric), signs, {
            **along, "empty": not used, "shaded": curves.alike is not None, "base": base,
            "logarithmic_y": curves.is_steep, "beyond": beyond, "floors": bool(floors),
            "rounds": rounds, "label_y": parts.measure_text(metric.text, curves.scale.unit),
            "label_ratio": f"ratio to {series[base - 1].name}" if base else "",
            **parts.ratio_axis(end for figure in used for end in parts.ratio_span(figure.ratio))},
        panels=2 if base else 1)


def axis_settings(axis: Axis, columns: int) -> dict[str, Any]:
    """The range and labels along x. gap: the share of the axis that the points of all series at one
    position may take, so that no whisker covers another. columns: its length in characters."""
    labels = sorted(axis.positions, key=axis.positions.__getitem__)
    places = [axis.positions[label] for label in labels]
    margin = max(1.3, (places[-1] / places[0]) ** 0.06)
    left, right = places[0] / margin, places[-1] * margin
    steps = [math.log(place / left, right / left) for place in places]
    lines = labels_lines(labels, steps, columns)
    return {"left": left, "right": right, "label_x": parts.word_text(axis.name),
            "gap": 0.7 * min(to - at for at, to in pairwise(steps)), "x_rows": max(lines),
            "x_names": ["\n" * line + label for line, label in zip(lines, labels, strict=True)],
            "x_places": places}


def labels_lines(labels: Sequence[str], steps: Sequence[float], columns: int) -> list[int]:
    """The line of each label: one that would run into the label before it stands a line lower.
    steps: their positions, as shares of the axis."""
    lines: list[int] = []
    free: list[float] = []  # the first free column of each line
    for label, step in zip(labels, steps, strict=True):
        begins = step * columns - len(label) / 2
        line = next((line for line, end in enumerate(free) if begins >= end), len(free))
        free[line:line + 1] = [begins + len(label) + 1]
        lines.append(line)
    return lines
