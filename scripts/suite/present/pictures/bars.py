# SPDX-License-Identifier: MIT
"""Bars: one for each cell, in panels by the outer axis. Pure: gives the text of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_words
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.base.units import Scale, beyond_text, count_text, number_text, ratio_text
from suite.present.pictures.picture import (
    Drawing,
    Plan,
    figures_of,
    figures_scale,
    gnuplot_array,
    gnuplot_string,
    headline_text,
    medians_text,
    name_cut,
    name_safe,
    note_text,
    number_data,
    place_text,
)
from suite.present.table import axis_values

BAR_COLOUR, BASE_COLOUR = 0x56B4E9, 0x999999  # Okabe and Ito's sky blue, and grey
BARS_MAX = 36  # in one picture; more panels go into another
ARROW = "\u2192"  # in a bar that ends at a bound
CUT = 20  # a bar longer than this many medians of its panel is cut off


def panel_limit(values: Sequence[float]) -> float:
    """The longest bar that is not cut; 1 where there is none."""
    if not values:
        return 1.0
    middle = stats.median(values)
    return max((value for value in values if value <= CUT * middle), default=middle) or 1.0


def bar_label(cell: Cell, figure: Figure | None, metric: Metric, scale: Scale, cut: bool) -> str:
    """What stands at the end of a bar."""
    if figure is None and cell.emulated and metric.timed:
        return f"- ({cell.emulated})"
    if figure is None:
        return {"unsupported": "- (unsupported)", "failed": "failed",
                "missing": "not run"}.get(cell.status, "n/a")
    value = scale.apply(figure.median)
    text = count_text(value) if metric.counts else beyond_text(figure.median,
                                                               f"{number_text(value)} {scale.unit}")
    if figure.ratio is not None:
        text += f" ({ratio_text(figure.ratio.value)})"
    return f"{text}, bar cut" if cut else text


def bar_line(row: int, cell: Cell, label: str, figure: Figure | None, metric: Metric,
             scale: Scale, limit: float, reach: float, is_base: bool) -> str:
    """One line of a bars .dat; reach is where the last label may begin."""
    value = scale.apply(figure.median) if figure else 0.0
    cut = value > limit
    length = min(value, limit * 1.1)
    interval = figure.interval if figure and not cut else None
    low = scale.apply(interval.low) if interval else None
    high = scale.apply(interval.high) if interval else None
    numbers = [length, low, high, max(length, min(high or 0.0, reach))]
    broken = [number_data(limit * 1.03), '"//"'] if cut else ["0", '""']
    if figure and isinstance(figure.median, stats.Beyond):
        broken = [number_data(0.96 * length), f'"{ARROW}"']
    colour = BASE_COLOUR if is_base else BAR_COLOUR
    text = bar_label(cell, figure, metric, scale, cut)
    return " ".join([str(row), *map(number_data, numbers), str(colour), *broken,
                     f'"{text}"', f'"{label}"'])


@dataclass(frozen=True)
class Panel:
    """The bars under one heading, in order; of: the value of the outermost of several axes."""

    of: str
    head: str
    rows: tuple[tuple[str, Cell], ...]


def bar_name(cell: Cell, axes: tuple[str, ...]) -> str:
    """The cell's values on the axes, cut where they would leave no room for bars.

    A bare number says nothing without its word.
    """
    values = [(axis, cell.axes[axis] or "none") for axis in axes]
    return name_cut(" ".join(f"{axis}={value}" if value.isdigit() else value
                             for axis, value in values))


def panels_make(matrix: Matrix, plan: Plan) -> list[Panel]:
    """Panels by the outer axis: the first, or all but x where the picture names one."""
    axes = matrix.axes
    inner = (plan.x,) if plan.x else axes[1:] if len(axes) > 1 else axes
    outer = tuple(axis for axis in axes if axis not in inner)
    cells = list(matrix.cells.values())
    panels = []
    for values in axis_values(cells, outer):
        inside = [c for c in cells if tuple(c.axes[axis] for axis in outer) == values]
        rows = tuple((bar_name(c, inner) or matrix.result.name, c) for c in inside)
        head = place_text(outer, values)
        panels.append(Panel(values[0] if len(values) > 1 else "", head, rows))
    return panels


def panels_fill(panels: Iterable[Panel]) -> list[list[Panel]]:
    """As many panels in one picture as have BARS_MAX bars together, at least one."""
    groups: list[list[Panel]] = []
    count = BARS_MAX + 1
    for panel in panels:
        if count + len(panel.rows) > BARS_MAX:
            groups.append([])
            count = 0
        groups[-1].append(panel)
        count += len(panel.rows)
    return groups


def panels_group(panels: Sequence[Panel]) -> list[list[Panel]]:
    """The panels of each picture: by the outermost axis, if that takes no more pictures."""
    filled = panels_fill(panels)
    apart = [group for _, same in groupby(panels, key=lambda panel: panel.of)
             for group in panels_fill(same)]
    return apart if len(apart) <= len(filled) else filled


def limits_make(panels: Sequence[Panel], figures: Mapping[str, Figure],
                scale: Scale) -> list[float]:
    """The longest whole bar of each panel; the same for all if they differ by at most 2."""
    limits = [panel_limit([scale.apply(figures[cell.name].median) for _, cell in panel.rows
                           if cell.name in figures]) for panel in panels]
    return [max(limits)] * len(limits) if max(limits) <= 2 * min(limits) else limits


def panel_reach(panel: Panel, figures: Mapping[str, Figure], scale: Scale, limit: float) -> float:
    """How far bars and whiskers of a panel go; a whisker beyond twice the longest bar runs out."""
    ends = [scale.apply(figure.interval.high) for _, cell in panel.rows
            if (figure := figures.get(cell.name)) and figure.interval
            and scale.apply(figure.median) <= limit]
    return min(max([*ends, 1.1 * limit]), 2 * limit)


def panel_data(panel: Panel, figures: Mapping[str, Figure], metric: Metric, scale: Scale,
               limit: float, base: Mapping[str, str]) -> str:
    """The block of one panel in a .dat."""
    reach = panel_reach(panel, figures, scale, limit)
    lines = [f"# {panel.head}".rstrip()]
    for row, (label, cell) in enumerate(panel.rows):
        is_base = bool(base) and all(cell.axes[key] == value for key, value in base.items())
        lines.append(bar_line(row, cell, label, figures.get(cell.name), metric, scale, limit,
                              reach, is_base))
    return "\n".join(lines) + "\n"


def bars_draw(matrix: Matrix, plan: Plan) -> list[Drawing]:
    """The pictures of bars; more than one only where there are very many bars."""
    figures = figures_of(matrix, plan.metric)
    scale = figures_scale(figures, plan.metric)
    base = baseline_words(matrix)
    groups = panels_group(panels_make(matrix, plan))
    drawings = []
    for number, panels in enumerate(groups, start=1):
        limits = limits_make(panels, figures, scale)
        pairs = list(zip(panels, limits, strict=True))
        blocks = [panel_data(panel, figures, plan.metric, scale, limit, base)
                  for panel, limit in pairs]
        reaches = [panel_reach(panel, figures, scale, limit) for panel, limit in pairs]
        own = len(set(limits)) > 1
        tops = [1.45 * (reach if own else max(reaches)) for reach in reaches]
        name = name_safe(plan.name + (f"-{number}" if len(groups) > 1 else ""))
        headline = headline_text(matrix, plan.metric.name, scale.unit, plan.metric.better)
        drawings.append(Drawing(name, "bars", "\n\n".join(blocks), bars_settings(
            matrix, (plan.metric,), headline, scale.unit or "per message", panels, tops, name,
            own)))
    return drawings


def bars_settings(matrix: Matrix, metrics: Sequence[Metric], headline: str, unit: str,
                  panels: Sequence[Panel],
                  tops: Sequence[float], name: str, own: bool) -> str:
    """The head of a bars script; unit: what stands at the axes."""
    counts = [len(panel.rows) for panel in panels]
    cells = [cell for panel in panels for _, cell in panel.rows]
    base = " ".join(baseline_words(matrix).values())
    label = unit + (f"; in brackets: ratio to {base} (grey)" if base else "")
    return "\n".join([
        f"name = {gnuplot_string(name)}",
        f"headline = {gnuplot_string(headline)}",
        f"note = {gnuplot_string(note_text(matrix, cells, medians_text(matrix, cells, *metrics)))}",
        f"panels = {len(panels)}",
        gnuplot_array("bars", counts),
        gnuplot_array("heads", [panel.head for panel in panels]),
        gnuplot_array("tops", [number_data(top) for top in tops]).replace("'", ""),
        f"label = {gnuplot_string(label + (', each panel with its own scale' if own else ''))}",
        f"widest = {max(len(label) for panel in panels for label, _ in panel.rows)}",
        f"height = {round(58 + sum(26 * (count + 3.2) for count in counts))}",
    ]) + "\n"
