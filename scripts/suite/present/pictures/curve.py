# SPDX-License-Identifier: MIT
"""Curves: a metric along one axis, with a ratio panel under it. Pure: gives the text of the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_words
from suite.analyse.metrics import Metric
from suite.analyse.optimum import optima_build, optimum_of
from suite.analyse.summary import Figure
from suite.base.units import Scale, size_parse
from suite.present.pictures.picture import (
    Drawing,
    Plan,
    figures_of,
    figures_scale,
    gnuplot_string,
    headline_text,
    medians_text,
    note_text,
    number_data,
    place_name,
    place_text,
    ratio_tics,
    series_settings,
    tics_settings,
    title_settings,
    x_value,
)
from suite.present.table import axis_values

COLUMNS, TEXT_COLUMNS = 80, 40  # of text that have room along an axis, drawn and in text
SIZES = ("message", "chunk", "sndbuf", "rcvbuf")  # words that are numbers of bytes
SHADED_NOTE = "shaded: as good as the best; "
# Values that span so many times are on a logarithmic axis. What is better high ends in a plateau,
# which is to be seen; a cost falls along sizes until on a linear axis all that is low lies on the
# ground.
STEEP = {"higher": 300, "lower": 30}
APART = 4.0  # a word beside numbers stands as far from the smallest as that from so many times it


@dataclass(frozen=True)
class Axis:
    """Where each value of a word stands along x, and whether that is logarithmic.

    apart: a word beside numbers (`default`), which stands on their left and is joined to none.
    """

    name: str
    positions: Mapping[str, float]
    logarithmic: bool
    apart: str | None = None

    def position(self, cell: Cell) -> float:
        """Where a cell stands."""
        return self.positions[x_value(cell, self.name)]


def axis_make(matrix: Matrix, x: str) -> Axis:
    """Messages stand at their bytes, as the records tell them; other sizes at their number, and a
    single word beside them on their left. Other values stand side by side instead."""
    values = list(dict.fromkeys(x_value(cell, x) for cell in matrix.cells.values()))
    numbers: dict[str, float | None] = {value: size_parse(value) for value in values}
    if x == "message":
        for cell in matrix.cells.values():
            sizes = [end.message_bytes for traits in matrix.traits_of(cell.name)
                     for end in traits.ends]
            numbers |= {x_value(cell, x): size for size in sizes if size is not None}
    known = {value: float(number) for value, number in numbers.items() if number}
    words = [value for value in values if value not in known]
    if len(set(known.values())) < len(known) or len(words) > 1 or len(known) < 2:
        return Axis(x, {value: float(index) for index, value in enumerate(values)}, False)
    if not words:
        return Axis(x, known, True)
    return Axis(x, {words[0]: min(known.values()) / APART} | known, True, words[0])


def ratio_settings(ratios: Sequence[float]) -> list[str]:
    """Range, scale and tics of the ratio panel: logarithmic if the ratios span a lot."""
    low, high = min([*ratios, 1.0]), max([*ratios, 1.0])
    steep = high / low > 2
    reach = max(high - low, 0.04) * 0.12
    commands = ['set ytics autofreq; set format y "%gx"'] * 2
    if steep:
        commands = [f"set ytics ({tics})" for tics in (ratio_tics(low, high, 8),
                                                       ratio_tics(low, high, 4))]
    return [f"ratio_low = {number_data(low / 1.1 if steep else low - reach)}",
            f"ratio_high = {number_data(high * 1.1 if steep else high + reach)}",
            f"logarithmic_ratio = {int(steep)}",
            f"tics_ratio = {gnuplot_string(commands[0])}",
            f"tics_ratio_text = {gnuplot_string(commands[1])}"]


def curve_line(position: float, figure: Figure | None, scale: Scale) -> str:
    """One line of a curve .dat: position, value and ratio, both with their intervals, and the value
    if it is a bound."""
    if figure is None:
        return " ".join([number_data(position)] + ["NaN"] * 7)
    centre = scale.apply(figure.median)
    numbers: list[float | None] = [position, centre]
    numbers += [scale.apply(figure.interval.low), scale.apply(figure.interval.high)] \
        if figure.interval else [centre, centre]
    if figure.ratio is None or figure.ratio.directed:
        numbers += [None] * 3
    else:
        within = figure.ratio.interval
        numbers += [figure.ratio.value, within.low if within else figure.ratio.value,
                    within.high if within else figure.ratio.value]
    numbers.append(centre if isinstance(figure.median, stats.Beyond) else None)
    return " ".join(map(number_data, numbers))


def curve_draw(matrix: Matrix, plan: Plan) -> list[Drawing]:
    """One picture for each combination of the axes other than x and the series."""
    x = plan.x or ""
    others = tuple(axis for axis in matrix.axes if axis != x)
    inner, outer = (others, ()) if plan.shaded else (others[-1:], others[:-1])
    figures = figures_of(matrix, plan.metric)
    cells = list(matrix.cells.values())
    drawings = []
    for values in axis_values(cells, outer):
        inside = [c for c in cells if tuple(c.axes[axis] for axis in outer) == values]
        drawings.append(curve_build(matrix, plan, inside, inner, place_text(outer, values),
                                    place_name(plan.name, values), figures))
    return drawings


def curve_build(matrix: Matrix, plan: Plan, cells: Sequence[Cell], inner: tuple[str, ...],
                place: str, name: str, figures: Mapping[str, Figure]) -> Drawing:
    """One picture of the cells; inner is the axis of the series, or empty for a single one."""
    axis = axis_make(matrix, plan.x or "")
    scale = figures_scale({c.name: figures[c.name] for c in cells if c.name in figures},
                          plan.metric)
    series: dict[str, list[Cell]] = {}
    for values in axis_values(cells, inner) if inner else [()]:
        label = place_text(inner, values) if plan.shaded else " ".join(v or "none" for v in values)
        found = [cell for cell in cells if tuple(cell.axes[axis] for axis in inner) == values]
        series[label] = sorted(found, key=axis.position)
    order = list(series)
    alike = alike_cells(matrix, plan, cells) if plan.shaded else None
    blocks = ["\n".join([f"# {label or plan.metric.name}",
                         *series_lines(series[label], axis, figures, scale, alike)]) + "\n"
              for label in order]
    used = [figures[cell.name] for cell in cells if cell.name in figures]
    base = baseline_words(matrix)
    base_at = next((number for number, label in enumerate(order, start=1)
                    if len(order) > 1 and base == {inner[0]: label}), 0)
    headline = headline_text(matrix, plan.metric.name, scale.unit, plan.metric.better, place)
    settings = [
        f"name = {gnuplot_string(name)}",
        *title_settings(headline,
                        note_text(matrix, cells,
                                  SHADED_NOTE * bool(alike) +
                                  medians_text(matrix, cells, plan.metric))),
        f"empty = {int(not used)}",
        f"shaded = {int(plan.shaded)}",
        f"base = {base_at}",
        *series_settings([series_label(label or plan.metric.name, series[label], figures)
                          for label in order]),
        *axes_settings(axis, scale, plan.metric, used),
        f"beyond = {int(any(isinstance(figure.median, stats.Beyond) for figure in used))}",
        *ratio_settings([end for figure in used if figure.ratio and not figure.ratio.directed
                         for end in ratio_ends(figure.ratio)]),
    ]
    return Drawing(name, "curve", "\n\n".join(blocks), "\n".join(settings) + "\n")


def alike_cells(matrix: Matrix, plan: Plan, cells: Sequence[Cell]) -> set[str]:
    """The names of the cells that are best in their group or cannot be told apart from the best."""
    axis, metric = plan.x or "", plan.metric
    optima = optima_build(matrix, axis, metric)
    found = ((cell, optimum_of(optima, cell)) for cell in cells)
    return {cell.name for cell, optimum in found if optimum and cell.axes[axis] in optimum.alike}


def series_lines(cells: Sequence[Cell], axis: Axis, figures: Mapping[str, Figure], scale: Scale,
                 alike: set[str] | None) -> list[str]:
    """The lines of one series; with alike a further column has the value of these cells again.

    A blank line ends a line that is drawn: behind a value that stands apart.
    """
    lines = []
    for cell in cells:
        figure = figures.get(cell.name)
        line = curve_line(axis.position(cell), figure, scale)
        if alike is not None:
            shown = scale.apply(figure.median) if figure and cell.name in alike else None
            line += " " + number_data(shown)
        lines += [line, ""] if x_value(cell, axis.name) == axis.apart else [line]
    return lines


def ratio_ends(ratio: stats.Estimate) -> Iterable[float]:
    """Everything of a ratio that must fit into its panel."""
    return (ratio.interval.low, ratio.interval.high) if ratio.interval else (ratio.value,)


def series_label(label: str, cells: Sequence[Cell], figures: Mapping[str, Figure]) -> str:
    """What the key says of a series; one without any value is still named there."""
    why = next((cell.emulated for cell in cells if cell.emulated), "none")
    return label if any(cell.name in figures for cell in cells) else f"{label} ({why})"


def axes_settings(axis: Axis, scale: Scale, metric: Metric, figures: Sequence[Figure]) -> list[str]:
    """Ranges, labels and tics of both axes; y is logarithmic if the values span a lot."""
    labels = sorted(axis.positions.items(), key=lambda item: item[1])
    x, logarithmic = axis.name, axis.logarithmic
    first, last = labels[0][1], labels[-1][1]
    low, high = (first / 1.3, last * 1.3) if logarithmic else (first - 0.4, last + 0.4)
    steps = [math.log(at / low) / math.log(high / low) if logarithmic else
             (at - low) / (high - low) for _, at in labels]
    return [
        f"left = {number_data(low)}", f"right = {number_data(high)}",
        f"logarithmic_x = {int(logarithmic)}", *height_settings(figures, scale, metric.better),
        *tics_settings("x", tics_x=labels_thin(labels, steps, COLUMNS),
                       tics_blank=[("", at) for _, at in labels],
                       tics_text=labels_thin(labels, steps, TEXT_COLUMNS)),
        f"label_x = {gnuplot_string(x + (', bytes' if x in SIZES else ''))}",
        f"label_y = {gnuplot_string(scale.unit or metric.name.replace('_', ' '))}",
    ]


def height_settings(figures: Sequence[Figure], scale: Scale, better: str) -> list[str]:
    """Whether y is logarithmic, and from where to where then: all intervals fit, and little
    more."""
    values = [figure.median for figure in figures if figure.median > 0]
    steep = bool(values) and max(values) > STEEP[better] * min(values)
    if not steep:
        return ["logarithmic_y = 0"]
    ends = [end for figure in figures if figure.interval
            for end in (figure.interval.low, figure.interval.high) if end > 0]
    low, high = scale.apply(min(values + ends)), scale.apply(max(values + ends))
    return ["logarithmic_y = 1", f"bottom = {number_data(low / 1.2)}",
            f"top = {number_data(high * 1.2)}"]


def labels_thin(labels: Sequence[tuple[str, float]], steps: Sequence[float],
                columns: int) -> list[tuple[str, float]]:
    """The same tics; a label that would run into the one before it is left out.

    steps: where each stands, from 0 to 1 along an axis that has room for so many columns of text.
    """
    thin, free = [], -math.inf
    for (label, at), step in zip(labels, steps, strict=True):
        begins = step * columns - len(label) / 2
        shown = begins >= free
        thin.append((label if shown else "", at))
        free = begins + len(label) + 1 if shown else free
    return thin
