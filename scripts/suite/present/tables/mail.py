# SPDX-License-Identifier: MIT
"""A document as a block for a mailing list or a commit message. Pure. A style decides the layout
and never the content. A block that breaks a rule of mail/rules.py is not printed at all."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.text import GAP
from suite.present.mail.command import command_lines
from suite.present.mail.rules import COLUMNS, lines_require, words_wrap
from suite.present.tables import markdown, terminal
from suite.present.tables.model import ONLY_AXIS, ONLY_CELL, Column, Document, Item, Pair, Table

LABEL_WIDTH = len("base:")
WIDE = 1000  # no table is wrapped: one that is too wide is cut
SYMBOLS = {  # with --utf8, by pattern; a head keeps its width
    r"  \+/-": "    \u00b1", r"\+/-": "\u00b1", r"(?<!\S)us(?!\w)": "\u00b5s", " -> ": " \u2192 "}


@dataclass(frozen=True)
class Style:
    """The layout of a block: a function for each of its parts, which gives lines."""

    table: Callable[[Table], list[str]]
    labelled: Callable[[str, str], list[str]]
    title: Callable[[str], list[str]]
    below: Callable[[str], list[str]]
    commands: Callable[[Sequence[str]], list[str]]


def plain_table(table: Table) -> list[str]:
    """Aligned text, as kernel lists have it. The label of the row that sums up covers the empty
    columns beside it, if it fits there."""
    lines = terminal.table_lines(table, WIDE)
    if table.foot:
        key, *others = table.keys
        label = key.items[-1].text
        bare = terminal.table_lines(replace(table, keys=(
            replace(key, items=(*key.items[:-1], Item(""))), *others)), WIDE)
        if bare[-1].startswith(" " * len(label + GAP)):
            return [*bare[:-1], label + bare[-1][len(label):]]
    return lines


def plain_labelled(label: str, text: str) -> list[str]:
    """`label: text`, wrapped beside its label."""
    first = f"{label}:".ljust(LABEL_WIDTH) + " "
    return words_wrap(text, first, " " * len(first))


STYLES = {
    # LKML, netdev: aligned text
    "plain": Style(plain_table, plain_labelled, lambda text: [text],
                   lambda text: words_wrap(text, "", "  "), list),
    # qemu-devel, libguestfs, GitLab: pipes
    "md": Style(lambda table: ["", *markdown.table_lines(table), ""],
                lambda label, text: words_wrap(text, f"- {label}: ", "  "),
                lambda text: ["", f"**{text}**", ""],
                lambda text: words_wrap(text, "- ", "  "),
                lambda lines: ["", "```sh", *lines, "```"]),
}


def rows_cut(table: Table) -> list[Table]:
    """A table for each value of the first key; the value becomes a line above the table."""
    (key, *others), end = table.keys, table.rows - table.foot
    first = others[0] if others else (
        Column(ONLY_AXIS, (Item(ONLY_CELL),) * table.rows, left=True))
    labelled = replace(first, items=first.items[:end] + key.items[end:])  # the label of the sums
    whole = replace(table, keys=(labelled, *others[1:]))
    places = grouped((item.text, row) for row, item in enumerate(key.items[:end]))
    list(places.values())[-1].extend(range(end, table.rows))  # the sums
    *parts, last = [replace(whole.take(rows), place={**table.place, key.head: value})
                    for value, rows in places.items()]
    return [*parts, replace(last, foot=table.foot, below=table.below)]


def tables_fit(table: Table, lines: Callable[[Table], list[str]]) -> list[Table]:
    """The whole table if it fits, else cut by groups of columns, else by values of its first key.
    The sums and the lines below stay with the last part. UsageError where no cut makes it fit,
    because its figures are too wide."""
    *groups, last = table.groups
    by_group = [replace(table, groups=(group,)).take(range(table.rows - table.foot))
                for group in groups]
    for parts in ([table], [*by_group, replace(table, groups=(last,))]):
        if all(len(line) <= COLUMNS for part in parts for line in lines(part)):
            return parts
    if [key.head for key in table.keys] != [ONLY_AXIS]:
        return [part for rows in rows_cut(table) for part in tables_fit(rows, lines)]
    raise UsageError(f"{table.title}: its figures are too long for a table of {COLUMNS} columns")


def part_lines(table: Table, style: Style) -> list[str]:
    """The lines of a table that fits, with its title and the lines below it."""
    place = " ".join(f"{key}={value}" for key, value in table.place.items())
    return [*style.title(table.title), *(style.labelled("at", place) if place else []),
            *style.table(table),
            *(line for text in table.below for line in style.below(text))]


def block_lines(document: Document, style: str = "plain", utf8: bool = False) -> list[str]:
    """The block as it is posted, in ASCII unless utf8; Failure where it would break a rule."""
    chosen = STYLES[style]

    def labelled(pairs: Iterable[Pair]) -> list[str]:
        return [line for label, text in pairs for line in chosen.labelled(label or "", text)]

    lines = []
    for section in document.sections:
        lines += labelled(section.head)
        for table in section.tables:
            for part in tables_fit(table, chosen.table):
                lines += ["", *part_lines(part, chosen)]
    lines += labelled(document.foot)
    lines += chosen.commands([line for words in document.commands for line in command_lines(words)])
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")  # no two empty lines in a row
    if utf8:
        for pattern, symbol in SYMBOLS.items():
            text = re.sub(pattern, symbol, text)
    else:
        text = text.encode("ascii", "replace").decode()
    lines_require(text.split("\n"), utf8)
    return text.split("\n")
