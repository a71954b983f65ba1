# SPDX-License-Identifier: MIT
"""Curves: a metric along one axis, and below it its ratios to the baseline. Pure."""

import math
from collections.abc import Mapping, Sequence
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
from suite.present.pictures.canvas import LETTER, LINE, Canvas, Sign, canvas_of, lines_of
from suite.scenario.scenario import Picture

AXIS_COLUMNS_TEXT = 56  # the length of an axis in text, in characters
BODY, BODY_LEAST = 644, 240  # the height without title and small print: wanted, needed
DODGE_MOST = 0.06  # at one value the first and the last series are this share of the axis apart
DOTS_BEYOND = 1.2  # a round above so many times the highest end of an interval is not drawn
OUTSIDE = "beyond the axis"
UNDECIDED_SIGN = Sign("pale", "small letter", "undecided")
SHADED_SIGN = Sign("shaded", "", "as good as the best")
BEYOND_SIGN = Sign("arrow", "^", "at least so much")
# Values that span more than this factor are on a logarithmic axis. A rate keeps a linear axis for
# longer, which shows its plateau. A cost falls along sizes: a linear axis would show its low values
# as 0.
STEEP_BY_BETTER = {"higher": 100, "lower": 30}
APART = 4.0  # smallest number / position of a word among numbers


@dataclass(frozen=True)
class Axis:
    """The position of each value of a word along x. apart: a word among numbers (`default`): it
    stands on their left, and no line joins it to them. numeric: at most one value is no number."""

    name: str
    positions: Mapping[str, float]
    logarithmic: bool
    apart: str | None = None
    numeric: bool = True

    def value(self, cell: Cell) -> str:
        """The cell's value of the word, which may be the same in all cells."""
        return cell.words.get(self.name, "none")

    def at(self, cell: Cell) -> float:
        return self.positions[self.value(cell)]


def axis_make(matrix: Matrix, x: str) -> Axis:
    """The axis along x. A message stands at its bytes as the records have them, a number at its
    value, a single word among numbers on their left. Other values stand side by side."""
    values = list(dict.fromkeys(cell.words.get(x, "none") for cell in matrix.cells.values()))
    numbers: dict[str, float | None] = {value: size_parse(value) for value in values}
    if x == "message":
        numbers |= {cell.words.get(x, "none"): end.message_bytes for cell in matrix.cells.values()
                    for traits in matrix.traits_of(cell.name) for end in traits.ends
                    if end.message_bytes is not None}
    known = {value: float(number) for value, number in numbers.items() if number}
    words = [value for value in values if value not in known]
    numeric = len(words) <= 1 < len(known)
    if len(set(known.values())) < len(known) or not numeric:
        return Axis(x, {value: float(index) for index, value in enumerate(values)}, False,
                    numeric=numeric)
    apart = {word: min(known.values()) / APART for word in words}
    return Axis(x, apart | known, True, next(iter(words), None))


def axis_find(matrix: Matrix, x: str | None) -> Axis:
    """The axis along x, by default `message`. UsageError if it has fewer than two numbers."""
    axis = axis_make(matrix, x or "message")
    if not axis.numeric:
        fitting = [name for name in matrix.axes if axis_make(matrix, name).numeric]
        would = " or ".join([*(f"x={name}" for name in fitting), "kind=bars"])
        raise UsageError(f"picture: curve: a curve runs along numbers, and {axis.name} has fewer "
                         f"than two here: type {would}")
    return axis


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """If the table looks for the best value of x, all other axes are series, and the best value of
    each is shaded with those that may be as good."""
    axis = axis_find(matrix, picture.x)
    metric, alike = parts.picture_metric(matrix, picture), None
    if axis.name == matrix.result.scenario.table.best:
        optima = optima_build(matrix, axis.name, metric)
        alike = {cell.name for cell in matrix.cells.values()
                 if (optimum := optimum_of(optima, cell)) and cell.axes[axis.name] in optimum.alike}
    others = tuple(name for name in matrix.axes if name != axis.name)
    inner = others if alike is not None else others[-1:]
    figures, name = parts.figures_of(matrix, metric), parts.picture_name(picture, metric.name)
    if not figures:
        raise UsageError(f"picture: curve: no cell has {metric.name}; kind=bars says why")
    return [curve_drawing(canvas_of(picture), matrix, metric, axis, cells, inner, place,
                          parts.place_name(name, values), figures, alike)
            for values, place, cells in parts.pictures_divide(matrix, (axis.name, *inner))]


def curve_drawing(canvas: Canvas, matrix: Matrix, metric: Metric, axis: Axis, cells: Sequence[Cell],
                  inner: tuple[str, ...], place: str, name: str, figures: Mapping[str, Figure],
                  alike: set[str] | None) -> parts.Drawing:
    """One picture of these cells. inner: the axes of the series, empty for a single series. alike:
    the cells that are shaded; None for a picture without shades."""
    used = {cell.name: figures[cell.name] for cell in cells if cell.name in figures}
    scale = scale_choose((figure.median for figure in used.values()), metric.unit)
    series = {values: sorted(found, key=axis.at)
              for values, found in parts.cells_group(cells, inner).items()}
    words = [dict(zip(inner, values, strict=True)) for values in series]
    base = words.index(matrix.baseline) + 1 if (
        len(series) > 1 and matrix.baseline in words) else 0
    labels = parts.words_names(words) if len(inner) > 1 else [
        parts.name_cut(value or "none") for value, in series] if inner else [metric.text]
    names = {values: label if any(cell.name in used for cell in found) else
             f"{label} ({' or '.join(dict.fromkeys(map(parts.absence_text, found)))})"
             for label, (values, found) in zip(labels, series.items(), strict=True)}
    floors = {axis.at(cell): floor for cell in ([*series.values()][base - 1] if base else ())
              if (floor := same_reach(matrix, cell, metric.name))}
    beyond = any(isinstance(figure.median, stats.Beyond) for figure in used.values())
    dots = {values: dots_rows(matrix, metric, found, axis, used, scale)
            for values, found in series.items() if parts.rounds_shown(canvas, matrix, len(series))}
    signs = [Sign("", "|", parts.interval_kind(matrix)),
             *[UNDECIDED_SIGN] * any(base and figure.verdict and not is_change(figure)
                                     for figure in used.values()),
             *[SHADED_SIGN] * bool(alike), *[BEYOND_SIGN] * beyond,
             *parts.floor_signs("grey", "", floors.values()),
             *parts.dots_signs(bool(dots), sum(rows.count(OUTSIDE) for rows in dots.values()))]
    settings = parts.series_settings(canvas, matrix, inner, names)
    axes = axes_settings(axis, scale, metric, list(used.values()), len(series),
                         round(parts.axes_units(canvas, settings) / LETTER))
    around = LINE * (settings["key_rows"] + axes["drawn_rows"])
    what = parts.what_text(metric.text, scale.unit, metric.better)
    titles = canvas.titles(
        canvas.share(BODY, 0.95 if base else 0.75) + around, BODY_LEAST + around,
        parts.headline_text(matrix, what, place),
        parts.note_text(matrix, cells, parts.medians_text(matrix, cells, metric)), signs)
    height = titles["height"] - titles["head"] - titles["foot"] - around - 72
    labels_y = {"label_y": lines_of(axes["label_y"], height * (0.6 if base else 1) / LETTER),
                "label_ratio": lines_of(f"ratio to {[*names.values()][base - 1]}",
                                        height / 3 / LETTER) if base else [""]}
    ratio_ends = [*parts.RATIOS_LEAST, *parts.floor_ends(floors.values()),
                  *(end for figure in used.values() for end in ratio_span(figure))]
    blocks = [[names[values], *series_rows(found, axis, used, scale, alike)]
              for values, found in series.items()]
    return parts.Drawing(name, "curve", parts.data_text([
        *blocks, *floors_blocks(floors, axes),
        *([f"rounds {names[values]}", *rows] for values, rows in dots.items())]), {
        **titles, "empty": not used, "shaded": alike is not None, "base": base,
        **settings, **axes, **{key: "\n".join(lines) for key, lines in labels_y.items()},
        "label_columns": max(map(len, labels_y.values())), "beyond": beyond,
        "floors": bool(floors), "rounds": bool(dots),
        **parts.ratio_axis("y", ("ratio_low", "ratio_high", "logarithmic_ratio", "tics_ratio",
                                 "tics_ratio_text"), ratio_ends,
                           (min(8, max(2, height // 70)), 4))})


def floors_blocks(floors: Mapping[float, float], axes: Mapping[str, Any]) -> list[list[parts.Row]]:
    """A block with the A/A interval at each position: from, to, low, high. Empty without any."""
    edges = [axes["left"], *(math.sqrt(one * two) if axes["logarithmic_x"] else (one + two) / 2
                             for one, two in pairwise(sorted(floors))), axes["right"]]
    return [["A/A interval", *((*span, 1 / floors[at], floors[at]) for span, at in zip(
        pairwise(edges), sorted(floors), strict=True))]] if floors else []


def dots_rows(matrix: Matrix, metric: Metric, cells: Sequence[Cell], axis: Axis,
              figures: Mapping[str, Figure], scale: Scale) -> list[parts.Row]:
    """Each round of a series: position, value, offset from the others. A round far above all
    intervals of the picture is OUTSIDE, because it would make the curves flat."""
    ends = [scale.apply(end) for figure in figures.values() for end in (
        figure.median, *parts.interval_ends(figure.interval)) if math.isfinite(end)]
    return [(axis.at(cell), value, beside) if value <= DOTS_BEYOND * max(ends) else OUTSIDE
            for cell in cells if cell.name in figures
            for value, beside in parts.dots_of(matrix, cell, metric, scale)] or [(None,) * 3]


def series_rows(cells: Sequence[Cell], axis: Axis, figures: Mapping[str, Figure], scale: Scale,
                alike: set[str] | None) -> list[parts.Row]:
    """The rows of one series: position, value, low, high, ratio, low, high, is_change(), the value
    if it is a bound. alike: adds a column with the values of these cells. A blank line after
    Axis.apart ends the line that is drawn."""
    rows: list[parts.Row] = []
    for cell in cells:
        numbers: list[float | None] = [None] * 8
        figure = figures.get(cell.name)
        if figure is not None:
            value, *whisker = map(scale.apply, (
                figure.median, *parts.interval_ends(figure.interval)))
            numbers[:3] = [value, *(whisker or (value, value))]
            if ratio := ratio_span(figure):
                numbers[3:7] = [*(ratio if len(ratio) > 1 else ratio * 3), float(is_change(figure))]
            if isinstance(figure.median, stats.Beyond):
                numbers[7] = value
        shade = [] if alike is None else [numbers[0] if cell.name in alike else None]
        rows += [(axis.at(cell), *numbers, *shade), *[()] * (axis.value(cell) == axis.apart)]
    return rows


def ratio_span(figure: Figure) -> tuple[float, ...]:
    """The ratio and both ends of its interval, if known; empty if it has no size."""
    return figure.ratio.span if figure.ratio and not figure.ratio.directed else ()


def is_change(figure: Figure) -> bool:
    return figure.verdict is not None and figure.verdict.claims


def axes_settings(axis: Axis, scale: Scale, metric: Metric, figures: Sequence[Figure],
                  series: int, columns: int) -> dict[str, Any]:
    """Ranges, labels and tics of both axes. dodge_*: the distance of a series from the one before
    it, so that no whisker covers another. columns: the length of the drawn axis in characters."""
    linear, back = (math.log, math.exp) if axis.logarithmic else (float, float)
    labels = sorted(axis.positions.items(), key=lambda item: item[1])
    places = [linear(at) for _, at in labels]
    margin = max(math.log(1.3), 0.06 * (places[-1] - places[0])) if axis.logarithmic else 0.4
    left, length = places[0] - margin, places[-1] - places[0] + 2 * margin
    steps = [(place - left) / length for place in places]
    gap = 0.7 * min(to - at for at, to in pairwise(steps))
    drawn, in_text = (labels_stagger(labels, steps, room) for room in (columns, AXIS_COLUMNS_TEXT))
    return {"left": back(left), "right": back(left + length), "logarithmic_x": axis.logarithmic,
            "dodge_drawn": back(length * min(DODGE_MOST, gap) / series),
            "dodge_text": back(length * gap / series),
            **{name: max(label.count("\\n") for label, _ in tics)
               for name, tics in (("label_rows", in_text), ("drawn_rows", drawn))},
            **height_settings(figures, scale, metric.better),
            "tics_x": parts.tics_command("x", drawn),
            "tics_blank": parts.tics_command("x", [("", at) for _, at in labels]),
            "tics_text": parts.tics_command("x", in_text),
            "label_x": parts.word_text(axis.name),
            "label_y": parts.measure_text(metric.text, scale.unit)}


def height_settings(figures: Sequence[Figure], scale: Scale, better: str) -> dict[str, object]:
    """Whether y is logarithmic, and its range if it is: that of all intervals and a little more."""
    values = [figure.median for figure in figures if figure.median > 0]
    if not values or max(values) <= STEEP_BY_BETTER[better] * min(values):
        return {"logarithmic_y": False}
    ends = [end for figure in figures for end in parts.interval_ends(figure.interval) if end > 0]
    return {"logarithmic_y": True, "bottom": scale.apply(min(values + ends)) / 1.2,
            "top": scale.apply(max(values + ends)) * 1.2}


def labels_stagger(labels: parts.Tics, steps: Sequence[float], columns: int) -> parts.Tics:
    """The same tics, but a label that would run into the one before it stands a line lower."""
    placed: list[tuple[str, float]] = []
    free: list[float] = []  # the first free column of each line
    for (label, at), step in zip(labels, steps, strict=True):
        begins = step * columns - len(label) / 2
        line = next((line for line, end in enumerate(free) if begins >= end), len(free))
        free[line:line + 1] = [begins + len(label) + 1]
        placed.append(("\\n" * line + label, at))
    return placed
