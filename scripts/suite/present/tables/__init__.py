# SPDX-License-Identifier: MIT
"""The model of a table and its renderers: each is one file and one line here."""

from suite.base.text import Format, terminal_width
from suite.present.tables.model import Document

TERMINAL = Format("suite.present.tables.terminal", "aligned text")  # without an option
RENDERERS = {
    "md": Format("suite.present.tables.markdown", "Markdown tables"),
    "csv": Format("suite.present.tables.csv", "base units and fractions, one line for each cell"),
    "json": Format("suite.present.tables.json", "everything that is known"),
    "html": Format("suite.present.tables.html", "a page that needs nothing else"),
}


def document_text(document: Document, style: str | None = None) -> str:
    """The document in one of RENDERERS; without a style as text as wide as the terminal."""
    return (RENDERERS[style] if style else TERMINAL).render(document, terminal_width())
