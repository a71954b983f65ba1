# SPDX-License-Identifier: MIT
"""What stands in the columns of a table: medians, intervals, ratios, gains, footnotes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from suite import stats
from suite.analyse.frame import Cell, Matrix, unreported_text
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.analyse.metrics import Metric
from suite.analyse.optimum import better_ratio, is_speed, optimum_of
from suite.analyse.summary import Figure, Gain, PublishedRatio, Summary, published_sets
from suite.analyse.verdicts import Verdict
from suite.base.units import (
    Scale,
    beyond_text,
    change_text,
    count_text,
    number_text,
    percent_text,
    ratio_text,
    scale_choose,
)
from suite.present.heading import UNSPLIT_NOTE, uncounted_note
from suite.present.tables.model import Column, Group, Item

ABSENT = "n/a"
SAME = " (A/A)"  # after the name of a baseline whose second run stands beside its first
Rows = Sequence[Cell | None]  # the cell of each row, None where there is none


class Footnotes:
    """Numbers reasons in the order in which they are met; equal reasons share a number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """The mark that refers to text."""
        if text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]"

    def lines(self) -> list[tuple[str, str]]:
        """All footnotes, numbered."""
        return [(f"[{number}]", text) for number, text in enumerate(self.texts, start=1)]


def cell_note(cell: Cell) -> str:
    """The footnote of a cell: why runs failed or did not run, what runs did otherwise than the
    words say; empty where there is nothing."""
    reasons = "; ".join(cell.reasons)
    if cell.status == "ok" and cell.runs_failed:
        return f"{cell.runs_failed} of {cell.runs_ok + cell.runs_failed} runs failed: {reasons}"
    return "; ".join(cell.remarks) if cell.status == "ok" else f"{cell.status}: {reasons}"


def value_item(cell: Cell | None, figure: Figure | None, metric: Metric, scale: Scale,
               notes: Footnotes, first: bool, why: str = "") -> Item:
    """The median of a cell in the unit of its column, or why there is none. why: the rounds in
    which the figure is known. first: the column of the first metric, which alone has the note about
    failed runs."""
    if cell is None:
        return Item("")
    note = cell_note(cell)
    mark = notes.mark(note) if note and (cell.status != "ok" or first) else ""
    if cell.status != "ok":
        return Item("failed" if cell.status == "failed" else "-", mark)
    if figure is None:
        return Item(*absent_parts(cell, metric, mark, notes, why))
    return Item(median_text(figure.median, metric, scale), mark + (notes.mark(why) if why else ""))


def figure_note(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """In which rounds or on which targets a metric of a cell is known; empty where it is known in
    all."""
    return unreported_text(matrix, cell, metric.name) or matrix.coverage_text(cell, metric.name)


def is_hidden(cell: Cell, metric: Metric) -> bool:
    """Whether a figure is hidden because the cell was emulated, so that its times mean nothing."""
    return bool(cell.emulated) and metric.timed


def absent_parts(cell: Cell, metric: Metric, mark: str, notes: Footnotes,
                 why: str) -> tuple[str, str]:
    """(text, mark) in place of a figure that good runs do not have."""
    if is_hidden(cell, metric):
        return "-", mark + notes.mark(f"{FUNCTIONAL_ONLY}: {cell.emulated}")
    if metric.name in cell.unsplit:
        return "", mark + notes.mark(UNSPLIT_NOTE)
    note = uncounted_note(cell) if is_uncounted(cell, metric) else why
    return ABSENT, mark + (notes.mark(note) if note else "")


def is_uncounted(cell: Cell, metric: Metric) -> bool:
    """Whether a metric is absent because the security layer does not count its records."""
    return bool(cell.uncounted) and metric.of_records


def is_undefined(summary: Summary, cell: Cell, metric: Metric) -> bool:
    """Whether good runs have no such figure by their nature, so that `n/a` needs its legend."""
    return (cell.runs_ok > 0 and metric.name not in summary.figures[cell.name]
            and metric.name not in cell.unsplit
            and not is_uncounted(cell, metric) and not is_hidden(cell, metric)
            and not figure_note(summary.matrix, cell, metric))


def median_text(value: float, metric: Metric, scale: Scale) -> str:
    """A median in the unit of its column; `> 200` where only that bound is known."""
    return count_text(value) if metric.counts else beyond_text(value,
                                                               number_text(scale.apply(value)))


def width_item(figure: Figure | None) -> Item:
    """The farther end of the interval in percent, `r` where it is only min..max; empty for a median
    that is a bound."""
    if figure is None or figure.interval is None or figure.median == 0 or isinstance(figure.median,
        stats.Beyond):
        return Item("")
    text = beyond_text(figure.interval.high,
                       percent_text(stats.relative_width(figure.median, figure.interval)))
    return Item(text, "" if figure.interval.level else " r")


def verdict_item(text: str, verdict: Verdict | None) -> Item:
    """A ratio or a gain with the mark of its verdict: `0.24x`, `(0.24x)`, `0.98x~`, `0.98x?`, or
    `~` alone for an uncertain direction."""
    if verdict is Verdict.SAME and text[0] in "<>":
        return Item(verdict.value)
    if verdict is Verdict.BRACKETED:
        return Item(f"({text})")
    return Item(text, verdict.value if verdict in (Verdict.SAME, Verdict.UNKNOWN) else "")


def ratio_item(figure: Figure | None, is_base: bool) -> Item:
    """The ratio to the baseline; `base` for the baseline itself."""
    if figure is None or figure.ratio is None:
        return Item("base" if figure and is_base else "")
    return verdict_item(ratio_text(figure.ratio.value), figure.verdict)


def published_ratio(ratios: Sequence[PublishedRatio], published_set: str) -> float | None:
    """The ratio that one set of published figures has for a cell; None without one."""
    return next((one.ratio for one in ratios if one.figure.set == published_set), None)


def published_items(summary: Summary, rows: Sequence[Sequence[PublishedRatio]],
                    text: Callable[[float], str]) -> dict[str, tuple[Item, ...]]:
    """By set of published figures, the ratios of all rows; sets without any ratio are left out."""
    found = {}
    for name in published_sets(summary.matrix):
        ratios = [published_ratio(row, name) for row in rows]
        if any(ratio is not None for ratio in ratios):
            found[name] = tuple(Item("" if ratio is None else text(ratio)) for ratio in ratios)
    return found


def published_name(published_set: str) -> str:
    """The head of the column of a set of published figures."""
    return f"published {published_set}".rstrip()


def ratio_metrics(summary: Summary) -> set[str]:
    """The metrics with a ratio column: the first that is not a count, and those with a published
    ratio. Empty without a baseline. The metric of gains has a gain instead, the metric of best= how
    many times better."""
    if len(summary.matrix.whole.cells) < 2 or not summary.baseline:
        return set()
    first = next(({metric.name} for metric in summary.metrics if not metric.counts), set())
    quoted = {name for figures in summary.figures.values() for name, figure in figures.items()
              if any(quote.ratio is not None for quote in figure.published)}
    return (first | quoted) - {summary.gain_shown, summary.leading}


def scales_choose(summary: Summary) -> dict[str, Scale]:
    """One unit for each metric, for the whole table."""
    return {metric.name: scale_choose(
        (figures[metric.name].median for figures in summary.figures.values()
         if metric.name in figures), metric.unit) for metric in summary.metrics}


def value_column(summary: Summary, cells: Rows, metric: Metric, scale: Scale, notes: Footnotes
                 ) -> Column:
    """The medians of one metric."""
    first = metric is summary.metrics[0]
    items = [value_item(cell, figure_of(summary, cell, metric), metric, scale, notes, first,
                        figure_note(summary.matrix, cell, metric) if cell else "")
                        for cell in cells]
    if metric.name == summary.leading:
        items = [replace(item, mark=best_mark(summary, cell) + item.mark) if cell else item
                 for item, cell in zip(items, cells, strict=True)]
    return Column(scale.unit, tuple(items))


def best_mark(summary: Summary, cell: Cell) -> str:
    """The mark of a cell in its group; empty where it has no figure."""
    optimum = optimum_of(summary.optima, cell)
    return optimum.marks.get(cell.axes[summary.best or ""], "") if optimum else ""


def groups_build(summary: Summary, cells: Rows, metric: Metric, head: str, notes: Footnotes
                 ) -> list[Group]:
    """The columns of one metric. head: the cells of these columns, where the table spreads an axis
    over its columns."""
    scale = scales_choose(summary)[metric.name]
    values = value_column(summary, cells, metric, scale, notes)
    if metric.name == summary.gain_shown:
        return gain_groups(summary, cells, metric, values, head)
    title = head if head and len(summary.metrics) == 1 else f"{head} {metric.name}".strip()
    groups = [Group(title, tuple(median_columns(summary, cells, metric, values)))]
    return groups + (better_groups(summary, cells, metric) if metric.name == summary.leading
                     else [])


def better_groups(summary: Summary, cells: Rows, metric: Metric) -> list[Group]:
    """How many times better than its baseline each row is, with the interval, and published
    ratios."""
    figures = [figure_of(summary, cell, metric) for cell in cells]
    ratios = [better_ratio(figure.ratio, metric) if figure and figure.ratio else None
              for figure in figures]
    if not any(ratios):
        return []
    turned = metric.better == "lower"
    items = tuple(verdict_item(ratio_text(ratio.value), figure.verdict) if ratio and figure else
                  Item("base" if cell and figure and is_baseline(summary, cell) else "")
                  for ratio, cell, figure in zip(ratios, cells, figures, strict=True))
    columns = [Column("", items)]
    if any(ratio and ratio.interval for ratio in ratios):
        columns.append(Column("95 % interval",
                              tuple(Item(times_interval(ratio)) for ratio in ratios)))
    quoted = [figure.published if figure else () for figure in figures]
    published = published_items(summary, quoted,
                                lambda ratio: ratio_text(1 / ratio if turned else ratio))
    columns += [Column(published_name(name), found) for name, found in published.items()]
    word = "faster" if is_speed(metric) else "better"
    return [Group(f"times {word} than {' '.join(summary.baseline.values())}", tuple(columns))]


def times_interval(ratio: stats.Estimate | None) -> str:
    """`[1.21x, 1.34x]`; empty without an interval."""
    if ratio is None or ratio.interval is None or ratio.directed:
        return ""
    return f"[{ratio_text(ratio.interval.low)}, {ratio_text(ratio.interval.high)}]"


def median_columns(summary: Summary, cells: Rows, metric: Metric, values: Column) -> list[Column]:
    """Median, +/-, ratio to the baseline, published ratios."""
    figures = [figure_of(summary, cell, metric) for cell in cells]
    columns = [values]
    widths = tuple(map(width_item, figures))
    if any(item.text for item in widths):
        columns.append(Column("+/-", widths))
    if metric.name in ratio_metrics(summary):
        if any(figure is not None and figure.ratio is not None for figure in figures):
            columns.append(Column(f"vs {' '.join(summary.baseline.values())}", tuple(
                ratio_item(figure, cell is not None and is_baseline(summary, cell))
                for cell, figure in zip(cells, figures, strict=True))))
        quoted = [figure.published if figure else () for figure in figures]
        columns += [Column(published_name(name), items)
                    for name, items in published_items(summary, quoted, ratio_text).items()]
    return columns


def gain_groups(summary: Summary, cells: Rows, metric: Metric, values: Column, head: str
                ) -> list[Group]:
    """pre, post and the gain with its interval; the worst and the best round; published gains."""
    scale = scales_choose(summary)[metric.name]
    gains = [summary.gains.get(cell.name) if cell else None for cell in cells]

    def column(name: str, text: Callable[[Gain], str]) -> Column:
        return Column(name, tuple(Item(text(gain) if gain else "") for gain in gains))

    post = tuple(Item(median_text(gain.post, metric, scale), item.mark) if gain else item
                 for gain, item in zip(gains, values.items, strict=True))
    average = tuple(verdict_item(change_text(gain.ratio.value - 1), gain.verdict) if gain
                    else Item("")
                    for gain in gains)
    published = published_items(summary, [gain.published if gain else () for gain in gains],
                                lambda ratio: change_text(ratio - 1))
    groups = {
        metric.name: [
            column(f"pre {scale.unit}".rstrip(), lambda gain: median_text(gain.pre, metric, scale)),
            Column("post", post), Column("gain", average), column("95 % interval", gain_interval)],
        "gain in a round": [column("worst", lambda gain: round_gain_text(gain.worst)),
                            column("best", lambda gain: round_gain_text(gain.best))] if any(
                                gain and gain.worst is not None for gain in gains) else [],
        "published gain": [Column(name, items) for name, items in published.items()]}
    return [Group(f"{head} {title}".lstrip(), tuple(columns))
            for title, columns in groups.items() if columns]


def round_gain_text(gain: float | None) -> str:
    """The gain of a single round; empty where no round is shared."""
    return "" if gain is None else change_text(gain)


def gain_interval(gain: Gain) -> str:
    """The interval of a gain; empty where there are too few rounds."""
    interval = gain.ratio.interval
    if interval is None or gain.ratio.directed:
        return ""
    return f"[{change_text(interval.low - 1)}, {change_text(interval.high - 1)}]"


def figure_of(summary: Summary, cell: Cell | None, metric: Metric) -> Figure | None:
    """The figure of a row, if it has one."""
    return summary.figures[cell.name].get(metric.name) if cell else None


def is_baseline(summary: Summary, cell: Cell) -> bool:
    """Whether a cell is the baseline of others."""
    return all(cell.axes[key] == value for key, value in summary.baseline.items())


def axis_names(summary: Summary, axes: Sequence[str], values: Sequence[str]) -> list[str]:
    """The values that name a row or a column; where gains are shown, the baseline has SAME behind
    its name."""
    names = [value or "none" for value in values]
    base = [axis for axis in axes if axis in summary.baseline]
    place = dict(zip(axes, values, strict=True))
    if summary.gains and base and all(place[axis] == summary.baseline[axis] for axis in base):
        names[list(axes).index(base[-1])] += SAME
    return names
