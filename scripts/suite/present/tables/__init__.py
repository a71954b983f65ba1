# SPDX-License-Identifier: MIT
"""One model of a table, and what it is written as: a renderer is one file and one line here.

Without the name of a renderer a command prints for the terminal.
"""

from suite.base.text import Format

TERMINAL = Format("suite.present.tables.terminal", "aligned text")
RENDERERS = {
    "md": Format("suite.present.tables.markdown", "Markdown tables"),
    "csv": Format("suite.present.tables.csv", "base units and fractions, one line for each cell"),
    "json": Format("suite.present.tables.json", "everything that is known"),
    "html": Format("suite.present.tables.html", "a page that needs nothing else"),
}
