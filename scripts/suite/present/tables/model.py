# SPDX-License-Identifier: MIT
"""The model of a table: commands and pages build a Document, renderers turn it into text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

Pair = tuple[str | None, str]  # label and text; without a label the text continues the one before
ONLY_AXIS, ONLY_CELL = "cells", "all"  # head and name of the rows if no key tells them apart


@dataclass(frozen=True)
class Item:
    """A figure as text. mark: follows the aligned text: a footnote, `~`."""

    text: str
    mark: str = ""

    def __str__(self) -> str:
        return self.text + self.mark


@dataclass(frozen=True)
class Column:
    """A column. head: a unit or a name. left: it has names, which are aligned left."""

    head: str
    items: tuple[Item, ...]
    left: bool = False

    def take(self, rows: Iterable[int]) -> Column:
        return replace(self, items=tuple(self.items[row] for row in rows))

    @cached_property
    def is_empty(self) -> bool:
        return not any(map(str, self.items))


@dataclass(frozen=True)
class Group:
    """Columns that stay together under one title."""

    title: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Table:
    """Key columns, which name the rows, and groups of figures. All columns have as many rows.

    foot: how many of the last rows sum up the others. below: lines under the table. place: words
    that all rows share, because the table was cut by its first key. A table without columns is its
    title alone.
    """

    keys: tuple[Column, ...] = ()
    groups: tuple[Group, ...] = ()
    title: str = ""
    foot: int = 0
    below: tuple[str, ...] = ()
    place: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.keys, *(column for group in self.groups for column in group.columns))

    @property
    def texts(self) -> set[str]:
        """The titles, heads and figures with their marks, without the keys."""
        return {text for group in self.groups for column in group.columns
                for text in (group.title, column.head, *map(str, column.items))}

    @property
    def rows(self) -> int:
        return len(self.columns[0].items) if self.columns else 0

    @property
    def breaks(self) -> list[int]:
        """The rows at which a key other than the last one changes; none if it always does."""
        outer = list(zip(*(key.items for key in self.keys[:-1]), strict=True))
        found = [row for row in range(1, len(outer)) if outer[row] != outer[row - 1]]
        return found if len(found) < len(outer) - 1 else []

    def take(self, rows: Sequence[int]) -> Table:
        """Only these rows, without the lines under the table."""
        return replace(
            self, keys=tuple(key.take(rows) for key in self.keys), foot=0, below=(),
            groups=tuple(replace(group, columns=tuple(
                column.take(rows) for column in group.columns)) for group in self.groups))


def text_columns(texts: Mapping[str, Iterable[str]], left: bool = False) -> tuple[Column, ...]:
    """Columns of texts without marks, by their heads."""
    return tuple(Column(head, tuple(map(Item, items)), left) for head, items in texts.items())


class Section(NamedTuple):
    """Tables, and the heading that a reader needs to understand them."""

    head: Sequence[Pair]
    tables: Sequence[Table]
    title: str = ""


class Document(NamedTuple):
    """What a command prints: title, answer, sections, foot (meaning of marks, then notes), end.

    commands: what a block for a mail ends with. records: the lines of a CSV, in base units; fields:
    its columns, if not all lines have them. data: everything that is known, as one JSON value.
    """

    title: str
    sections: Sequence[Section]
    foot: Sequence[Pair] = ()
    answer: Sequence[Pair] = ()
    end: Sequence[Pair] = ()
    commands: Sequence[Sequence[str]] = ()
    fields: Sequence[str] = ()
    records: Callable[[], Iterable[Mapping[str, str | float | None]]] = list
    data: Callable[[], Any] = dict
