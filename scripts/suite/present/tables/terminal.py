# SPDX-License-Identifier: MIT
"""A document for a terminal of any width. ASCII, no colour, no tabs."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from suite.base.text import GAP, labelled_lines
from suite.present.tables.model import Column, Document, Group, Pair, Table

TITLE_WIDTH = 12


def column_texts(column: Column) -> list[str]:
    """The head and the items, padded to one width; marks do not disturb the alignment of texts."""
    marks = max((len(item.mark) for item in column.items), default=0)
    texts = max((len(item.text) for item in column.items), default=0)
    width = max(texts + marks, len(column.head))
    if column.left:
        return [text.ljust(width) for text in [column.head, *map(str, column.items)]]
    return [column.head.rjust(width - marks).ljust(width),
            *(item.text.rjust(width - marks) + item.mark.ljust(marks) for item in column.items)]


def column_width(column: Column) -> int:
    return len(column_texts(column)[0])


def group_width(group: Group) -> int:
    """The width of a group: that of its columns, or what its title needs. A title needs its longest
    word; up to TITLE_WIDTH a group grows until the title has two lines."""
    title = group.title.replace("_", " ")
    own = sum(map(column_width, group.columns)) + len(GAP) * (len(group.columns) - 1)
    wide = max([own, *map(len, title.split())])
    while wide < TITLE_WIDTH and len(textwrap.wrap(title, wide)) > 2:
        wide += 1
    return wide


def group_texts(group: Group) -> list[str]:
    """The heads and rows of a group, aligned right below a wider title."""
    columns = [column_texts(column) for column in group.columns]
    return [GAP.join(texts).rjust(group_width(group)) for texts in zip(*columns, strict=True)]


def title_lines(group: Group, height: int) -> list[str]:
    """The title, wrapped at underscores and blanks; empty lines above it fill the height."""
    width = group_width(group)
    lines = textwrap.wrap(group.title.replace("_", " "), width)
    lines = [""] * (height - len(lines)) + lines
    return [line.rjust(width) if len(group.columns) == 1 else line.ljust(width) for line in lines]


def groups_split(table: Table, width: int) -> list[list[Group]]:
    """The groups in blocks, each of which fits in the width beside the keys or has one group."""
    beside = width - sum(column_width(key) + len(GAP) for key in table.keys) + len(GAP)
    blocks: list[list[Group]] = []
    for group in table.groups:
        if blocks and sum(group_width(one) + len(GAP) for one in (*blocks[-1], group)) <= beside:
            blocks[-1].append(group)
        else:
            blocks.append([group])
    return blocks


def groups_lines(table: Table, groups: Sequence[Group]) -> list[str]:
    """One block: titles, heads, a rule, rows. A blank line precedes each row in breaks."""
    keys = [column_texts(key) for key in table.keys]
    lines = [GAP.join(texts) for texts in zip(*keys, *map(group_texts, groups), strict=True)]
    height = max((len(title_lines(group, 0)) for group in groups), default=0)
    margin = [[" " * len(texts[0])] * height for texts in keys]
    titles = [title_lines(group, height) for group in groups]
    heads = [*(GAP.join(texts) for texts in zip(*margin, *titles, strict=True)), lines[0]]
    rule = "-" * max(max(map(len, heads)), 4)
    rows = [line for row, text in enumerate(lines[1:])
            for line in (["", text] if row in table.breaks else [text])]
    return [line.rstrip() for line in [*heads, rule, *rows]]


def blocks_lines(table: Table, width: int) -> list[str]:
    """The whole table; columns beyond the width follow in further blocks."""
    return [line for block in groups_split(table, width)
            for line in ["", *groups_lines(table, block)]][1:]


def table_lines(table: Table, width: int) -> list[str]:
    """The whole table. Optional groups stand below it if they would need a further block."""
    optional = tuple(group for group in table.groups if group.optional)
    fixed = replace(table, groups=tuple(group for group in table.groups if not group.optional))
    if len(groups_split(table, width)) == len(groups_split(fixed, width)):
        return blocks_lines(table, width)
    rows = [row for row in range(table.rows)
            if any(column.items[row].text for group in optional for column in group.columns)]
    below = replace(table, groups=optional).take(rows)
    return [*blocks_lines(fixed, width), "", *blocks_lines(below, width), ""]


def pairs_lines(pairs: Sequence[Pair], width: int) -> list[str]:
    return labelled_lines([(label or "", text) for label, text in pairs], width)


def titled_lines(table: Table, width: int) -> list[str]:
    if table.missing:
        return [f"{table.title}: {table.missing}"]
    below = [line for text in (table.below, table.remark) for line in textwrap.wrap(text, width)]
    return [*([table.title] if table.title else []), *table_lines(table, width), *below]


def render(document: Document, width: int) -> str:
    parts = [[*textwrap.wrap(document.title, width), *pairs_lines(document.answer, width)]]
    for section in document.sections:
        parts.append(pairs_lines(section.head, width))
        parts += [titled_lines(table, width) for table in section.tables]
    parts += [pairs_lines(pairs, width) for pairs in (document.foot, document.end) if pairs]
    return "\n".join(line.rstrip() for part in parts for line in ["", *part])[1:] + "\n"
