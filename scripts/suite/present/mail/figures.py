# SPDX-License-Identifier: MIT
"""The figures of a block: one table for each metric, in one unit. Pure. No figure is empty and only
intervals, `[+1.9%, +4.3%]`, have a blank: `verify` can read a block whose columns moved."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from suite.base.units import Scale, scale_choose
from suite.decide.comparison.model import Comparison
from suite.decide.summary import Figure, Summary
from suite.observe.metrics import Metric
from suite.present.columns import median_text, width_item
from suite.present.comparison import wording
from suite.present.comparison.document import key_columns, row_add, scale_of
from suite.present.mail.foot import line_shorten, table_rounds_text
from suite.present.tables.model import Column, Group, Item, Table

WIDTH = "+/-"
NO_FIGURES = "no figures"  # label of the rows without a figure on either side
FIRST = "default"  # the value that comes first on every axis
Columns = tuple[Column, ...]


def figure_columns(head: str, figures: Sequence[Figure | None], metric: Metric, scale: Scale
                   ) -> Columns:
    """The medians of one side and the widths of their intervals, without blanks."""
    medians = [median_text(figure.median, metric, scale) if figure else "" for figure in figures]
    return tuple(Column(name, tuple(Item(text.replace(" ", "") or wording.NOTHING)
                                    for text in texts))
                 for name, texts in ((head, medians), (WIDTH, map(str, map(width_item, figures)))))


def places_order(places: Sequence[tuple[str, ...]]) -> list[int]:
    """The indices of rows in the order of the plan, but `default` first. places: their values."""
    known = [list(dict.fromkeys([FIRST, *values])) for values in zip(*places, strict=True)]
    return sorted(range(len(places)), key=lambda index: [
        values.index(value) for values, value in zip(known, places[index], strict=True)])


def table_make(title: str, keys: Columns, groups: Sequence[Columns], rounds: str,
               total: Mapping[str, str] | None = None) -> Table:
    """A table of the rows with a figure; a further line names the others. rounds: the line below.
    total: the texts of a row that sums up, by the head of their column."""
    whole = Table(keys, tuple(Group("", columns) for columns in groups), title)
    places = list(zip(*([item.text for item in key.items] for key in keys), strict=True))
    order = places_order(places)
    empty = [row for row in order if all(column.items[row].text == wording.NOTHING
                                         for columns in groups for column in columns)]
    table = whole.take([row for row in order if row not in empty])
    if total:
        table = replace(table, foot=1, keys=row_add(table.keys, total), groups=tuple(
            replace(group, columns=row_add(group.columns, total)) for group in table.groups))
    names = ", ".join(" ".join(places[row]) for row in empty)
    return replace(table, below=rounds, remark=f"{NO_FIGURES}: {names}" if empty else "")


def comparison_tables(comparison: Comparison) -> list[Table]:
    tables, rows = [], comparison.rows
    for metric in filter(comparison.is_known, comparison.metrics):
        scale, mean = scale_of(comparison, metric), comparison.geomeans.get(metric.name)
        figures = [comparison.figures(row, metric) for row in rows]
        factors = wording.has_factors(comparison, metric)
        changes = [wording.change_item_texts(row.changes.get(metric.name), factors) for row in rows]
        keys = key_columns(comparison.axes, [row.axes for row in rows])
        total = {keys[0].head: wording.mean_size(comparison, mean),
                 **wording.mean_item_texts(mean, factors)} if mean else None
        tables.append(table_make(wording.metric_title(metric, scale.unit), keys, [
            (*figure_columns("base", [base for base, _ in figures], metric, scale),
             *figure_columns("new", [new for _, new in figures], metric, scale)),
            (Column(wording.CHANGE, tuple(Item(text) for text, _ in changes)),
             Column(wording.INTERVAL, tuple(Item(interval) for _, interval in changes)))],
            line_shorten(wording.rounds_text(comparison, metric)), total))
    return tables


def cells_tables(summary: Summary, axes: tuple[str, ...], cells: Sequence[str]) -> list[Table]:
    """A table of medians for each metric that any of these cells has. cells: their names."""
    tables = []
    keys = key_columns(axes, [{axis: summary.matrix.cells[name].axes[axis] for axis in axes}
                              for name in cells])
    for metric in summary.metrics:
        figures = [summary.figures[name].get(metric.name) for name in cells]
        if known := [figure for figure in figures if figure]:
            scale = scale_choose((figure.median for figure in known), metric.unit)
            tables.append(table_make(
                wording.metric_title(metric, scale.unit), keys,
                [figure_columns("median", figures, metric, scale)],
                table_rounds_text(known, summary.same[metric.name].values(), metric)))
    return tables
