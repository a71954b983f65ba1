# SPDX-License-Identifier: MIT
"""Text for a terminal: labels with wrapped text beside them. ASCII, no colour, no tabs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from suite.present.layout import GAP


def labelled_lines(pairs: Sequence[tuple[str, str]], width: int, indent: str = "") -> list[str]:
    """`label  text` lines, the text wrapped beside its label."""
    column = max((len(label) for label, _ in pairs), default=0)
    lines = []
    for label, text in pairs:
        first = f"{indent}{label.ljust(column)}{GAP}"
        lines += textwrap.wrap(text, max(width, len(first) + 20), initial_indent=first,
                               subsequent_indent=" " * len(first),
                               break_on_hyphens=False, break_long_words=False) or [first.rstrip()]
    return lines
