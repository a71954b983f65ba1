# SPDX-License-Identifier: MIT
"""Tables as aligned text or as Markdown, from columns of strings. ASCII, no colour, no tabs."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from suite.base.text import GAP

TITLE_WIDTH = 12


@dataclass(frozen=True)
class Item:
    """One cell of a column; the mark (a footnote, a `~`) stands after the aligned text."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column with a one-line head; numbers stand right, names left."""

    head: str
    items: tuple[Item, ...]
    left: bool = False

    @cached_property
    def mark_width(self) -> int:
        """Characters kept free for marks."""
        return max((len(item.mark) for item in self.items), default=0)

    @cached_property
    def width(self) -> int:
        """Characters of the column, marks included."""
        texts = max((len(item.text) for item in self.items), default=0)
        return max(texts + self.mark_width, len(self.head))

    def line(self, row: int) -> str:
        """The cell of one row, padded to the width."""
        item = self.items[row]
        if self.left:
            return (item.text + item.mark).ljust(self.width)
        return item.text.rjust(self.width - self.mark_width) + item.mark.ljust(self.mark_width)

    def head_line(self) -> str:
        """The head, padded to the width."""
        if self.left:
            return self.head.ljust(self.width)
        return self.head.rjust(self.width - self.mark_width).ljust(self.width)


@dataclass(frozen=True)
class Group:
    """Columns that stay together under one title, wrapped at its underscores and blanks."""

    title: str
    columns: tuple[Column, ...]

    @cached_property
    def own_width(self) -> int:
        """Characters of the columns alone."""
        return sum(column.width for column in self.columns) + len(GAP) * (len(self.columns) - 1)

    @cached_property
    def width(self) -> int:
        """Characters of the group: its columns', and room for its title.

        That is the longest word, and up to TITLE_WIDTH what makes two lines of the title.
        """
        title = self.title.replace("_", " ")
        wide = max([self.own_width, *map(len, title.split())])
        while wide < TITLE_WIDTH and len(textwrap.wrap(title, wide)) > 2:
            wide += 1
        return wide

    def title_lines(self) -> list[str]:
        """The title in as many lines as it needs."""
        return textwrap.wrap(self.title.replace("_", " "), self.width) or [""]

    def pad(self, line: str) -> str:
        """A line of the columns, moved right where the title is wider than they are."""
        return line.rjust(self.width)


def groups_split(keys: Sequence[Column], groups: Sequence[Group], width: int) -> list[list[Group]]:
    """The groups in blocks that fit beside the keys in width; at least one group a block."""
    used_by_keys = sum(column.width + len(GAP) for column in keys) - len(GAP)
    blocks: list[list[Group]] = []
    room = -1
    for group in groups:
        needed = group.width + len(GAP)
        if not blocks or needed > room:
            blocks.append([])
            room = width - used_by_keys
        blocks[-1].append(group)
        room -= needed
    return blocks


def block_lines(keys: Sequence[Column], groups: Sequence[Group],
                breaks: Collection[int]) -> list[str]:
    """One block: titles, heads, a rule, rows; a blank line before each row in breaks."""
    margin = [" " * column.width for column in keys]
    titles = [group.title_lines() for group in groups]
    height = max(map(len, titles)) if any(group.title for group in groups) else 0
    lines = []
    for level in range(height):
        parts = []
        for group, title in zip(groups, titles, strict=True):
            index = level - (height - len(title))
            text = title[index] if index >= 0 else ""
            narrow = len(group.columns) == 1
            parts.append(text.rjust(group.width) if narrow else text.ljust(group.width))
        lines.append(GAP.join([*margin, *parts]))
    heads = [group.pad(GAP.join(column.head_line() for column in group.columns))
             for group in groups]
    lines.append(GAP.join([*(column.head_line() for column in keys), *heads]))
    lines.append("-" * max(max(map(len, lines)), 4))
    for row in range(len(keys[0].items)):
        if row in breaks:
            lines.append("")
        cells = [group.pad(GAP.join(column.line(row) for column in group.columns))
                 for group in groups]
        lines.append(GAP.join([*(column.line(row) for column in keys), *cells]))
    return [line.rstrip() for line in lines]


def table_lines(keys: Sequence[Column], groups: Sequence[Group], width: int,
                breaks: Collection[int] = ()) -> list[str]:
    """The whole table; what does not fit in width follows as another block under the first."""
    lines: list[str] = []
    for block in groups_split(keys, groups, width):
        lines += ([""] if lines else []) + block_lines(keys, block, breaks)
    return lines


def markdown_escape(text: str) -> str:
    """Text that does not end a cell of a pipe table."""
    return text.replace("|", "\\|")


def markdown_lines(keys: Sequence[Column], groups: Sequence[Group]) -> list[str]:
    """The table with pipes: one head line `title head`, names left, numbers right."""
    columns = [(column.head, column) for column in keys]
    for group in groups:
        for index, column in enumerate(group.columns):
            unit = f" ({column.head})" if column.head else ""
            columns.append((group.title + unit if group.title and index == 0 else column.head,
                            column))
    lines = ["| " + " | ".join(markdown_escape(head) for head, _ in columns) + " |"]
    lines.append("|" + "|".join(":---" if c.left else "---:" for _, c in columns) + "|")
    for row in range(len(keys[0].items)):
        items = [column.items[row] for _, column in columns]
        texts = [markdown_escape(item.text + item.mark).strip() for item in items]
        lines.append("| " + " | ".join(texts) + " |")
    return lines
