# SPDX-License-Identifier: MIT
"""What stands in the columns of a comparison, and what is said above and below them. Pure.

Text and Markdown are made of these. Base units go in, short texts come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from suite import stats
from suite.columns import Footnotes, value_item, width_item
from suite.comparison.model import Change, Comparison, Difference, Row, Side, Verdict
from suite.comparison.refusals import forced
from suite.comparison.texts import (NOTHING, changes_of, difference_text, interval_text, mean_count,
                                    mean_verdict, side_text, verdict_text, within_text)
from suite.comparison.verdicts import is_invented
from suite.frame import Cell
from suite.heading import machine_pairs
from suite.layout import Column, Group, Item
from suite.metrics import Metric
from suite.summary import Figure, figure_build
from suite.table import title_text
from suite.units import Scale, counted_text, percent_text, scale_choose

MEAN = "geomean"
NO_AXIS, ALL = "cells", "all"  # of a comparison whose rows need no name


@dataclass(frozen=True)
class Figures:
    """One metric of a comparison as columns.

    doubts: what would have been found, and outliers; no columns where there is nothing of the kind.
    breaks: rows before which a blank line stands.
    """

    metric: Metric
    unit: str
    keys: tuple[Column, ...]
    groups: tuple[Group, ...]
    doubts: Group
    breaks: tuple[int, ...]

    @property
    def all_groups(self) -> tuple[Group, ...]:
        """All columns beside the keys."""
        return (*self.groups, self.doubts) if self.doubts.columns else self.groups


def scale_of(comparison: Comparison, metric: Metric) -> Scale:
    """One unit for all rows of a metric."""
    return scale_choose((figure.median for change in changes_of(comparison.rows, metric)
                         for figure in (change.base, change.new)), metric.unit)


def side_figure(side: Side, cell: Cell | None, figure: Figure | None, metric: Metric) -> Figure | None:
    """The figure of a change, or, where the other side has none, that of the cell alone."""
    return figure if figure or cell is None else figure_build(side.matrix, cell, metric, None)


def side_columns(comparison: Comparison, metric: Metric, scale: Scale, notes: Footnotes, of: str) -> list[Column]:
    """Median and +/- of one side, `base` or `new`."""
    first, medians, widths = metric is comparison.metrics[0], [], []
    for row in comparison.rows:
        cell, change = getattr(row, of), row.changes.get(metric.name)
        figure = side_figure(getattr(comparison, of), cell, getattr(change, of) if change else None, metric)
        medians.append(value_item(cell, figure, metric, scale, notes, first) if cell else Item(NOTHING))
        widths.append(width_item(figure))
    columns = [Column(of, tuple(medians))]
    return columns + ([Column("+/-", tuple(widths))] if any(item.text for item in widths) else [])


def invented_note(band: float | None) -> str:
    """What is said of a change that is no larger than the A/A band."""
    return f"within the A/A band: two runs of the same differ here by up to {percent_text(band or 0.0)}"


def change_item(change: Change | None, band: float | None, notes: Footnotes) -> Item:
    """A change with its mark, and a footnote where the machine invents as much."""
    if change is None:
        return Item(NOTHING)
    mark = notes.mark(invented_note(band)) if is_invented(change, band) else ""
    return Item(verdict_text(change.ratio, change.verdict), mark)


def change_columns(comparison: Comparison, metric: Metric, notes: Footnotes) -> list[Column]:
    """Changes and their intervals."""
    changes = [row.changes.get(metric.name) for row in comparison.rows]
    band = comparison.bands.get(metric.name)
    return [Column("change", tuple(change_item(change, band, notes) for change in changes)),
            Column("95% CI", tuple(Item(within_text(change) if change else NOTHING) for change in changes))]


def outliers_text(change: Change | None) -> str:
    """`1+0`: outliers of base and new; empty where there are none."""
    return f"{change.outliers[0]}+{change.outliers[1]}" if change and any(change.outliers) else ""


def detectable_text(change: Change | None) -> str:
    """The smallest change that would show, of a `~`."""
    return percent_text(change.detectable) if change and change.detectable is not None else ""


def doubt_columns(comparison: Comparison, metric: Metric) -> list[Column]:
    """What would have been found, and outliers; each only where some row has it."""
    changes = [row.changes.get(metric.name) for row in comparison.rows]
    columns = [Column(head, tuple(Item(text(change)) for change in changes))
               for head, text in (("finds", detectable_text), ("outliers", outliers_text))]
    return [column for column in columns if any(item.text for item in column.items)]


def mean_items(comparison: Comparison, metric: Metric) -> dict[str, Item]:
    """The geometric mean by the heads of the columns in which it stands; empty where there is none."""
    mean = comparison.geomeans.get(metric.name)
    if mean is None:
        return {}
    return {"change": Item(verdict_text(mean, mean_verdict(mean))), "95% CI": Item(interval_text(mean))}


def column_end(column: Column, item: Item) -> Column:
    """The column with one more row."""
    return Column(column.head, (*column.items, item), column.left)


def keys_build(comparison: Comparison) -> list[Column]:
    """The columns that name the rows."""
    if not comparison.axes:
        return [Column(NO_AXIS, (Item(ALL),) * len(comparison.rows), left=True)]
    return [Column(axis, tuple(Item(row.axes[axis] or "none") for row in comparison.rows), left=True)
            for axis in comparison.axes]


def breaks_find(rows: Sequence[Row]) -> list[int]:
    """The rows before which another axis than the last one changes."""
    places = [tuple(row.axes.values())[:-1] for row in rows]
    return [index for index in range(1, len(rows)) if places[index] != places[index - 1]]


def figures_build(comparison: Comparison, metric: Metric, notes: Footnotes) -> Figures | None:
    """One metric as columns; None where no pair of cells knows it on both sides."""
    if not changes_of(comparison.rows, metric):
        return None
    scale, keys, breaks = scale_of(comparison, metric), keys_build(comparison), breaks_find(comparison.rows)
    sides = [column for of in ("base", "new") for column in side_columns(comparison, metric, scale, notes, of)]
    groups = [sides, change_columns(comparison, metric, notes), doubt_columns(comparison, metric)]
    mean = mean_items(comparison, metric)
    if mean:
        keys = [column_end(column, Item("" if index else MEAN)) for index, column in enumerate(keys)]
        groups = [[column_end(column, mean.get(column.head, Item(""))) for column in group] for group in groups]
        breaks += [len(comparison.rows)] if breaks else []
    *shown, doubts = (Group("", tuple(group)) for group in groups)
    return Figures(metric, scale.unit, tuple(keys), tuple(shown), doubts, tuple(breaks))


def side_line(comparison: Comparison, side: Side) -> str:
    """What a side is called, the words that select its cells, and of two results which one it is."""
    if comparison.paired:
        return side_text(side)
    result = side.matrix.result
    where = [str(result.folder), counted_text(len(side.sessions), "session")]
    return "; ".join(filter(None, (side_text(side, [result.name]), *where)))


def differences_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Everything in which the sides differ: what no ratio survives, what is compared, and the rest."""
    across = forced(comparison)
    kinds: dict[str, list[Difference]] = {
        "forced": list(across), "compared": [one for one in comparison.differences if one.declared],
        "differs": [one for one in comparison.differences if not one.declared and one not in across]}
    pairs = [(label if index == 0 else "", difference_text(one))
             for label, found in kinds.items() for index, one in enumerate(found)]
    return pairs or [("differs", "nothing but what is compared" if comparison.paired else "nothing that is known")]


def sides_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Both sides, and first of all what differs between them."""
    return [*differences_pairs(comparison), ("base", side_line(comparison, comparison.base)),
            ("new", side_line(comparison, comparison.new))]


def measured_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Where and how both were measured: once where it is the same."""
    sides = {of: dict(machine_pairs(getattr(comparison, of).matrix)) for of in ("base", "new")}
    pairs = []
    for label in dict.fromkeys([*sides["base"], *sides["new"]]):
        texts = {of: pairs_of[label] for of, pairs_of in sides.items() if label in pairs_of}
        same = len(texts) == 2 and texts["base"] == texts["new"]
        pairs += [(label, texts["base"])] if same else [(f"{label}, {of}", text) for of, text in texts.items()]
    return pairs


def title_of(comparison: Comparison) -> str:
    """The first line: the runs, and their question where it is one."""
    base, new = (side.matrix.result for side in (comparison.base, comparison.new))
    if comparison.paired:
        return title_text(comparison.base.matrix)
    asked = f": {base.scenario.question}" if base.scenario.question == new.scenario.question else ""
    return f"{new.name} against {base.name}{asked}".rstrip(": ")


def marks_pairs(changes: Sequence[Change], paired: bool) -> Iterator[tuple[str, str]]:
    """What the marks mean; only those that occur."""
    verdicts = {change.verdict for change in changes}
    if Verdict.SAME in verdicts:
        yield "~", "no change found: the 95 % interval contains 0"
    if any(change.detectable is not None for change in changes):
        unit = "rounds" if paired else "sessions"
        yield "finds", f"the smallest change that so many {unit} with this noise find in 8 of 10 comparisons"
    if Verdict.BRACKETED in verdicts:
        yield "()", "the interval excludes 0, but among so many cells it may be chance (Benjamini and Hochberg)"
    if any(change.verdict is Verdict.UNKNOWN and change.ratio for change in changes):
        yield "?", (f"fewer than {stats.ROUNDS_NEEDED} shared rounds: no interval" if paired else
                    f"fewer than {stats.SIDES_NEEDED} sessions a side: nothing can be said")
    if any(any(change.outliers) for change in changes):
        yield "outliers", "rounds of base + new that lie far from the others of their cell; they are counted"


def widths_pairs(figures: Iterable[Figure]) -> Iterator[tuple[str, str]]:
    """What stands beside medians; only what occurs."""
    shown = [figure.interval for figure in figures if figure.interval]
    if any(interval.level for interval in shown):
        yield "+/-", "farther end of the 95 % interval of the median (order statistics)"
    if any(not interval.level for interval in shown):
        yield "r", f"fewer than {stats.ROUNDS_NEEDED} values: not an interval, the farther of minimum and maximum"


def hopeless_pairs(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, str]]:
    """The metrics of which no change could survive the correction."""
    for comparison in comparisons:
        for name in comparison.hopeless:
            unit = "rounds" if comparison.paired else "sessions"
            yield "note", (f"{comparison.new.name}: with so few {unit} a change of {name} in so few of "
                           f"{comparison.tested[name]} cells cannot survive the correction: more {unit}, or fewer "
                           "cells, are needed")


def foot_pairs(comparisons: Sequence[Comparison], notes: Footnotes) -> list[tuple[str, str]]:
    """Everything below: marks, footnotes, remarks."""
    changes = [change for one in comparisons for row in one.rows for change in row.changes.values()]
    pairs = list(widths_pairs(figure for change in changes for figure in (change.base, change.new)))
    if any(change.ratio for change in changes):
        how = "round by round (Hodges-Lehmann)" if comparisons[0].paired else "of session medians (Hodges-Lehmann)"
        pairs.append(("change", f"new / base - 1, {how}"))
    pairs += marks_pairs(changes, comparisons[0].paired)
    means = [(one, metric) for one in comparisons for metric in one.metrics if one.geomeans.get(metric.name)]
    if means:
        whole = all(mean_count(one, metric) == len(one.rows) for one, metric in means)
        pairs.append((MEAN, "geometric mean of new / base over all rows"
                      + ("" if whole else " with a ratio, without exact counts")))
    pairs += notes.lines()
    pairs += hopeless_pairs(comparisons)
    return pairs + [("note", note) for note in dict.fromkeys(note for one in comparisons for note in one.notes)]
