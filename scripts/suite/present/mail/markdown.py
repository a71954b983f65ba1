# SPDX-License-Identifier: MIT
"""The style of trackers and of lists that read Markdown: tables with pipes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from suite.present.mail.grid import Grid
from suite.present.mail.plain import is_left
from suite.present.mail.rules import words_wrap

ITEM = "- "


def row(texts: Sequence[str]) -> str:
    """One line of a table."""
    escaped = [text.replace("|", "\\|") for text in texts]
    return "".join(f"| {text} " if text else "| " for text in escaped) + "|"


def table(grid: Grid) -> list[str]:
    """Heads, alignment, the rows and the total, with an empty line on both sides."""
    marks = [":---" if is_left(grid, column) else "---:" for column in range(len(grid.heads))]
    lines = [row(grid.heads), "|" + "|".join(marks) + "|", *map(row, grid.rows)]
    if grid.total:
        label, *figures = grid.total
        lines.append(row([label, *[""] * (len(marks) - 1 - len(figures)), *figures]))
    return ["", *lines, ""]


def labelled(label: str, text: str) -> list[str]:
    """`label: text` as an item of a list."""
    return words_wrap(text, f"{ITEM}{label}: ", " " * len(ITEM))


def title(text: str) -> list[str]:
    """The line that says what a table is of."""
    return ["", f"**{text}**", ""]


def below(lines: Sequence[str]) -> list[str]:
    """Lines under a table as items of a list."""
    return [ITEM + line for line in lines]


def command(lines: Sequence[str]) -> list[str]:
    """A command in a fence."""
    return ["", "```sh", *lines, "```"]
