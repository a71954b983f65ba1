# SPDX-License-Identifier: MIT
"""Text for a terminal: ASCII, no colour, no tabs. Formats that a command can print."""

import pkgutil
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

GAP = "  "


def say(text: str) -> None:
    """Prints one line on standard error; nothing if the text is empty."""
    if text:
        print(f"uncork: {text}", file=sys.stderr, flush=True)


def labelled_lines(pairs: Sequence[tuple[str, str]], width: int, indent: str = "") -> list[str]:
    """`label  text` lines, with the text wrapped beside its label."""
    column = max((len(label) for label, _ in pairs), default=0)
    beside, lines = " " * (len(indent) + column + len(GAP)), []
    for label, text in pairs:
        first = f"{indent}{label.ljust(column)}{GAP}"
        lines += textwrap.wrap(text, max(width, len(beside) + 20), initial_indent=first,
                               subsequent_indent=beside, break_on_hyphens=False,
                               break_long_words=False) or [first.rstrip()]
    return lines


def block(head: str, pairs: Iterable[tuple[str, str]]) -> str:
    """A head, and below it labels with their texts."""
    return "\n".join([head, *labelled_lines([*pairs], terminal_width(100), GAP)])


def terminal_width(most: int = 1000) -> int:
    """Columns of the terminal, 100 without a terminal; at least 40, at most most."""
    return max(min(shutil.get_terminal_size((100, 24)).columns, most), 40)


def listed_text(texts: Sequence[str], separator: str = ", ", most: int = 4) -> str:
    """Texts in a line, with the number of those beyond the first ones."""
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return separator.join([*texts[:most], *more])


class Format(NamedTuple):
    """A format that a command can print. metrics: whether columns= can choose what it shows."""

    module: str
    means: str
    metrics: bool = True

    def render(self, *shown: object) -> str:
        """Calls render() of the module, which is imported now and not for help."""
        return str(pkgutil.resolve_name(f"{self.module}:render")(*shown))
