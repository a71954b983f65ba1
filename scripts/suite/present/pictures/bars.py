# SPDX-License-Identifier: MIT
"""Bars: one for each cell, in panels by the outer axis. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from suite import stats
from suite.base.units import Scale, ratio_text, scale_choose
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.columns import median_text, verdict_item
from suite.present.pictures import parts
from suite.present.pictures.canvas import LETTER, LINE, Canvas, canvas_of, lines_of
from suite.scenario.scenario import Picture

BAR_COLOUR, BASE_COLOUR = 0x8DA9C4, 0x999999  # for cells without a strategy
TEXT_WIDTH = 66  # the width in characters of a label and the longest name in text
BARS_MAX = 36  # bars of a picture; further panels go into another picture
BOUND_ARROW = "\u2192"  # in a bar that ends at a bound
CUT_MEDIANS = 20  # a bar longer than this many medians of its panel is cut off
LABEL_ROOM = 1.45  # length of the axis / longest bar in text: the rest is room for its label
ROW_UNITS, ROW_LEAST = 26, 17  # the height of a bar in units: wanted, needed
PANEL_UNITS = 83  # the height of a panel without its bars
TIC_UNITS = 90  # the distance of tics, at least
Dots = Mapping[str, Sequence[tuple[float, float]]]  # by cell: dots_of()


@dataclass(frozen=True)
class Panel:
    """The bars under one heading. rows: (name, cell). outermost: the value of the first of several
    outer axes, by which pictures are divided."""

    outermost: str
    head: str
    rows: tuple[tuple[str, Cell], ...]


class Bar(NamedTuple):
    """One bar, as a line of a .dat. last: where bar, whisker and dots end. sign: is drawn at `end`
    of a bar that is cut or ends at a bound."""

    row: int
    length: float
    low: float | None
    high: float | None
    last: float
    colour: int
    end: float
    sign: str
    label: str
    name: str


def panel_limit(panel: Panel, figures: Mapping[str, Figure], scale: Scale) -> float:
    """The longest bar of a panel that is not cut, in the unit of scale; 1 for an empty panel."""
    values = [scale.apply(figures[cell.name].median) for _, cell in panel.rows
              if cell.name in figures]
    middle = stats.median([value for value in values if value > 0] or [1.0])
    return max((value for value in values if 0 < value <= CUT_MEDIANS * middle), default=middle)


def bar_label(cell: Cell, figure: Figure | None, metric: Metric, scale: Scale, cut: bool,
              high: float | None) -> str:
    """The text at the end of a bar. cut: the bar is cut. high: the end of a whisker that is cut."""
    if figure is None and cell.hides(metric):
        return f"- ({cell.emulated})"
    if figure is None:
        return {"unsupported": "- (unsupported)", "failed": "failed",
                "missing": "not run"}.get(cell.status, "n/a")
    text = median_text(figure.median, metric, scale) + f" {scale.unit}" * (not metric.counts)
    ratio = f", {verdict_item(ratio_text(figure.ratio.value), figure.judged)}" if (
        figure.ratio and figure.judged) else ""
    beyond = f", up to {median_text(high, metric, scale)}" if high is not None else ""
    return text + ratio + ", bar cut" * cut + beyond


def panel_bars(panel: Panel, figures: Mapping[str, Figure], metric: Metric, scale: Scale,
               limit: float, base: Mapping[str, str], dots: Dots = MappingProxyType({})
               ) -> tuple[float, list[Bar]]:
    """How far the bars and whiskers of a panel extend, at most to twice its limit; and its bars."""
    whole = {name: figure for name, figure in figures.items()
             if scale.apply(figure.median) <= limit}
    ends = [scale.apply(figure.interval.high) for _, cell in panel.rows
            if (figure := whole.get(cell.name)) and figure.interval]
    bars, extent = [], min(max([*ends, 1.1 * limit]), 2 * limit)
    for row, (name, cell) in enumerate(panel.rows):
        figure, cut = figures.get(cell.name), cell.name in figures and cell.name not in whole
        length = min(scale.apply(figure.median), limit * 1.1) if figure else 0.0
        interval = figure.interval if figure and not cut else None
        low, high = map(scale.apply, interval[:2]) if interval else (None, None)
        beyond = interval.high if interval and scale.apply(interval.high) > extent else None
        high = high if beyond is None else extent
        end = (limit * 1.03, "//") if cut else (0.0, "")
        if figure and isinstance(figure.median, stats.Beyond):
            end = (0.96 * length, BOUND_ARROW)
        colour = parts.strategy_colour(cell.axes)
        if colour is None:
            is_base = base and base.items() <= cell.axes.items()
            colour = BASE_COLOUR if is_base else BAR_COLOUR
        last = max([length, high or 0.0, *(
            value for value, _ in dots.get(cell.name, ()) if value <= extent)])
        bars.append(Bar(row, length, low, high, last, colour, *end,
                        bar_label(cell, figure, metric, scale, cut, beyond), name))
    return extent, bars


def dots_block(panel: Panel, dots: Dots, extent: float) -> list[str]:
    lines = [parts.data_line(value, row + 0.5 * beside) for row, (_, cell) in enumerate(panel.rows)
             for value, beside in dots.get(cell.name, ()) if value <= extent]
    return [f"# rounds {panel.head}".rstrip(), *(lines or ["NaN NaN"])]


def panels_make(matrix: Matrix, x: str | None, most: int) -> list[Panel]:
    """A panel for each combination of the outer axes: the first axis, or all but x."""
    inner = (x,) if x else matrix.axes[1:] or matrix.axes
    words = [{axis: cell.axes[axis] for axis in inner} for cell in matrix.cells.values()]
    names = dict(zip(matrix.cells, parts.words_names(words, most), strict=True))
    return [Panel(values[0] if len(values) > 1 else "", head, tuple(
        (names[cell.name] or matrix.result.name, cell) for cell in cells))
        for values, head, cells in parts.pictures_divide(matrix, inner)]


def panels_group(panels: Sequence[Panel]) -> list[list[Panel]]:
    def fill(some: Iterable[Panel]) -> list[list[Panel]]:
        return parts.groups_fill(some, lambda panel: len(panel.rows), BARS_MAX)

    apart = [group for _, same in groupby(panels, key=lambda panel: panel.outermost)
             for group in fill(same)]
    filled = fill(panels)
    return apart if len(apart) <= len(filled) else filled


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """All panels of a picture have one scale if their limits differ by a factor of at most 2."""
    metric, canvas = parts.picture_metric(matrix, picture), canvas_of(picture)
    figures = parts.figures_of(matrix, metric)
    scale = scale_choose((figure.median for figure in figures.values()), metric.unit)
    every = panels_make(matrix, parts.picture_axis(matrix, picture), canvas.name_most)
    whole = max(panel_limit(panel, figures, scale) for panel in every)
    dots = {cell.name: parts.dots_of(matrix, cell, metric, scale)
            for cell in matrix.cells.values()
            if parts.rounds_shown(canvas, matrix, 1) and (figure := figures.get(cell.name))
            and not figure.exact and scale.apply(figure.median) <= whole}
    drawings, groups = [], panels_group(every)
    headline = parts.headline_text(
        matrix, parts.what_text(metric.text, scale.unit, metric.better))
    for number, panels in enumerate(groups, start=1):
        limits = [panel_limit(panel, figures, scale) for panel in panels]
        if max(limits) <= 2 * min(limits):
            limits = [max(limits)] * len(limits)
        apart = len(set(limits)) > 1
        extents, bars = zip(*(
            panel_bars(panel, figures, metric, scale, limit, matrix.baseline, dots)
            for panel, limit in zip(panels, limits, strict=True)), strict=True)
        extents = extents if apart else (max(extents),) * len(extents)
        rounds = [dots_block(panel, dots, extent)
                  for panel, extent in zip(panels, extents, strict=True)] if dots else []
        beyond = sum(value > extent for panel, extent in zip(panels, extents, strict=True)
                     for _, cell in panel.rows for value, _ in dots.get(cell.name, ()))
        drawings.append(bars_drawing(
            matrix, parts.picture_name(picture, metric.name) + f"-{number}" * (len(groups) > 1),
            headline, (parts.measure_text(metric.text, scale.unit),
                       "; each panel with its own scale" * apart),
            {metric: figures}, panels, extents, bars, canvas, rounds,
            parts.dots_signs(bool(dots), beyond)))
    return drawings


def bars_drawing(matrix: Matrix, name: str, headline: str, label: tuple[str, str],
                 shown: Mapping[Metric, Mapping[str, Figure]], panels: Sequence[Panel],
                 extents: Sequence[float], bars: Sequence[Sequence[Bar]],
                 canvas: Canvas = Canvas(), rounds: Sequence[Sequence[str]] = (),
                 dots: Sequence[str] = ()) -> parts.Drawing:
    """A picture of panels. label: of the axes, before and after the words on ratios. shown: the
    figures of each metric. rounds: a block of dots for each panel. dots: their legend."""
    cells = [cell for panel in panels for _, cell in panel.rows]
    base, counts = " ".join(matrix.baseline.values()), [len(panel.rows) for panel in panels]
    widest = max(len(name) for panel in panels for name, _ in panel.rows)
    room = 0.97 * canvas.width - 24 - LETTER * widest
    tops = [top_of(own, extent, room) for extent, own in zip(extents, bars, strict=True)]
    tops = tops if len(set(extents)) > 1 else [max(tops)] * len(tops)
    text = label[0] + f", and the ratio to {base}" * bool(base) + label[1]
    drawn, in_text = lines_of(text, room / LETTER), lines_of(text, TEXT_WIDTH - widest)
    foot = LINE * (len(drawn) - 1)
    around = PANEL_UNITS * len(panels) + foot
    signs = parts.verdict_signs({figures[cell.name].verdict for figures in shown.values()
                                 for cell in cells if cell.name in figures})
    blocks = [[f"# {panel.head}".rstrip(), *(parts.data_line(*bar) for bar in own)]
              for panel, own in zip(panels, bars, strict=True)]
    return parts.Drawing(parts.name_safe(name), "bars", parts.data_text([*blocks, *rounds]), {
        **canvas.titles(ROW_UNITS * sum(counts) + around, headline,
                      parts.note_text(matrix, cells, parts.medians_text(matrix, cells, *shown)),
                      [*signs, *dots], [f"[ ]: {parts.interval_kind(matrix)}", *signs],
                      ROW_LEAST * sum(counts) + around),
        "panels": len(panels), "bars": counts, "rounds": bool(rounds),
        "heads": [panel.head if LETTER * len(panel.head) <= room + 40 else " ".join(
            word.partition("=")[2] for word in panel.head.split()) for panel in panels],
        "tops": tops, "tops_text": [LABEL_ROOM * extent for extent in extents],
        "steps": [parts.step_choose(top, max(2, round(room / TIC_UNITS))) for top in tops],
        "label": "\n".join(drawn), "label_text": "\n".join(in_text), "label_lines": len(in_text),
        "label_foot": foot, "widest": widest})


def top_of(bars: Sequence[Bar], extent: float, room: float) -> float:
    """The end of the axis of a panel, chosen so that each label has room behind bar and whisker.
    room: the length of the axis in units."""
    shares = [(LETTER * len(bar.label) + 14) / room for bar in bars]
    return max([1.02 * extent, *(bar.last / (1 - min(share, 0.9))
                                 for bar, share in zip(bars, shares, strict=True))])
