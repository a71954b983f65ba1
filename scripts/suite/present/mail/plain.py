# SPDX-License-Identifier: MIT
"""The style of kernel lists: aligned text. Names stand left, numbers right. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suite.present.mail.grid import Grid
from suite.present.mail.rules import words_wrap

GAP = "  "
LABEL_WIDTH = len("base:")
NUMBER = re.compile(r"\d+(\.\d+)?[KMG]?|default|none")  # what stands right in a column of names


def is_left(grid: Grid, column: int) -> bool:
    """Whether a column has names."""
    return column < len(grid.axes) and not all(NUMBER.fullmatch(row[column]) for row in grid.rows)


def total_line(total: Sequence[str], widths: Sequence[int]) -> str:
    """The label at the left, the figures under the last columns."""
    label, *figures = total
    right = GAP.join(text.rjust(width)
                     for text, width in zip(figures, widths[-len(figures):], strict=True))
    return label.ljust(sum(widths) + len(GAP) * (len(widths) - 1) - len(right)) + right


def table(grid: Grid) -> list[str]:
    """Heads, a rule, the rows and the total."""
    lines = [grid.heads, *grid.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(grid.heads))]
    if grid.total:
        label, *figures = grid.total
        first = len(widths) - len(figures)
        widths[first:] = map(max, widths[first:], map(len, figures))
        room = sum(widths[:first]) + len(GAP) * (first - 1)
        widths[0] += max(len(label) - room, 0)
    left = [is_left(grid, column) for column in range(len(widths))]
    texts = [GAP.join(text.ljust(width) if names else text.rjust(width)
                      for text, width, names in zip(line, widths, left, strict=True)).rstrip()
                      for line in lines]
    total = [total_line(grid.total, widths)] if grid.total else []
    return [texts[0], "-" * max(4, sum(widths) + len(GAP) * (len(widths) - 1)), *texts[1:], *total]


def labelled(label: str, text: str) -> list[str]:
    """`label: text`, wrapped beside its label."""
    first = f"{label}:".ljust(LABEL_WIDTH) + " "
    return words_wrap(text, first, " " * len(first))


def title(text: str) -> list[str]:
    """The line that says what a table is of."""
    return [text]


def below(lines: Sequence[str]) -> list[str]:
    """Lines under a table."""
    return list(lines)


def command(lines: Sequence[str]) -> list[str]:
    """A command."""
    return list(lines)
