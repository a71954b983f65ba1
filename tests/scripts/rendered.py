# SPDX-License-Identifier: MIT
"""Tables and comparisons as each renderer writes them."""

from __future__ import annotations

from collections.abc import Sequence

from suite.decide.comparison.model import Comparison
from suite.decide.summary import Summary
from suite.observe.selection import Layout
from suite.present import table
from suite.present.comparison import document
from suite.present.tables import RENDERERS, TERMINAL


def table_rendered(name: str, summary: Summary, layout: Layout | None = None) -> str:
    """A summary as the renderer of that name writes it."""
    usual = Layout(summary.matrix.axes, (), tuple(metric.name for metric in summary.metrics))
    return RENDERERS[name].render(table.result_document(summary, layout or usual), 100)


def table_text(summary: Summary, layout: Layout, width: int) -> str:
    """A summary on a terminal of that width."""
    return TERMINAL.render(table.result_document(summary, layout), width)


def compared_rendered(name: str, comparisons: Sequence[Comparison]) -> str:
    """Comparisons as the renderer of that name writes them."""
    return RENDERERS[name].render(document.comparison_document(comparisons), 100)


def compared_text(comparisons: Sequence[Comparison], width: int) -> str:
    """Comparisons on a terminal of that width."""
    return TERMINAL.render(document.comparison_document(comparisons), width)
