# SPDX-License-Identifier: MIT
"""Comparisons with pipes: headings as lists above, footnotes as a list below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from suite.analyse.comparison.model import Comparison
from suite.present.columns import Footnotes
from suite.present.comparison.columns import (
    figures_build,
    foot_pairs,
    measured_pairs,
    sides_pairs,
    title_of,
)
from suite.present.comparison.texts import mean_text, metric_title, rounds_text
from suite.present.layout import markdown_lines


def list_lines(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """`- label: text`; what has no label goes on with the label above."""
    lines, last = [], ""
    for label, text in pairs:
        last = label or last
        lines.append(f"- {last}: {text}")
    return lines


def tables_lines(comparison: Comparison, notes: Footnotes) -> list[str]:
    """A table for each metric, with its rounds below."""
    lines: list[str] = []
    for metric in comparison.metrics:
        figures = figures_build(comparison, metric, notes)
        title = f"**{metric_title(metric, figures.unit if figures else '')}**"
        if figures:
            table = markdown_lines(figures.keys, figures.all_groups)
            below = filter(None, [rounds_text(comparison, metric), mean_text(comparison, metric)])
            lines += ["", title, "", *table, *(line for text in below for line in ("", text))]
        else:
            lines += ["", f"{title}: no cell knows it"]
    return lines


def render(comparisons: Sequence[Comparison]) -> str:
    """All comparisons; what they share stands once above and once below."""
    notes = Footnotes()
    lines = [f"**{title_of(comparisons[0])}**", "",
             *list_lines([*sides_pairs(comparisons[0]), *measured_pairs(comparisons[0])])]
    for index, comparison in enumerate(comparisons):
        lines += ["", *list_lines(sides_pairs(comparison))] if index else []
        lines += tables_lines(comparison, notes)
    foot = list_lines(foot_pairs(comparisons, notes))
    return "\n".join([*lines, *([""] if foot else []), *foot]) + "\n"
