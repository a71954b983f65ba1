# SPDX-License-Identifier: MIT
"""Bars: one for each cell, in panels by the outer axis. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from suite import stats
from suite.base.units import Scale, ratio_text, scale_choose
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.columns import median_text, verdict_item
from suite.present.pictures import parts
from suite.present.pictures.canvas import LETTER, LINE, Canvas, Sign, canvas_of, lines_of
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


class Bar(NamedTuple):
    """A cell as a bar. dots: of each round its value in the unit of the picture, and an offset."""

    name: str
    cell: Cell
    figure: Figure | None
    dots: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """The bars under one heading. place: the values of the outer axes. A bar longer than limit is
    cut; bars, whiskers and dots are drawn up to extent. scaled() sets both."""

    head: str
    metric: Metric
    scale: Scale
    bars: Sequence[Bar]
    place: tuple[str, ...] = ()
    limit: float = 0.0
    extent: float = 0.0

    def length(self, bar: Bar) -> float:
        return self.scale.apply(bar.figure.median) if bar.figure else 0.0

    def length_cut(self, bar: Bar) -> float:
        return min(self.length(bar), 1.1 * self.limit)

    @property
    def own_limit(self) -> float:
        """The longest bar that is not cut on a scale of its own; 1 for an empty panel."""
        lengths = [self.length(bar) for bar in self.bars if bar.figure]
        middle = stats.median([length for length in lengths if length > 0] or [1.0])
        return max((length for length in lengths if 0 < length <= CUT_MEDIANS * middle),
                   default=middle)

    def scaled(self, limit: float) -> "Panel":
        """The panel extends to the end of the longest whisker, at most to twice the limit."""
        panel = replace(self, limit=limit)
        ends = [end for bar in self.bars for end in panel.whisker(bar)]
        return replace(panel, extent=min(max([*ends, 1.1 * limit]), 2 * limit))

    def whisker(self, bar: Bar) -> tuple[float, ...]:
        """Both ends of the interval; empty without one, and for a bar that is cut."""
        if bar.figure is None or self.length(bar) > self.limit:
            return ()
        return tuple(map(self.scale.apply, parts.interval_ends(bar.figure.interval)))

    def dots(self, bar: Bar, beyond: bool = False) -> list[tuple[float, float]]:
        """The dots of a bar on the axis, or beyond it; none of a bar that is cut."""
        return [dot for dot in bar.dots
                if self.length(bar) <= self.limit and (dot[0] > self.extent) == beyond]

    def label(self, bar: Bar) -> str:
        """The text at the end of a bar. It says what does not fit on the axis."""
        figure = bar.figure
        if figure is None and bar.cell.hides(self.metric):
            return f"- ({bar.cell.emulated})"
        if figure is None:
            return {"unsupported": "- (unsupported)", "failed": "failed",
                    "missing": "not run"}.get(bar.cell.status, "n/a")
        text = median_text(figure.median, self.metric, self.scale)
        text += "" if self.metric.counts else f" {self.scale.unit}"
        if figure.ratio and figure.judged:
            text += f", {verdict_item([ratio_text(figure.ratio.value)], figure.judged)}"
        if self.length(bar) > self.limit:
            text += ", bar cut"
        elif figure.interval and self.scale.apply(figure.interval.high) > self.extent:
            text += f", up to {median_text(figure.interval.high, self.metric, self.scale)}"
        return text

    def last(self, bar: Bar) -> float:
        """Where bar, whisker and dots end."""
        ends = [*self.whisker(bar), *(value for value, _ in self.dots(bar))]
        return max(self.length_cut(bar), *(min(end, self.extent) for end in ends), 0.0)

    def line(self, row: int, bar: Bar, colour: int) -> parts.Row:
        """The line of a .dat. A bar that is cut or ends at a bound has a sign at `end`."""
        length = self.length_cut(bar)
        low, high = self.whisker(bar) or (None, None)
        end, sign = (1.03 * self.limit, "//") if self.length(bar) > self.limit else (0.0, "")
        if bar.figure and isinstance(bar.figure.median, stats.Beyond):
            end, sign = 0.96 * length, BOUND_ARROW
        return (row, length, low, high and min(high, self.extent), self.last(bar), colour, end,
                sign, self.label(bar), bar.name)

    def top(self, room: float) -> float:
        """The end of the axis, chosen so that each label has room behind bar and whisker. room: the
        length of the axis in units."""
        shares = [min((LETTER * len(self.label(bar)) + 14) / room, 0.9) for bar in self.bars]
        return max([1.02 * self.extent, *(self.last(bar) / (1 - share)
                                          for bar, share in zip(self.bars, shares, strict=True))])


def bars_inside(matrix: Matrix, x: str | None, most: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """The axes of the bars: x, or all but the first; and the name of each bar by its cell, of at
    most so many characters."""
    inner = (x,) if x else matrix.axes[1:] or matrix.axes
    words = [{axis: cell.axes[axis] for axis in inner} for cell in matrix.cells.values()]
    names = [name or matrix.result.name for name in parts.words_names(words, most)]
    return inner, dict(zip(matrix.cells, names, strict=True))


def panels_group(panels: Sequence[Panel]) -> list[list[Panel]]:
    """The panels of each picture. Where the first of several outer axes changes, another picture
    begins, unless that makes more pictures."""
    def fill(some: Iterable[Panel]) -> list[list[Panel]]:
        return parts.groups_fill(some, lambda panel: len(panel.bars), BARS_MAX)

    apart = [group for _, same in groupby(panels, key=lambda panel: panel.place[:-1][:1])
             for group in fill(same)]
    filled = fill(panels)
    return apart if len(apart) <= len(filled) else filled


def panels_scale(panels: Sequence[Panel]) -> list[Panel]:
    """All panels get one scale if their limits differ by a factor of at most 2."""
    limits = [panel.own_limit for panel in panels]
    if max(limits) > 2 * min(limits):
        return [panel.scaled(panel.own_limit) for panel in panels]
    scaled = [panel.scaled(max(limits)) for panel in panels]
    return [replace(panel, extent=max(one.extent for one in scaled)) for panel in scaled]


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    metric, canvas = parts.picture_metric(matrix, picture), canvas_of(picture)
    figures = parts.figures_of(matrix, metric)
    scale = scale_choose((figure.median for figure in figures.values()), metric.unit)
    inner, names = bars_inside(matrix, parts.picture_axis(matrix, picture), canvas.name_most)
    dots = {name: parts.dots_of(matrix, matrix.cells[name], metric, scale)
            for name, figure in figures.items()
            if not figure.exact and parts.rounds_shown(canvas, matrix, 1)}
    groups = panels_group([
        Panel(head, metric, scale, [
            Bar(names[cell.name], cell, figures.get(cell.name), dots.get(cell.name, ()))
            for cell in cells], place)
        for place, head, cells in parts.pictures_divide(matrix, inner)])
    name = parts.picture_name(picture, metric.name)
    headline = parts.headline_text(matrix, parts.what_text(metric.text, scale.unit, metric.better))
    measured = parts.measure_text(metric.text, scale.unit)
    return [bars_drawing(matrix, canvas, name + f"-{number}" * (len(groups) > 1), headline,
                         measured, panels_scale(group))
            for number, group in enumerate(groups, start=1)]


def bars_drawing(matrix: Matrix, canvas: Canvas, name: str, headline: str, measured: str,
                 panels: Sequence[Panel]) -> parts.Drawing:
    """A picture of scaled panels. measured: what all axes show."""
    bars, base = [bar for panel in panels for bar in panel.bars], matrix.baseline
    cells, widest = [bar.cell for bar in bars], max(len(bar.name) for bar in bars)
    room = 0.97 * canvas.width - 34 - LETTER * widest
    tops = [panel.top(room) for panel in panels]
    if len({panel.extent for panel in panels}) == 1:
        tops = [max(tops)] * len(tops)
    text = measured + f", and the ratio to {' '.join(base.values())}" * bool(base)
    if len({panel.limit for panel in panels if panel.place}) > 1:
        text += "; each panel with its own scale"
    drawn, in_text = lines_of(text, room / LETTER), lines_of(text, TEXT_WIDTH - widest)
    foot = LINE * (len(drawn) - 1)
    around = PANEL_UNITS * len(panels) + foot
    rounds = any(bar.dots for bar in bars)
    blocks: list[list[parts.Row]] = [
        [panel.head, *(panel.line(row, bar, bar_colour(bar.cell.axes, base))
                       for row, bar in enumerate(panel.bars))] for panel in panels]
    for panel in panels if rounds else ():
        dots: list[parts.Row] = [
            (value, row + 0.5 * beside) for row, bar in enumerate(panel.bars)
            for value, beside in panel.dots(bar)]
        blocks.append([f"rounds {panel.head}", *(dots or [(None, None)])])
    signs = [Sign("", "[ ]", parts.interval_kind(matrix)),
             *parts.verdict_signs({bar.figure.verdict for bar in bars if bar.figure}),
             *parts.dots_signs(rounds, sum(
                 len(panel.dots(bar, beyond=True)) for panel in panels for bar in panel.bars))]
    note = parts.note_text(matrix, cells, parts.medians_text(
        matrix, cells, *dict.fromkeys(panel.metric for panel in panels)))
    return parts.Drawing(parts.name_safe(name), "bars", parts.data_text(blocks), {
        **canvas.titles(ROW_UNITS * len(bars) + around, ROW_LEAST * len(bars) + around, headline,
                        note, signs),
        "panels": len(panels), "bars": [len(panel.bars) for panel in panels], "rounds": rounds,
        "heads": [panel.head if LETTER * len(panel.head) <= room + 40 else
                  " ".join(panel.place) or panel.head for panel in panels],
        "tops": tops, "tops_text": [LABEL_ROOM * panel.extent for panel in panels],
        "steps": [parts.step_choose(top, max(2, round(room / TIC_UNITS))) for top in tops],
        "label": "\n".join(drawn), "label_text": "\n".join(in_text), "label_lines": len(in_text),
        "label_foot": foot, "widest": widest})


def bar_colour(axes: Mapping[str, str], base: Mapping[str, str]) -> int:
    """The colour of the strategy of these axes. base: the axes of the baseline."""
    place = parts.strategy_place(axes)
    if place is not None:
        return int(parts.COLOURS[place % len(parts.COLOURS)][1:], 16)
    return BASE_COLOUR if base and base.items() <= axes.items() else BAR_COLOUR
