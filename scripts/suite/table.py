# SPDX-License-Identifier: MIT
"""`uncork table`: a summary as text for a terminal, Markdown, CSV or JSON. Pure: gives strings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from suite import stats
from suite.errors import UsageError, nearest_hint
from suite.frame import Cell, Matrix
from suite.heading import copied_note, heading_pairs
from suite.layout import Column, Group, Item, labelled_lines, markdown_lines, table_lines
from suite.metrics import METRICS, Metric
from suite.summary import Figure, Summary, metrics_default
from suite.units import (Scale, count_text, number_text, percent_text, ratio_text, scale_choose)

ABSENT = "n/a"


@dataclass(frozen=True)
class Layout:
    """rows: axes that name the rows; across: axes spread over columns; metrics: in order."""

    rows: tuple[str, ...]
    across: tuple[str, ...]
    metrics: tuple[str, ...]


def layout_choose(matrix: Matrix, rows: tuple[str, ...], columns: tuple[str, ...]) -> Layout:
    """The layout from the names asked for (empty: the default).

    An axis that varies and is named nowhere becomes a row, so that no cell is hidden; a word that
    does not vary here is left out. UsageError for a name that is neither word nor metric.
    """
    known = set(matrix.axes).union(*(cell.words for cell in matrix.cells.values()))
    for name in rows:
        if name not in known:
            raise UsageError(f'rows: no word "{name}" in this result{nearest_hint(name, known)}')
    for name in columns:
        if name not in known and name not in METRICS:
            hint = nearest_hint(name, [*METRICS, *matrix.axes])
            raise UsageError(f'columns: "{name}" is neither a metric nor a word here{hint}')
    metrics = tuple(name for name in columns if name in METRICS) or metrics_default(matrix)
    across = tuple(name for name in columns if name in matrix.axes)
    named = tuple(name for name in rows if name in matrix.axes and name not in across)
    rest = tuple(axis for axis in matrix.axes if axis not in across and axis not in named)
    return Layout(named + rest, across, metrics)


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
    """What a footnote says about a cell; empty if all of its runs are good and did what it says."""
    reasons = "; ".join(cell.reasons)
    if cell.status == "ok" and cell.runs_failed:
        return f"{cell.runs_failed} of {cell.runs_ok + cell.runs_failed} runs failed: {reasons}"
    return copied_note(cell) if cell.status == "ok" else f"{cell.status}: {reasons}"


def value_item(cell: Cell | None, figure: Figure | None, metric: Metric, scale: Scale,
               notes: Footnotes, first: bool) -> Item:
    """The median of a cell in the column's unit, or why there is none.

    That some runs of a cell failed is said in the first metric's column only.
    """
    if cell is None:
        return Item("")
    note = cell_note(cell)
    mark = notes.mark(note) if note and (cell.status != "ok" or first) else ""
    if cell.status != "ok":
        return Item("failed" if cell.status == "failed" else "-", mark)
    if figure is None:
        return Item(ABSENT, mark)
    if metric.counts:
        return Item(count_text(figure.median), mark)
    return Item(number_text(scale.apply(figure.median)), mark)


def width_item(figure: Figure | None) -> Item:
    """The farther end of the interval in percent; `r` where it is only min..max."""
    if figure is None or figure.interval is None or figure.exact or figure.median == 0:
        return Item("")
    text = percent_text(stats.relative_width(figure.median, figure.interval))
    return Item(text, "" if figure.interval.level else " r")


def ratio_item(figure: Figure | None, is_base: bool) -> Item:
    """The measured ratio to the baseline: `~` contains 1, `?` has too few rounds to say."""
    if figure is None or (figure.ratio is None and not is_base):
        return Item("")
    if figure.ratio is None:
        return Item("base")
    interval = figure.ratio.interval
    mark = "?" if interval is None else "~" if interval.contains(1.0) else ""
    return Item(ratio_text(figure.ratio.value), mark)


def published_item(figure: Figure | None) -> Item:
    """The published ratio to the published baseline."""
    if figure is None or figure.published_ratio is None:
        return Item("")
    return Item(ratio_text(figure.published_ratio))


def ratio_metrics(summary: Summary) -> set[str]:
    """The metrics with a ratio column: the first that is no count, and all that have one published.

    Empty where there is no baseline to compare with.
    """
    if len(summary.matrix.cells) < 2 or not summary.baseline:
        return set()
    chosen = {metric.name for metric in summary.metrics if not metric.counts
              and not any(m.counts is False for m in
                          summary.metrics[:summary.metrics.index(metric)])}
    return chosen | {name for figures in summary.figures.values()
                     for name, figure in figures.items() if figure.published_ratio is not None}


def scales_choose(summary: Summary) -> dict[str, Scale]:
    """One unit for each metric, for the whole table."""
    return {metric.name: scale_choose(
        (figures[metric.name].median for figures in summary.figures.values()
         if metric.name in figures), metric.unit) for metric in summary.metrics}


def group_build(summary: Summary, cells: list[Cell | None], metric: Metric, title: str,
                notes: Footnotes) -> Group:
    """The columns of one metric: median, +/-, ratio to the baseline, published ratio."""
    scale = scales_choose(summary)[metric.name]
    figures = [summary.figures[cell.name].get(metric.name) if cell else None for cell in cells]
    pairs = list(zip(cells, figures, strict=True))
    first = metric is summary.metrics[0]
    columns = [Column(scale.unit, tuple(value_item(cell, figure, metric, scale, notes, first)
                                        for cell, figure in pairs))]
    widths = tuple(width_item(figure) for figure in figures)
    if any(item.text for item in widths):
        columns.append(Column("+/-", widths))
    if metric.name in ratio_metrics(summary):
        ratios = tuple(ratio_item(figure, cell is not None and is_baseline(summary, cell))
                       for cell, figure in pairs)
        if any(figure is not None and figure.ratio is not None for figure in figures):
            columns.append(Column(f"vs {' '.join(summary.baseline.values())}", ratios))
        published = tuple(map(published_item, figures))
        if any(item.text for item in published):
            columns.append(Column("published", published))
    return Group(title, tuple(columns))


def is_baseline(summary: Summary, cell: Cell) -> bool:
    """Whether other cells are compared with this one."""
    return all(cell.axes[key] == value for key, value in summary.baseline.items())


def axis_values(cells: Iterable[Cell], axes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The combinations of the axes' values that occur, axis by axis in the plan's order."""
    cells = list(cells)
    found = {tuple(cell.axes[axis] for axis in axes) for cell in cells}
    orders = [list(dict.fromkeys(cell.axes[axis] for cell in cells)) for axis in axes]
    return [values for values in product(*orders) if values in found]


def columns_build(summary: Summary, layout: Layout,
                  notes: Footnotes) -> tuple[list[Column], list[Group], list[int]]:
    """Key columns, groups, and the rows before which the outermost of several axes changes."""
    cells = list(summary.matrix.cells.values())
    rows = axis_values(cells, layout.rows)
    place = {(tuple(cell.axes[a] for a in layout.rows), tuple(cell.axes[a] for a in layout.across)):
             cell for cell in cells}
    keys = [Column(axis, tuple(Item(row[index] or "none") for row in rows), left=True)
            for index, axis in enumerate(layout.rows)]
    if not layout.rows:
        keys = [Column("", (Item(""),), left=True)]
    groups = []
    for across in axis_values(cells, layout.across):
        for metric in summary.metrics:
            named = " ".join(across)
            both = f"{named} {metric.name}" if named and len(layout.metrics) > 1 else named
            chosen = [place.get((row, across)) for row in rows]
            groups.append(group_build(summary, chosen, metric, both or metric.name, notes))
    breaks = [index for index in range(1, len(rows))
              if len(layout.rows) > 1 and rows[index][0] != rows[index - 1][0]]
    return keys, groups, breaks


def legend_pairs(summary: Summary) -> list[tuple[str, str]]:
    """What the columns and marks mean; only of those that occur."""
    figures = [figure for cell in summary.figures.values() for figure in cell.values()]
    shown = [figure for figure in figures if figure.interval and not figure.exact]
    pairs = []
    if any(figure.interval and figure.interval.level for figure in shown):
        pairs.append(("+/-", "farther end of the 95 % interval of the median (order statistics)"))
    if any(figure.interval and not figure.interval.level for figure in shown):
        pairs.append(("r", f"fewer than {stats.ROUNDS_NEEDED} rounds: not an interval, "
                           "the farther of minimum and maximum"))
    if any(figure.rounds == 1 for figure in figures):
        pairs.append(("", "one round: no interval"))
    ratios = [cell[name].ratio for name in ratio_metrics(summary)
              for cell in summary.figures.values() if name in cell]
    if any(ratios):
        pairs.append(("vs", "ratio to the baseline, round by round (Hodges-Lehmann)"
                      + ("; published: the same ratio of published figures"
                         if any(f.published_ratio is not None for f in figures) else "")))
    if any(r and r.interval and r.interval.contains(1.0) for r in ratios):
        pairs.append(("~", "no change: the 95 % interval of the ratio contains 1"))
    if any(r and r.interval is None for r in ratios):
        pairs.append(("?", f"fewer than {stats.ROUNDS_NEEDED} shared rounds: no interval"))
    return pairs


def foot_pairs(summary: Summary, notes: Footnotes) -> list[tuple[str, str]]:
    """Everything under a table: legend, footnotes, remarks on the result."""
    pairs = legend_pairs(summary) + notes.lines()
    if summary.published_unused:
        pairs.append(("note", "published figures of cells that are not in this result: "
                      + ", ".join(summary.published_unused)))
    return pairs + [("note", note) for note in summary.matrix.result.notes]


def title_text(matrix: Matrix) -> str:
    """The first line: the run and its question."""
    question = matrix.result.scenario.question
    return f"{matrix.result.name}: {question}" if question else matrix.result.name


def table_text(summary: Summary, layout: Layout, width: int) -> str:
    """The table for a terminal of that many columns."""
    notes = Footnotes()
    keys, groups, breaks = columns_build(summary, layout, notes)
    lines = [*labelled_lines([(title_text(summary.matrix), "")], width), ""]
    lines += labelled_lines(heading_pairs(summary, scales_choose(summary)), width)
    lines += ["", *table_lines(keys, groups, width, breaks)]
    foot = labelled_lines(foot_pairs(summary, notes), width)
    return "\n".join(lines + ([""] if foot else []) + foot) + "\n"


def table_markdown(summary: Summary, layout: Layout) -> str:
    """The table with pipes, its heading as a list above and its footnotes below."""
    notes = Footnotes()
    keys, groups, _ = columns_build(summary, layout, notes)
    lines = [f"**{title_text(summary.matrix)}**", ""]
    lines += [f"- {label}: {text}" if label else f"- {text}" for label, text in
              heading_pairs(summary, scales_choose(summary))]
    lines += ["", *markdown_lines(keys, groups)]
    foot = [f"- {label}: {text}" if label else f"- {text}"
            for label, text in foot_pairs(summary, notes)]
    return "\n".join(lines + ([""] if foot else []) + foot) + "\n"


def csv_number(value: float | None) -> str:
    """Ten significant digits; absent is empty."""
    return "" if value is None else f"{value:.10g}"


def table_csv(summary: Summary) -> str:
    """One line per cell: status, the axes that vary, METRIC, METRIC_low, METRIC_high, SI units."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [name for metric in summary.metrics
             for name in (metric.name, f"{metric.name}_low", f"{metric.name}_high")]
    writer.writerow(["status", *summary.matrix.axes, *names])
    for cell in summary.matrix.cells.values():
        row = [cell.status, *cell.axes.values()]
        for metric in summary.metrics:
            figure = summary.figures[cell.name].get(metric.name)
            interval = figure.interval if figure else None
            row += [csv_number(figure.median if figure else None),
                    csv_number(interval.low if interval else None),
                    csv_number(interval.high if interval else None)]
        writer.writerow(row)
    return out.getvalue()


def interval_json(interval: stats.Interval | None) -> dict[str, float | None]:
    """low, high and level (null: only min..max); empty without an interval."""
    if interval is None:
        return {}
    return {"low": interval.low, "high": interval.high, "level": interval.level}


def figure_json(figure: Figure) -> dict[str, Any]:
    """One figure with everything that is known about it."""
    value: dict[str, Any] = {"median": figure.median, **interval_json(figure.interval),
                             "rounds": figure.rounds, "exact": figure.exact}
    if figure.ratio is not None:
        value["ratio"] = {"value": figure.ratio.value, **interval_json(figure.ratio.interval),
                          "pairs": figure.ratio.pairs}
    if figure.published is not None:
        value["published"] = {"value": figure.published.value, "from": figure.published.source,
                              "ratio": figure.published_ratio}
    return value


def cell_json(cell: Cell, figures: Mapping[str, Figure]) -> dict[str, Any]:
    """One cell."""
    value: dict[str, Any] = {"cell": cell.name, "status": cell.status, "axes": dict(cell.axes),
                             "baseline": cell.baseline, "runs_ok": cell.runs_ok,
                             "runs_failed": cell.runs_failed}
    if cell.reasons:
        value["reasons"] = list(cell.reasons)
    return value | {"metrics": {name: figure_json(figure) for name, figure in figures.items()}}


def table_json(summary: Summary) -> str:
    """The whole summary as one JSON object, base units."""
    matrix = summary.matrix
    value = {
        "schema": 1, "result": matrix.result.name, "question": matrix.result.scenario.question,
        "source": matrix.result.scenario.source, "axes": list(matrix.axes),
        "rounds": matrix.rounds, "baseline": dict(summary.baseline),
        "metrics": {m.name: {"unit": m.unit, "better": m.better, "means": m.means,
                             "same_band": summary.bands[m.name]} for m in summary.metrics},
        "cells": [cell_json(cell, summary.figures[cell.name]) for cell in matrix.cells.values()],
        "notes": list(matrix.result.notes),
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
