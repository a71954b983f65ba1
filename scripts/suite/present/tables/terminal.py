# SPDX-License-Identifier: MIT
"""A document for a terminal of any width. ASCII, no colour, no tabs."""

import textwrap
from collections.abc import Sequence

from suite.base.text import GAP, labelled_lines
from suite.present.tables.model import Column, Document, Group, Pair, Section, Table

TITLE_WIDTH = 12


def column_lines(column: Column) -> list[str]:
    """The head and the items, padded to one width; marks do not disturb the alignment of texts."""
    marks = max((len(item.mark) for item in column.items), default=0)
    texts = max((len(item.text) for item in column.items), default=0)
    width = max(texts + marks, len(column.head))
    if column.left:
        return [text.ljust(width) for text in [column.head, *map(str, column.items)]]
    return [column.head.rjust(width - marks).ljust(width),
            *(item.text.rjust(width - marks) + item.mark.ljust(marks) for item in column.items)]


def group_lines(group: Group) -> list[str]:
    """The title, wrapped at underscores and blanks, above the columns, in one width. A title needs
    its longest word; up to TITLE_WIDTH a group grows until the title has two lines."""
    title = group.title.replace("_", " ")
    columns = [column_lines(column) for column in group.columns]
    lines = [GAP.join(texts) for texts in zip(*columns, strict=True)]
    width = max(map(len, [lines[0], *title.split()]))
    while width < TITLE_WIDTH and len(textwrap.wrap(title, width)) > 2:
        width += 1
    align = str.rjust if len(columns) == 1 else str.ljust
    return [*(align(line, width) for line in textwrap.wrap(title, width)),
            *(line.rjust(width) for line in lines)]


def block_lines(table: Table, parts: Sequence[list[str]]) -> list[str]:
    """Keys and groups beside each other, with a rule above the rows, and a blank line above each
    row in breaks. Blank lines above a part fill the height of the titles."""
    height = max(map(len, parts))
    filled = [[" " * len(part[0])] * (height - len(part)) + part for part in parts]
    lines = [GAP.join(texts) for texts in zip(*filled, strict=True)]
    heads, rows = lines[:height - table.rows], lines[height - table.rows:]
    broken = [line for row, text in enumerate(rows)
              for line in (["", text] if row in table.breaks else [text])]
    return [line.rstrip() for line in [*heads, "-" * max(4, *map(len, heads)), *broken]]


def table_lines(table: Table, width: int) -> list[str]:
    """The lines of the table; groups beyond the width follow in further blocks, below the keys."""
    keys = [column_lines(key) for key in table.keys]
    blocks: list[list[list[str]]] = []
    for group in map(group_lines, table.groups):
        if blocks and sum(len(part[0] + GAP) for part in [*blocks[-1], group]) <= width + len(GAP):
            blocks[-1].append(group)
        else:
            blocks.append([*keys, group])
    return [line for block in blocks for line in ["", *block_lines(table, block)]][1:]


def pairs_lines(pairs: Sequence[Pair], width: int) -> list[str]:
    return labelled_lines([(label or "", text) for label, text in pairs], width)


def titled_lines(table: Table, width: int) -> list[str]:
    below = [line for text in table.below for line in textwrap.wrap(text, width)]
    return [*([table.title] if table.title else []), *table_lines(table, width), *below]


def section_parts(section: Section, width: int) -> list[list[str]]:
    """The pairs and each table as lines; under a title all lines as one part, indented."""
    if section.title:
        inside = section_parts(section._replace(title=""), width - len(GAP))
        return [[section.title, *(GAP + line for part in inside for line in part)]]
    return [pairs_lines(section.head, width),
            *(titled_lines(table, width) for table in section.tables)]


def render(document: Document, width: int) -> str:
    parts = [[*textwrap.wrap(document.title, width), *pairs_lines(document.answer, width)]]
    for section in document.sections:
        parts += section_parts(section, width)
    parts += [pairs_lines(pairs, width) for pairs in (document.foot, document.end) if pairs]
    return "\n".join(line.rstrip() for part in parts for line in ["", *part])[1:] + "\n"
