# SPDX-License-Identifier: MIT
"""The columns of a table: medians, intervals, ratios, gains and their footnotes. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from suite import stats
from suite.base import units
from suite.base.runner_words import EXACT_ONLY, TARGET
from suite.contrast.contrast import Status, Verdict
from suite.contrast.verdicts import Judged
from suite.decide.optimum import better_ratio, optimum_of
from suite.decide.summary import Figure, Gain, Summary, published_sets
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.heading import UNSPLIT_NOTE, uncounted_note
from suite.present.judged import judged_marked, withheld_note
from suite.present.tables.model import Column, Group, Item

ABSENT = "n/a"
SAME = " (A/A)"  # follows the name of a baseline whose row compares its two runs
Rows = Sequence[Cell | None]  # the cell of each row; None if the plan has no such cell


class Footnotes:
    """Numbers reasons in the order of their first use; equal reasons share a number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """The mark that refers to this text; empty for an empty text."""
        if text and text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]" if text else ""

    def lines(self) -> list[tuple[str, str]]:
        return [(f"[{number}]", text) for number, text in enumerate(self.texts, start=1)]


def cell_note(cell: Cell) -> str:
    """The footnote of a cell: why runs failed or did not run, else what differs from its words."""
    reasons = "; ".join(cell.reasons)
    if cell.status == "ok" and cell.runs_failed:
        return f"{cell.runs_failed} of {cell.runs_ok + cell.runs_failed} runs failed: {reasons}"
    return "; ".join(cell.remarks) if cell.status == "ok" else f"{cell.status}: {reasons}"


def value_item(cell: Cell | None, figure: Figure | None, metric: Metric, scale: units.Scale,
               notes: Footnotes, is_first: bool, note: str = "") -> Item:
    """The median of a cell in the unit of its column, or a text in its place. note: figure_note().
    is_first: the metric is the first one; only its column has the footnotes of cells that ran."""
    if cell is None:
        return Item("")
    mark = notes.mark(cell_note(cell)) if cell.status != "ok" or is_first else ""
    if cell.status != "ok":
        return Item("failed" if cell.status == "failed" else "-", mark)
    text, note = absence(cell, metric, note) if figure is None else (
        median_text(figure.median, metric, scale), note)
    return Item(text, mark + notes.mark(note))


def figure_note(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """Which targets or how many rounds report a metric of a cell; empty if all do."""
    key = ("targets", metric.name)
    if key not in matrix.memo:
        matrix.memo[key] = {other.target for other in matrix.whole.cells.values()
                            if len(matrix.series(other.name, metric.name))}
    if matrix.memo[key] and cell.target not in matrix.memo[key]:
        return f"no run of {TARGET}={cell.target} reports it"
    return matrix.coverage_text(cell, metric.name)


def absence(cell: Cell, metric: Metric, note: str) -> tuple[str, str]:
    """(text, reason) in place of a figure that good runs do not have. note: figure_note(). ABSENT
    without a reason means that runs of this kind never have the figure."""
    if cell.hides(metric):
        return "-", f"{cell.emulated}: {EXACT_ONLY}"
    if metric.name in cell.unsplit:
        return "", UNSPLIT_NOTE
    return ABSENT, uncounted_note(cell) if cell.uncounted and metric.of_records else note


def is_undefined(summary: Summary, cell: Cell, metric: Metric) -> bool:
    """Whether a cell shows `n/a` without a footnote, which then needs a line in the legend."""
    return cell.runs_ok > 0 and metric.name not in summary.figures[cell.name] and absence(
        cell, metric, figure_note(summary.matrix, cell, metric)) == (ABSENT, "")


def median_text(value: float, metric: Metric, scale: units.Scale) -> str:
    """A median in the unit of its column; `> 200` if only a bound is known."""
    return units.count_text(value) if metric.counts else units.beyond_text(
        value, units.number_text(scale.apply(value)))


def width_item(figure: Figure | None) -> Item:
    """The farther end of the interval in percent, with `r` for min..max; empty for a bound."""
    if figure is None or figure.interval is None or figure.median == 0 or isinstance(
            figure.median, stats.Beyond):
        return Item("")
    width = stats.relative_width(figure.median, figure.interval)
    text = units.beyond_text(figure.interval.high, units.percent_text(width))
    return Item(text, "" if figure.interval.level else " r")


def verdict_item(text: str, judged: Judged, interval: str = "") -> Item:
    """A ratio or a gain with its interval and the mark of its verdict: `0.24x`, `0.98x~`,
    `0.98x [0.95, 1.02]~`, `0.98x?`, `mixed`; `~` alone if not even the direction is certain."""
    if judged.verdict is Verdict.UNKNOWN:
        return Item(text, "?")
    if judged.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT) and text[0] not in "<>":
        return Item(text, interval + judged_marked("", judged))
    return Item(judged_marked(text, judged),
                "" if judged.verdict is Verdict.WITHHELD else interval)


def ratio_item(figure: Figure | None, is_base: bool, note: str) -> Item:
    """The ratio to the baseline with its interval, `0.24x [0.22, 0.27]`; the baseline: `base`.
    note: the mark of the footnote that says why a ratio is withheld."""
    judged = figure.judged if figure else None
    if judged is None or judged.contrast.status is Status.ABSENT:
        return Item("base" if figure and is_base else "")
    if judged.estimate is None:
        return Item(judged_marked("", judged), note)
    # The interval has no `x`, to save the width of the column.
    bare = units.ratio_texts(*judged.estimate.span, text=partial(units.ratio_text, unit=""))
    item = verdict_item(f"{bare[0]}x", judged, f" {units.interval_text(bare)}".rstrip())
    return replace(item, mark=item.mark + note)


def published_columns(summary: Summary, rows: Sequence[Figure | Gain | None],
                      text: Callable[[float], str], head: Callable[[str], str]) -> list[Column]:
    """A column for each set of published figures with a ratio here. head: of a set, by its name."""
    def item(row: Figure | Gain | None, name: str) -> Item:
        ratios = (one.ratio for one in (row.published if row else ()) if one.figure.set == name)
        return Item(next((text(ratio) for ratio in ratios if ratio is not None), ""))

    columns = [Column(head(name), tuple(item(row, name) for row in rows))
               for name in published_sets(summary.matrix)]
    return [column for column in columns if not column.is_empty]


def published_name(published_set: str) -> str:
    return f"published {published_set}".rstrip()


def ratio_metrics(summary: Summary) -> set[str]:
    """The metrics with a ratio column: the first one that is no count, and those with a published
    ratio. Empty without a baseline. The metrics of gain= and best= have columns of their own."""
    if len(summary.matrix.whole.cells) < 2 or not summary.baseline:
        return set()
    first = next(({metric.name} for metric in summary.metrics if not metric.counts), set())
    quoted = {name for figures in summary.figures.values() for name, figure in figures.items()
              if any(quote.ratio is not None for quote in figure.published)}
    return (first | quoted) - {summary.gain_shown, summary.best_metric}


def scales_choose(summary: Summary) -> dict[str, units.Scale]:
    return {metric.name: units.scale_choose(
        (figures[metric.name].median for figures in summary.figures.values()
         if metric.name in figures), metric.unit) for metric in summary.metrics}


def best_mark(summary: Summary, cell: Cell) -> str:
    """The mark of a cell among the values that best= compares; empty without a figure."""
    optimum = optimum_of(summary.optima, cell)
    return optimum.marks.get(cell.axes[optimum.axis], "") if optimum else ""


def groups_build(summary: Summary, cells: Rows, metric: Metric, head: str, notes: Footnotes
                 ) -> list[Group]:
    """The columns of one metric. head: the values of axes that the table spreads over columns."""
    scale, is_first = scales_choose(summary)[metric.name], metric is summary.metrics[0]
    figures = [summary.figures[cell.name].get(metric.name) if cell else None for cell in cells]
    items = [value_item(cell, figure, metric, scale, notes, is_first,
                        figure_note(summary.matrix, cell, metric) if cell else "")
             for cell, figure in zip(cells, figures, strict=True)]
    if metric.name == summary.gain_shown:
        return gain_groups(summary, cells, metric, scale, items, head)
    is_leading = metric.name == summary.best_metric
    if is_leading:
        items = [replace(item, mark=best_mark(summary, cell) + item.mark) if cell else item
                 for item, cell in zip(items, cells, strict=True)]
    title = head if head and len(summary.metrics) == 1 else f"{head} {metric.name}".strip()
    columns = [Column(scale.unit, tuple(items)),
               *ratio_columns(summary, cells, metric, figures, notes)]
    return [Group(title, tuple(columns)),
            *(better_groups(summary, cells, metric, figures) if is_leading else [])]


def better_groups(summary: Summary, cells: Rows, metric: Metric, figures: Sequence[Figure | None]
                  ) -> list[Group]:
    """The columns of best=: how many times better than its baseline a row is, published ratios."""
    texts = [units.ratio_texts(*better_ratio(figure.ratio, metric).span)
             if figure and figure.ratio else [] for figure in figures]
    if not any(texts):
        return []
    times = [verdict_item(text[0], figure.judged) if text and figure and figure.judged else
             Item("base" if figure and is_base(summary, cell) else "")
             for text, cell, figure in zip(texts, cells, figures, strict=True)]
    intervals = Column("95 % interval", tuple(Item(units.interval_text(text)) for text in texts))
    columns = [Column("", tuple(times)), *([] if intervals.is_empty else [intervals]),
               *published_columns(summary, figures, lambda ratio: units.ratio_text(
                   1 / ratio if metric.better == "lower" else ratio), published_name)]
    word = "faster" if metric.is_speed else "better"
    return [Group(f"times {word} than {' '.join(summary.baseline.values())}", tuple(columns))]


def is_base(summary: Summary, cell: Cell | None) -> bool:
    return cell is not None and summary.baseline.items() <= cell.axes.items()


def ratio_columns(summary: Summary, cells: Rows, metric: Metric, figures: Sequence[Figure | None],
                  notes: Footnotes) -> list[Column]:
    """+/-, the ratio to the baseline and published ratios; only columns that have a value."""
    widths = Column("+/-", tuple(map(width_item, figures)))
    columns = [] if widths.is_empty else [widths]
    if metric.name not in ratio_metrics(summary):
        return columns
    if any(figure and figure.judged for figure in figures):
        why = [notes.mark(withheld_note(figure.judged, metric)) if figure and figure.judged else ""
               for figure in figures]
        columns.append(Column(f"vs {' '.join(summary.baseline.values())}", tuple(
            ratio_item(figure, is_base(summary, cell), note)
            for cell, figure, note in zip(cells, figures, why, strict=True))))
    return columns + published_columns(summary, figures, units.ratio_text, published_name)


def gain_groups(summary: Summary, cells: Rows, metric: Metric, scale: units.Scale,
                items: Sequence[Item], head: str) -> list[Group]:
    """The columns of gain=: pre, post, the gain and its interval; the worst and the best round;
    published gains. items: value_item() of the rows."""
    gains = [summary.gains.get(cell.name) if cell else None for cell in cells]
    factors = any(units.is_factor(*gain.ratio.span) for gain in gains if gain)
    texts = {id(gain): units.change_texts(*gain.ratio.span, factors=factors)
             for gain in gains if gain}

    def column(name: str, item: Callable[[Gain], Item]) -> Column:
        return Column(name, tuple(item(gain) if gain else Item("") for gain in gains))

    post = tuple(Item(median_text(gain.post, metric, scale), item.mark) if gain else item
                 for gain, item in zip(gains, items, strict=True))
    worst = column("worst", lambda gain: Item(round_gain_text(gain.worst)))
    groups = {
        metric.name: [
            column(f"pre {scale.unit}".rstrip(),
                   lambda gain: Item(median_text(gain.pre, metric, scale))),
            Column("post", post),
            column("gain", lambda gain: verdict_item(texts[id(gain)][0], gain.judged)),
            column("95 % interval", lambda gain: Item(units.interval_text(texts[id(gain)])))],
        "gain in a round": [] if worst.is_empty else [
            worst, column("best", lambda gain: Item(round_gain_text(gain.best)))],
        "published gain": published_columns(
            summary, gains, lambda ratio: units.change_texts(ratio)[0], str)}
    return [Group(f"{head} {title}".lstrip(), tuple(columns))
            for title, columns in groups.items() if columns]


def round_gain_text(gain: float | None) -> str:
    return "" if gain is None else units.change_texts(1 + gain)[0]


def axis_names(summary: Summary, axes: Sequence[str], values: Sequence[str]) -> list[str]:
    """The names of values of axes in a row or a head. A baseline whose gain is shown has SAME."""
    names = [value or "none" for value in values]
    base = [axis for axis in axes if axis in summary.baseline]
    place = dict(zip(axes, values, strict=True))
    if summary.gains and base and all(place[axis] == summary.baseline[axis] for axis in base):
        names[list(axes).index(base[-1])] += SAME
    return names
