# SPDX-License-Identifier: MIT
"""The figures of a block: one table for each metric, in one unit. Pure. No figure is empty and only
intervals, `[+1.9%, +4.3%]`, have a blank: `verify` can read a block whose columns moved."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice

from suite.base.units import Scale, scale_choose
from suite.decide.comparison.model import Comparison, Row
from suite.decide.summary import Figure, Summary
from suite.observe.metrics import Metric
from suite.present.columns import median_text, width_item
from suite.present.comparison import wording
from suite.present.comparison.document import scale_of
from suite.present.mail.foot import line_shorten, table_rounds_text
from suite.present.tables.model import ONLY_AXIS, ONLY_CELL, Column, Group, Item, Table

WIDTH = "+/-"
NO_FIGURES = "no figures"  # label of the rows without a figure on either side
SIDES, CHANGE, MEDIAN = ("base", WIDTH, "new", WIDTH), ("change", "95% CI"), ("median", WIDTH)
FIRST = "default"  # the value that comes first on every axis
Texts = tuple[str, ...]


def side_texts(figure: Figure | None, metric: Metric, scale: Scale) -> tuple[str, str]:
    """The median of one side and the width of its interval, without blanks; else NOTHING."""
    if figure is None:
        return wording.NOTHING, wording.NOTHING
    texts = median_text(figure.median, metric, scale), str(width_item(figure))
    median, width = (text.replace(" ", "") or wording.NOTHING for text in texts)
    return median, width


def row_texts(comparison: Comparison, row: Row, metric: Metric, scale: Scale) -> tuple[str, ...]:
    """The figures of one row: both sides, the change and its interval; NOTHING where unknown."""
    return (*(text for figure in comparison.figures(row, metric)
              for text in side_texts(figure, metric, scale)),
            *wording.change_item_texts(row.changes.get(metric.name),
                                       wording.has_factors(comparison, metric)))


def places_order(places: Sequence[tuple[str, ...]]) -> list[int]:
    """The indices of rows in the order of the plan, but `default` first. places: their values."""
    known = [list(dict.fromkeys([FIRST, *values])) for values in zip(*places, strict=True)]
    return sorted(range(len(places)), key=lambda index: [
        values.index(value) for values, value in zip(known, places[index], strict=True)])


def columns_make(heads: Sequence[str], rows: Sequence[Sequence[str]], left: bool = False
                 ) -> tuple[Column, ...]:
    return tuple(Column(head, tuple(Item(row[place]) for row in rows), left)
                 for place, head in enumerate(heads))


def table_make(title: str, axes: tuple[str, ...], groups: Sequence[Texts],
               rows: Sequence[tuple[Mapping[str, str], Texts]], total: Texts | None,
               rounds: str) -> Table:
    """A table of rows (words of the axes, figures). total: a label, then the figures below the last
    columns. rounds: the line below. A further line names the rows without figures."""
    places = [tuple(words.get(axis) or "none" for axis in axes) or (ONLY_CELL,)
              for words, _ in rows]
    ordered = places_order(places)
    order = [index for index in ordered if set(rows[index][1]) != {wording.NOTHING}]
    empty = ", ".join(" ".join(places[index]) for index in ordered if index not in order)
    keys, figures = [places[index] for index in order], [rows[index][1] for index in order]
    axes = axes or (ONLY_AXIS,)
    if total:
        keys.append((total[0], *[""] * (len(axes) - 1)))
        figures.append((*[""] * (sum(map(len, groups)) - len(total) + 1), *total[1:]))
    columns = iter(columns_make(list(chain(*groups)), figures))
    return Table(columns_make(axes, keys, left=True),
                 tuple(Group("", tuple(islice(columns, len(heads)))) for heads in groups), title,
                 foot=int(total is not None), below=rounds,
                 remark=f"{NO_FIGURES}: {empty}" if empty else "")


def comparison_tables(comparison: Comparison) -> list[Table]:
    tables = []
    for metric in filter(comparison.is_known, comparison.metrics):
        scale, mean = scale_of(comparison, metric), comparison.geomeans.get(metric.name)
        rows = [(row.axes, row_texts(comparison, row, metric, scale)) for row in comparison.rows]
        total = (wording.mean_size(comparison, mean), *wording.mean_item_texts(
            mean, wording.has_factors(comparison, metric))) if mean else None
        tables.append(table_make(
            wording.metric_title(metric, scale.unit), comparison.axes, (SIDES, CHANGE), rows,
            total, line_shorten(wording.rounds_text(comparison, metric))))
    return tables


def cells_tables(summary: Summary, axes: tuple[str, ...], cells: Sequence[str]) -> list[Table]:
    """A table of medians for each metric that any of these cells has. cells: their names."""
    tables = []
    for metric in summary.metrics:
        figures = {name: summary.figures[name].get(metric.name) for name in cells}
        known = [figure for figure in figures.values() if figure]
        if not known:
            continue
        scale = scale_choose((figure.median for figure in known), metric.unit)
        rows = [(summary.matrix.cells[name].axes, side_texts(figure, metric, scale))
                for name, figure in figures.items()]
        tables.append(table_make(
            wording.metric_title(metric, scale.unit), axes, (MEDIAN,), rows, None,
            table_rounds_text(known, summary.same[metric.name].values(), metric)))
    return tables
