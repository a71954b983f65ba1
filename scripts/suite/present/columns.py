# SPDX-License-Identifier: MIT
"""The columns of a table: medians, intervals, ratios, gains and their footnotes. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from suite import stats
from suite.base import units
from suite.base.runner_words import EXACT_ONLY, TARGET
from suite.contrast.contrast import Status, Verdict
from suite.contrast.verdicts import Judged
from suite.decide.optimum import better_ratio, optimum_of
from suite.decide.summary import Figure, Gain, PublishedRatio, Summary, published_sets
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.heading import UNSPLIT_NOTE, uncounted_note
from suite.present.judged import judged_marked, withheld_note
from suite.present.tables.model import Column, Group, Item

Rows = Sequence[Cell | None]  # the cell of each row; None if the plan has no such cell


class Footnotes:
    """Numbers reasons in the order of their first use; equal reasons share a number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """The mark that refers to this text; empty for an empty text."""
        return f" [{self.numbers.setdefault(text, len(self.numbers) + 1)}]" if text else ""

    def lines(self) -> list[tuple[str, str]]:
        return [(f"[{number}]", text) for text, number in self.numbers.items()]


def figure_note(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """Which targets or how many rounds report a metric of a cell; empty if all do."""
    same = (other.name for other in matrix.whole.cells.values() if other.target == cell.target)
    if TARGET in matrix.axes and not any(len(matrix.series(name, metric.name)) for name in same):
        return f"no run of {TARGET}={cell.target} reports it"
    return matrix.coverage_text(cell, metric.name)


def value_item(cell: Cell | None, figure: Figure | None, metric: Metric, scale: units.Scale,
               notes: Footnotes, is_first: bool, note: str = "") -> Item:
    """The median of a cell in the unit of its column, or a text in its place. Footnotes: why runs
    failed or did not run, what differs from the words of the cell, and note, a figure_note().
    is_first: the metric is the first one; only its column has the footnotes of cells that ran."""
    if cell is None:
        return Item("")
    reasons = "; ".join(cell.reasons)
    if cell.status != "ok":
        return Item("failed" if cell.status == "failed" else "-",
                    notes.mark(f"{cell.status}: {reasons}"))
    remark = "; ".join(cell.remarks) if not cell.runs_failed else (
        f"{cell.runs_failed} of {cell.runs_ok + cell.runs_failed} runs failed: {reasons}")
    mark = notes.mark(remark if is_first else "")
    if figure is not None:
        text = median_text(figure.median, metric, scale)
    elif cell.hides(metric):
        text, note = "-", f"{cell.emulated}: {EXACT_ONLY}"
    elif metric.name in cell.unsplit:
        text, note = "", UNSPLIT_NOTE
    else:  # without a note: runs of this kind never have the figure
        text, note = "n/a", uncounted_note(cell) if cell.uncounted and metric.of_records else note
    return Item(text, mark + notes.mark(note))


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


def verdict_item(texts: Sequence[str], judged: Judged) -> Item:
    """A ratio or a gain with its interval and the mark of its verdict: `0.24x`, `0.98x?`,
    `0.98x [0.95, 1.02]~`, `mixed`; `~` alone if not even the direction is certain. texts: of it and
    of the ends of its interval, if it has one."""
    mark = judged_marked("", judged)
    is_undecided = judged.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    if judged.verdict is Verdict.WITHHELD or is_undecided and texts[0][0] in "<>":
        return Item(mark)
    return Item(texts[0], f" {units.interval_text(texts)}".rstrip() + mark)


def ratio_item(figure: Figure | None, is_base: bool = False, better: Metric | None = None) -> Item:
    """The ratio to the baseline with its interval, `0.24x [0.22, 0.27]`; the baseline: `base`.
    better: the metric, to say how many times better the row is."""
    judged = figure.judged if figure else None
    if judged is None or judged.contrast.status is Status.ABSENT:
        return Item("base" if figure and is_base else "")
    if judged.estimate is None:
        return Item(judged_marked("", judged))
    ratio = better_ratio(judged.estimate, better) if better else judged.estimate
    # The interval has no `x`, to save the width of the column.
    one, *ends = units.ratio_texts(*ratio.span, text=partial(units.ratio_text, unit=""))
    return verdict_item([f"{one}x", *ends], judged)


def published_group(summary: Summary, rows: Sequence[Figure | Gain | None], metric: Metric
                    ) -> Group:
    """A column for each set of published figures: their ratios, as the metric has its own. A size
    needs no ratio: unlike a time it holds on every machine."""
    def text(one: PublishedRatio) -> str:
        if metric.unit == "B":
            return units.value_text(one.figure.value, "B")
        if one.ratio is None:
            return ""
        if metric.name == summary.gain_shown:
            return units.change_texts(one.ratio)[0]
        is_inverse = metric.name == summary.best_metric and metric.better == "lower"
        return units.ratio_text(1 / one.ratio if is_inverse else one.ratio)

    texts = [{one.figure.set: text(one) for one in (row.published if row else ())} for row in rows]
    return Group("published", tuple(Column(name, tuple(Item(row.get(name, "")) for row in texts))
                                    for name in published_sets(summary.matrix)))


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
    """The columns of one metric that have a value; published figures have a group of their own.
    head: the values of axes that the table spreads over columns."""
    scale, is_first = scales_choose(summary)[metric.name], metric is summary.metrics[0]
    figures = [summary.figures[cell.name].get(metric.name) if cell else None for cell in cells]
    rows: Sequence[Figure | Gain | None] = figures
    items = [value_item(cell, figure, metric, scale, notes, is_first,
                        figure_note(summary.matrix, cell, metric) if cell else "")
             for cell, figure in zip(cells, figures, strict=True)]
    if metric.name == summary.gain_shown:
        rows = gains = [summary.gains.get(cell.name) if cell else None for cell in cells]
        columns = gain_columns(gains, metric, scale, items)
    else:
        if metric.name == summary.best_metric:
            items = [replace(item, mark=best_mark(summary, cell) + item.mark) if cell else item
                     for item, cell in zip(items, cells, strict=True)]
        columns = [Column(scale.unit, tuple(items)), Column("+/-", tuple(map(width_item, figures))),
                   *ratio_columns(summary, cells, metric, figures, notes)]
    title = head if head and len(summary.metrics) == 1 else f"{head} {metric.name}".strip()
    groups = [Group(title, tuple(columns)), published_group(summary, rows, metric)]
    filled = [replace(group, columns=tuple(one for one in group.columns if not one.is_empty))
              for group in groups]
    return [group for group in filled if group.columns]


def ratio_columns(summary: Summary, cells: Rows, metric: Metric, figures: Sequence[Figure | None],
                  notes: Footnotes) -> list[Column]:
    """The ratio to the baseline, or with best= how many times better a row is. A ratio that is
    withheld has a footnote. Empty if nothing is compared."""
    better = metric if metric.name == summary.best_metric else None
    if not any(figure and figure.judged for figure in figures) or (
            not better and metric.name not in ratio_metrics(summary)):
        return []
    ratios = []
    for cell, figure in zip(cells, figures, strict=True):
        is_base = cell is not None and summary.baseline.items() <= cell.axes.items()
        why = withheld_note(figure.judged, metric) if figure and figure.judged else ""
        item = ratio_item(figure, is_base, better)
        ratios.append(replace(item, mark=item.mark + notes.mark(why)))
    head = (f"times {'faster' if metric.is_speed else 'better'}" if better else
            f"vs {' '.join(summary.baseline.values())}")
    return [Column(head, tuple(ratios))]


def gain_columns(gains: Sequence[Gain | None], metric: Metric, scale: units.Scale,
                 items: Sequence[Item]) -> list[Column]:
    """The columns of gain=: pre, post, the gain, and the gains of the worst and the best round.
    items: value_item() of the rows."""
    factors = any(units.is_factor(*gain.ratio.span) for gain in gains if gain)

    def column(name: str, item: Callable[[Gain], Item]) -> Column:
        return Column(name, tuple(item(gain) if gain else Item("") for gain in gains))

    def round_item(gain: float | None) -> Item:
        return Item("" if gain is None else units.change_texts(1 + gain)[0])

    post = [Item(median_text(gain.post, metric, scale), item.mark) if gain else item
            for gain, item in zip(gains, items, strict=True)]
    return [column(f"pre {scale.unit}".rstrip(),
                   lambda gain: Item(median_text(gain.pre, metric, scale))),
            Column("post", tuple(post)),
            column("gain", lambda gain: verdict_item(
                units.change_texts(*gain.ratio.span, factors=factors), gain.judged)),
            column("worst", lambda gain: round_item(gain.worst)),
            column("best", lambda gain: round_item(gain.best))]


def axis_names(summary: Summary, words: Mapping[str, str]) -> dict[str, str]:
    """The names of values of axes in a row or a head. A baseline whose gain is shown has `(A/A)`:
    its row compares its two runs."""
    names = {axis: value or "none" for axis, value in words.items()}
    base = [axis for axis in words if axis in summary.baseline]
    if summary.gains and base and all(words[axis] == summary.baseline[axis] for axis in base):
        names[base[-1]] += " (A/A)"
    return names
