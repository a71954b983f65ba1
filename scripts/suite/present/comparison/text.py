# SPDX-License-Identifier: MIT
"""Comparisons for a terminal of any width: what differs, both sides, a table for each metric.
ASCII, no colour."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from suite.analyse.comparison.model import Comparison
from suite.base.text import labelled_lines
from suite.present.columns import Footnotes
from suite.present.comparison.columns import (
    Figures,
    figures_build,
    foot_pairs,
    measured_pairs,
    sides_pairs,
    title_of,
)
from suite.present.comparison.texts import mean_text, metric_title, rounds_text
from suite.present.layout import Column, Group, groups_split, table_lines


def rows_keep(column: Column, rows: Sequence[int]) -> Column:
    """The column with these rows only."""
    return Column(column.head, tuple(column.items[row] for row in rows), column.left)


def figures_lines(figures: Figures, width: int) -> list[str]:
    """One table; doubts stand under it, for the rows that have any, where there is no room
    beside."""
    keys, groups, doubts = figures.keys, figures.groups, figures.doubts
    if len(groups_split(keys, figures.all_groups, width)) == len(groups_split(keys, groups, width)):
        return table_lines(keys, figures.all_groups, width, figures.breaks)
    rows = [row for row in range(len(keys[0].items))
            if any(column.items[row].text for column in doubts.columns)]
    below = Group("", tuple(rows_keep(column, rows) for column in doubts.columns))
    return [*table_lines(keys, groups, width, figures.breaks), "",
            *table_lines([rows_keep(key, rows) for key in keys], [below], width), ""]


def tables_lines(comparison: Comparison, notes: Footnotes, width: int) -> list[str]:
    """A table for each metric, with its rounds below."""
    lines: list[str] = []
    for metric in comparison.metrics:
        figures = figures_build(comparison, metric, notes)
        if figures:
            table = figures_lines(figures, width)
            below = [rounds_text(comparison, metric), mean_text(comparison, metric)]
            lines += ["", metric_title(metric, figures.unit), *table,
                      *(line for text in below for line in textwrap.wrap(text, width))]
        else:
            lines += ["", f"{metric_title(metric, '')}: no cell knows it"]
    return lines


def render(comparisons: Sequence[Comparison], width: int) -> str:
    """All comparisons; what they share stands once above and once below."""
    notes = Footnotes()
    lines = [*labelled_lines([(title_of(comparisons[0]), "")], width), ""]
    lines += labelled_lines([*sides_pairs(comparisons[0]), *measured_pairs(comparisons[0])], width)
    for index, comparison in enumerate(comparisons):
        lines += ["", *labelled_lines(sides_pairs(comparison), width)] if index else []
        lines += tables_lines(comparison, notes, width)
    foot = foot_pairs(comparisons, notes)
    lines += ["", *labelled_lines(foot, width)] if foot else []
    return "\n".join(line.rstrip() for line in lines) + "\n"
