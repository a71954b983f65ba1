# SPDX-License-Identifier: MIT
"""One model of a table, and what it is written as: a renderer is one file and one line here.

    model      Item, Column, Group, Table, Section, Document
    terminal, markdown, csv, json, html    from a document to text: render(document, width)
    mail       blocks for mailing lists and commit messages, by the rules that these have

Without the name of a renderer a command prints for the terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from suite.present.tables import csv, html, json, markdown, terminal
from suite.present.tables.model import Document


@dataclass(frozen=True)
class Renderer:
    """render: from a document and the columns of the terminal to text. means: for the help."""

    render: Callable[[Document, int], str]
    means: str


TERMINAL = terminal.render
RENDERERS = {
    "md": Renderer(markdown.render, "Markdown tables"),
    "csv": Renderer(csv.render, "base units and fractions, one line for each cell"),
    "json": Renderer(json.render, "everything that is known"),
    "html": Renderer(html.render, "a page that needs nothing else"),
}
