# SPDX-License-Identifier: MIT
"""A document as a block for a mailing list or a commit message. Pure. A style decides the layout
and never the content. A block that breaks a rule of mail/rules.py is not printed at all."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from suite.base.errors import UsageError
from suite.base.text import GAP
from suite.present.mail.command import command_lines
from suite.present.mail.rules import COLUMNS, lines_require, words_wrap
from suite.present.tables.model import ONLY_AXIS, ONLY_CELL, Column, Document, Item, Table

LABEL_WIDTH = len("base:")
# A key column of nothing but these is aligned right.
NUMBER_TEXT = re.compile(r"\d+(\.\d+)?[KMG]?|default|none")
SYMBOLS = {"+/-": "\u00b1", "us": "\u00b5s"}  # by word, with --utf8
ARROW = " \u2192 "


@dataclass(frozen=True)
class Style:
    """The layout of a block: a function for each of its parts, which gives lines."""

    table: Callable[[Table], list[str]]
    labelled: Callable[[str, str], list[str]]
    title: Callable[[str], list[str]]
    below: Callable[[str], list[str]]
    commands: Callable[[Sequence[str]], list[str]]


def is_left(table: Table, column: Column) -> bool:
    """Whether a column is aligned left: a key with other texts than numbers above the sums."""
    items = column.items[:table.rows - table.foot]
    return column in table.keys and not all(NUMBER_TEXT.fullmatch(item.text) for item in items)


def texts_of(table: Table) -> list[list[str]]:
    """The heads, then the texts of each row."""
    return [[column.head for column in table.columns],
            *([column.items[row].text for column in table.columns] for row in range(table.rows))]


def plain_table(table: Table) -> list[str]:
    """Aligned text, as kernel lists have it. The row that sums up fills the last columns only."""
    lines = texts_of(table)
    label, *figures = filter(None, lines.pop()) if table.foot else [""]
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    first = len(widths) - len(figures)
    widths[first:] = map(max, widths[first:], map(len, figures))
    widths[0] += max(len(label) - sum(widths[:first]) - len(GAP) * (first - 1), 0)
    left = [is_left(table, column) for column in table.columns]
    texts = [GAP.join(text.ljust(width) if names else text.rjust(width)
                      for text, width, names in zip(line, widths, left, strict=True)).rstrip()
             for line in lines]
    whole = sum(widths) + len(GAP) * (len(widths) - 1)
    right = GAP.join(text.rjust(width)
                     for text, width in zip(figures, widths[first:], strict=True))
    sums = [label.ljust(whole - len(right)) + right] if table.foot else []
    return [texts[0], "-" * max(4, whole), *texts[1:], *sums]


def plain_labelled(label: str, text: str) -> list[str]:
    """`label: text`, wrapped beside its label."""
    first = f"{label}:".ljust(LABEL_WIDTH) + " "
    return words_wrap(text, first, " " * len(first))


def pipes(texts: Sequence[str]) -> str:
    escaped = [text.replace("|", "\\|") for text in texts]
    return "".join(f"| {text} " if text else "| " for text in escaped) + "|"


def markdown_table(table: Table) -> list[str]:
    """A table of Markdown, with an empty line before and after it."""
    heads, *rows = texts_of(table)
    marks = [":---" if is_left(table, column) else "---:" for column in table.columns]
    return ["", pipes(heads), "|" + "|".join(marks) + "|", *map(pipes, rows), ""]


STYLES = {
    # LKML, netdev: aligned text
    "plain": Style(plain_table, plain_labelled, lambda text: [text],
                   lambda text: words_wrap(text, "", "  "), list),
    # qemu-devel, libguestfs, GitLab: pipes
    "md": Style(markdown_table,
                lambda label, text: words_wrap(text, f"- {label}: ", "  "),
                lambda text: ["", f"**{text}**", ""],
                lambda text: words_wrap(text, "- ", "  "),
                lambda lines: ["", "```sh", *lines, "```"]),
}


def groups_cut(table: Table) -> list[Table]:
    """A table for each group of columns. The sums and the lines below stay with the last one."""
    *first, last = table.groups
    rows = range(table.rows - table.foot)
    return [*(replace(replace(table, groups=(group,)).take(rows), below="", remark="")
              for group in first),
            replace(table, groups=(last,))]


def rows_cut(table: Table) -> list[Table]:
    """A table for each value of the first key; the value becomes a line above the table."""
    key, end = table.keys[0], table.rows - table.foot
    values = list(dict.fromkeys(item.text for item in key.items[:end]))
    parts = []
    for value in values:
        last = value == values[-1]
        sums = range(end, table.rows) if last else range(0)
        rows = [row for row in range(end) if key.items[row].text == value]
        part = table.take([*rows, *sums])
        keys = part.keys[1:] or (Column(ONLY_AXIS, (Item(ONLY_CELL),) * part.rows, left=True),)
        labelled = (*keys[0].items[:len(rows)], *(key.items[row] for row in sums))
        parts.append(replace(part, keys=(replace(keys[0], items=labelled), *keys[1:]),
                             place={**table.place, key.head: value}, foot=len(sums),
                             below=table.below if last else "",
                             remark=table.remark if last else ""))
    return parts


def tables_fit(table: Table, lines: Callable[[Table], list[str]]) -> list[Table]:
    """The whole table if it fits, else cut by groups of columns, else by values of its first key.
    UsageError where no cut makes it fit, because its figures are too wide."""
    for parts in ([table], groups_cut(table)):
        if all(len(line) <= COLUMNS for part in parts for line in lines(part)):
            return parts
    if [key.head for key in table.keys] != [ONLY_AXIS]:
        return [part for rows in rows_cut(table) for part in tables_fit(rows, lines)]
    raise UsageError(f"{table.title}: its figures are too long for a table of {COLUMNS} columns")


def symbols_replace(text: str) -> str:
    for word, symbol in SYMBOLS.items():
        text = re.sub(rf"(?<!\S){re.escape(word)}(?!\w)", symbol, text)
    return text


def table_symbols(table: Table) -> Table:
    groups = tuple(replace(group, columns=tuple(
        replace(column, head=symbols_replace(column.head)) for column in group.columns))
        for group in table.groups)
    return replace(table, title=symbols_replace(table.title), groups=groups)


def line_clean(line: str, utf8: bool) -> str:
    """A line whose facts come from a machine, without tabs; in ASCII unless utf8."""
    line = " ".join(line.split())
    return (symbols_replace(line.replace(" -> ", ARROW)) if utf8
            else line.encode("ascii", "replace").decode())


def metric_lines(table: Table, style: Style) -> list[str]:
    lines = []
    for part in tables_fit(table, style.table):
        place = " ".join(f"{key}={value}" for key, value in part.place.items())
        lines += [*style.title(part.title), *(style.labelled("at", place) if place else []),
                  *style.table(part), *(style.below(part.below) if part.below else [""]),
                  *(style.below(part.remark) if part.remark else [])]
    return lines


def blank_lines_squeeze(lines: Sequence[str]) -> list[str]:
    """The lines without repeated empty lines, and without empty lines at both ends."""
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return kept if not kept or kept[-1] else kept[:-1]


def block_lines(document: Document, style: str = "plain", utf8: bool = False) -> list[str]:
    """The block as it is posted; Failure where it would break a rule."""
    chosen, lines = STYLES[style], []
    for section in document.sections:
        lines += [line for label, text in section.head
                  for line in chosen.labelled(label or "", line_clean(text, utf8))]
        for table in section.tables:
            lines += ["", *metric_lines(table_symbols(table) if utf8 else table, chosen)]
    lines += [line for label, text in document.foot
              for line in chosen.labelled(label or "", line_clean(text, utf8))]
    lines += chosen.commands([line for words in document.commands for line in command_lines(words)])
    lines = blank_lines_squeeze(lines)
    lines_require(lines, utf8)
    return lines
