# SPDX-License-Identifier: MIT
"""Text for a terminal: labels with wrapped text beside them, ASCII, no colour, no tabs; formats."""

import importlib
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import NamedTuple

GAP = "  "


def say(text: str) -> None:
    """One line on standard error, for the person who waits; nothing where the text is empty."""
    if text:
        print(f"uncork: {text}", file=sys.stderr, flush=True)


def labelled_lines(pairs: Sequence[tuple[str, str]], width: int, indent: str = "",
                   longest: int | None = None) -> list[str]:
    """`label  text` lines, the text wrapped beside its label; a label of more than longest
    characters has a line of its own."""
    column = max((len(label) for label, _ in pairs if not longest or len(label) <= longest),
                 default=0)
    beside, lines = " " * (len(indent) + column + len(GAP)), []
    for label, text in pairs:
        first = f"{indent}{label.ljust(column)}{GAP}"
        if len(label) > column:
            lines.append(f"{indent}{label}")
            first = beside
        lines += textwrap.wrap(text, max(width, len(beside) + 20), initial_indent=first,
                               subsequent_indent=beside, break_on_hyphens=False,
                               break_long_words=False) or [first.rstrip()]
    return lines


def terminal_width(most: int = 1000) -> int:
    """Columns of the terminal, 100 where there is none, from 40 to most."""
    return max(min(shutil.get_terminal_size((100, 24)).columns, most), 40)


class Format(NamedTuple):
    """A format that a command can print. module: has render(), which gives the text. means: for the
    help. metrics: whether it shows the metrics that are asked for, or always the same."""

    module: str
    means: str
    metrics: bool = True

    @property
    def render(self) -> Callable[..., str]:
        """The function of the module, which is imported now: help needs none."""
        render: Callable[..., str] = importlib.import_module(self.module).render
        return render
