# SPDX-License-Identifier: MIT
"""A document as Markdown: tables with pipes, the heading as a list above, the foot as one below."""

from collections.abc import Iterable

from suite.present.tables.model import Document, Pair, Table


def escape(text: str) -> str:
    return text.replace("|", "\\|")


def list_lines(pairs: Iterable[Pair]) -> list[str]:
    """`- label: text`; a text without a label gets that of the text before it."""
    lines, last = [], ""
    for label, text in pairs:
        last = last if label is None else label
        lines.append(f"- {last}: {text}" if last else f"- {text}")
    return lines


def table_lines(table: Table) -> list[str]:
    """The table with pipes. A group has one head, `title (head)`; names left, numbers right."""
    heads = [key.head for key in table.keys]
    for group in table.groups:
        first, *others = (column.head for column in group.columns)
        unit = f" ({first})" if first else ""
        heads += [group.title + unit if group.title else first, *others]
    rows = zip(*(map(str, column.items) for column in table.columns), strict=True)
    return ["| " + " | ".join(map(escape, heads)) + " |",
            "|" + "|".join(":---" if column.left else "---:" for column in table.columns) + "|",
            *("| " + " | ".join(escape(text).strip() for text in row) + " |" for row in rows)]


def titled_lines(table: Table) -> list[str]:
    title = ["", f"**{table.title}**"] if table.title else []
    below = [line for text in table.below for line in ("", text)]
    return [*title, *(["", *table_lines(table)] if table.columns else []), *below]


def render(document: Document, width: int = 0) -> str:
    answer = list_lines(document.answer)
    lines = [f"**{document.title}**", *([""] if answer else []), *answer]
    for section in document.sections:
        lines += ["", *list_lines(section.head)]
        lines += [line for table in section.tables for line in titled_lines(table)]
    foot = list_lines([*document.foot, *document.end])
    return "\n".join([*lines, *([""] if foot else []), *foot]) + "\n"
