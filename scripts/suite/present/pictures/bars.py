# SPDX-License-Identifier: MIT
"""Bars: one for each cell, in panels by the outer axis, or by metric for counts. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import Scale, ratio_text, scale_choose
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import metrics_shown
from suite.present.columns import median_text, verdict_item
from suite.present.pictures import parts
from suite.present.pictures.canvas import COLUMNS, LETTER, Sign, canvas_of
from suite.scenario.scenario import Picture

BAR_COLOUR, BASE_COLOUR = 0x8DA9C4, 0x999999  # for cells without a strategy
BARS_MAX = 36  # bars of a picture; further panels go into another picture
BOUND_ARROW = "\u2192"  # in a bar that ends at a bound
CUT, CUT_SIGN = "//", Sign("//", "//", "bar cut off")
CUT_MEDIANS = 20  # a bar longer than this many medians of its panel may be cut off
HEIGHTS = 26, 17  # of a bar in units: wanted, needed
PANEL_UNITS = 83  # the height of a panel without its bars


class Bar(NamedTuple):
    """A cell as a bar. dots: of each round its value in the unit of the picture, and an offset."""

    name: str
    cell: Cell
    figure: Figure | None
    dots: Sequence[tuple[float, float]] = ()


class Panel(NamedTuple):
    """The bars under one heading. `end` is where the axis of a panel ends."""

    head: str
    metric: Metric
    scale: Scale
    bars: Sequence[Bar]

    def length(self, bar: Bar) -> float:
        return parts.figure_span(bar.figure, self.scale)[0] or 0.0

    @property
    def own_end(self) -> float:
        """The end of the longest whisker, but at most twice the longest bar; bars of more than
        CUT_MEDIANS do not count."""
        known = [bar for bar in self.bars if self.length(bar) > 0]
        middle = stats.median([*map(self.length, known)] or [1.0])
        whole = [bar for bar in known if self.length(bar) <= CUT_MEDIANS * middle]
        longest = max(map(self.length, whole), default=middle)
        highs = (parts.figure_span(bar.figure, self.scale)[2] for bar in whole)
        return min(max([longest, *filter(None, highs)]), 2 * longest)

    def label(self, bar: Bar, end: float) -> str:
        """The figure beside a bar. It says what does not fit on the axis."""
        figure = bar.figure
        if figure is None:
            return parts.absence_text(bar.cell, self.metric.timed)
        text = median_text(figure.median, self.metric, self.scale)
        if figure.ratio and figure.judged:
            text += f", {verdict_item([ratio_text(figure.ratio.value)], figure.judged)}"
        if self.length(bar) > end:
            return f"{text}, {CUT}"
        if figure.interval and self.scale.apply(figure.interval.high) > end:
            text += f", up to {median_text(figure.interval.high, self.metric, self.scale)}"
        return text

    def line(self, row: int, bar: Bar, end: float, base: Mapping[str, str]) -> parts.Row:
        """The line of a .dat. A bar that is cut off or ends at a bound has a sign in it."""
        length = self.length(bar)
        _, low, high = parts.figure_span(bar.figure, self.scale)
        sign = BOUND_ARROW if bar.figure and isinstance(bar.figure.median, stats.Beyond) else ""
        if length > end:
            low, high, sign = None, None, CUT
        return (row, length, low, high, 0.96 * min(length, end), bar_colour(bar.cell.axes, base),
                sign, self.label(bar, end), bar.name)

    def dots(self, end: float) -> list[tuple[float, float]]:
        """(value, row and offset) of each round; none of a bar that is cut off."""
        return [(value, row + 0.5 * beside) for row, bar in enumerate(self.bars)
                if self.length(bar) <= end for value, beside in bar.dots]


def bar_names(matrix: Matrix, inner: Sequence[str], most: int) -> dict[str, str]:
    """The name of each bar by its cell, of at most so many characters. inner: axes of the bars."""
    words = [{axis: cell.axes[axis] for axis in inner} for cell in matrix.cells.values()]
    names = [name or matrix.result.name for name in parts.words_names(words, most)]
    return dict(zip(matrix.cells, names, strict=True))


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    if picture.kind == "counts":
        return counts_draw(matrix, picture)
    metric, canvas = parts.picture_metric(matrix, picture), canvas_of(picture)
    figures = parts.figures_of(matrix, metric)
    scale = scale_choose((figure.median for figure in figures.values()), metric.unit)
    inner = (picture.x,) if picture.x in matrix.axes else matrix.axes[1:] or matrix.axes
    names = bar_names(matrix, inner, canvas.name_most)
    dots = {name: parts.dots_of(matrix, matrix.cells[name], metric, scale)
            for name, figure in figures.items()
            if not figure.exact and parts.rounds_shown(canvas, matrix, 1)}
    panels = [Panel(page.place, metric, scale, [
        Bar(names[cell.name], cell, figures.get(cell.name), dots.get(cell.name, ()))
        for cell in page.cells]) for page in parts.pages_divide(matrix, picture, "", inner)]
    page = parts.page_make(matrix, picture, metric.name, {}, matrix.cells.values())
    what = parts.what_text(metric.text, scale.unit, metric.better)
    return [bars_drawing(part, what, parts.measure_text(metric.text, scale.unit), some)
            for part, some in page.divide(panels, lambda panel: len(panel.bars), BARS_MAX)]


def bars_drawing(page: parts.Page, what: str, measured: str, panels: Sequence[Panel]
                 ) -> parts.Drawing:
    """A picture of these panels, with one scale if theirs differ by a factor of at most 2.
    measured: what all axes show."""
    ends, base = [panel.own_end for panel in panels], page.matrix.baseline
    if max(ends) <= 2 * min(ends):
        ends = [max(ends)] * len(panels)
    scaled = [*zip(panels, ends, strict=True)]
    bars = [bar for panel in panels for bar in panel.bars]
    labels = [panel.label(bar, end) for panel, end in scaled for bar in panel.bars]
    blocks: list[parts.Block] = [
        [panel.head, *(panel.line(row, bar, end, base) for row, bar in enumerate(panel.bars))]
        for panel, end in scaled]
    rounds = any(bar.dots for bar in bars)
    if rounds:
        blocks += [[f"rounds {panel.head}", *panel.dots(end)] for panel, end in scaled]
    signs = [Sign("", "[ ]", parts.interval_kind(page.matrix)),
             *[Sign("x", "x", f"ratio to {' '.join(base.values())}")] * bool(base),
             *[CUT_SIGN] * any(label.endswith(CUT) for label in labels),
             *parts.verdict_signs({bar.figure.verdict for bar in bars if bar.figure}),
             *parts.dots_signs(rounds, sum(value > end for panel, end in scaled
                                           for value, _ in panel.dots(end)))]
    note = page.note(parts.medians_text(page.matrix),
                     *dict.fromkeys(panel.metric for panel in panels))
    return page.drawing("bars", blocks, what, note, signs, HEIGHTS, {
        "panels": len(panels), "bars": [len(panel.bars) for panel in panels], "rounds": rounds,
        "heads": [parts.name_cut(panel.head, min(COLUMNS, round(page.canvas.width / LETTER)))
                  for panel in panels],
        "ends": ends, "label_x": measured, "widest": max(len(bar.name) for bar in bars),
        "value_columns": max(map(len, labels))}, len(bars), PANEL_UNITS * len(panels))


def bar_colour(axes: Mapping[str, str], base: Mapping[str, str]) -> int:
    """The colour of the strategy of these axes. base: the axes of the baseline."""
    place = parts.strategy_place(axes)
    if place is not None:
        return int(parts.COLOURS[place % len(parts.COLOURS)][1:], 16)
    return BASE_COLOUR if base and base.items() <= axes.items() else BAR_COLOUR


def counts_draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """Counts prove that a strategy does what its name says. A picture for each combination of the
    axes other than that of the bars, by default the last; it has a panel for each count of the
    table that any of its cells has."""
    names = metrics_shown(matrix, matrix.result.scenario.table.columns)
    counted = [METRICS[name] for name in names if METRICS[name].counts
               and any(len(matrix.series(cell, name)) for cell in matrix.whole.cells)]
    if not counted:
        raise UsageError("picture: counts: nothing was counted here: none of these is a count "
                         f"with a value: {', '.join(names)}")
    figures = {metric: parts.figures_of(matrix, metric) for metric in counted}
    drawings = []
    inner = parts.axes_inside(matrix, picture)
    names_of = bar_names(matrix, inner, canvas_of(picture).name_most)
    for page in parts.pages_divide(matrix, picture, "", inner):
        panels = [Panel(metric.text, metric, Scale(1.0, ""), [
            Bar(names_of[cell.name], cell, found.get(cell.name)) for cell in page.cells])
            for metric, found in figures.items() if any(cell.name in found for cell in page.cells)]
        if panels:
            drawings.append(bars_drawing(page, "what was counted", "how many", panels))
    return drawings
