# SPDX-License-Identifier: MIT
"""A document as HTML: elements for the page of a report, or a page of its own. Pure. The elements
are those of xml.etree, which escapes text: tags in the text of a result stay text."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

from suite.present.tables.model import Document, Item, Pair, Section, Table

Child = ET.Element | str | None
STYLE = Path(__file__).resolve().parents[1] / "report" / "page.css"


def element(tag: str, *children: Child, **attributes: str | None) -> ET.Element:
    """An element with its children in order. Children and attributes that are None are left out.
    attributes: `class_` means class, and an underscore inside a name means a dash."""
    made = ET.Element(tag, {name.rstrip("_").replace("_", "-"): value
                            for name, value in attributes.items() if value is not None})
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + (child or "")
        else:
            made.text = (made.text or "") + (child or "")
    return made


def pairs_list(pairs: Iterable[Pair]) -> list[ET.Element]:
    """The pairs as one `dl`, in a list; an empty list without pairs."""
    parts = [part for label, text in pairs
             for part in ([element("dt", label)] if label else []) + [element("dd", text)]]
    return [element("dl", *parts)] if parts else []


def details(title: str, *children: Child, open_: bool = False) -> ET.Element:
    """A part that opens with a click, without any script."""
    return element("details", element("summary", title), *children, open="open" if open_ else None)


def page_text(head: ET.Element, body: ET.Element) -> str:
    return "<!DOCTYPE html>\n" + ET.tostring(element("html", head, body, lang="en"),
                                             encoding="unicode", method="html") + "\n"


def table_element(table: Table) -> ET.Element:
    """The table, with a line of group titles if any group has one, and a rule above each row in
    breaks. The mark of a figure is an element of its own. Sorting leaves the rows that sum up at
    the bottom."""
    kinds = [(column, "name" if column.left else "number") for column in table.columns]
    heads = [element("th", column.head, scope="col", class_=kind) for column, kind in kinds]
    titles = [element("td", colspan=str(len(table.keys))),
              *(element("th", group.title.replace("_", " "), colspan=str(len(group.columns)),
                        scope="colgroup") for group in table.groups)]
    titled = any(group.title for group in table.groups)
    rows = [element("tr", *(item_element(column.items[row], kind) for column, kind in kinds),
                    class_="break" if row in table.breaks else None) for row in range(table.rows)]
    end = len(rows) - table.foot
    return element("div", element(
        "table",
        element("thead", element("tr", *titles) if titled else None, element("tr", *heads)),
        element("tbody", *rows[:end]), element("tfoot", *rows[end:]) if table.foot else None,
        class_="sortable"), class_="wide")


def item_element(item: Item, kind: str) -> ET.Element:
    mark = element("span", item.mark, class_="mark") if item.mark else None
    return element("td", item.text, mark, class_=kind)


def section_elements(section: Section) -> list[ET.Element]:
    """The pairs above the tables, then each table with its title and the lines below it."""
    made = [element("h3", section.title)] if section.title else []
    made += pairs_list(section.head)
    for table in section.tables:
        made += [element("p", table.title)] if table.title else []
        made += [table_element(table)] if table.columns else []
        made += [element("p", text, class_="remark") for text in table.below]
    return made


def document_elements(document: Document) -> list[ET.Element]:
    sections = [made for section in document.sections for made in section_elements(section)]
    return [*sections, *pairs_list(document.foot)]


def render(document: Document, width: int = 0) -> str:
    head = element("head", element("meta", charset="utf-8"), element("title", document.title),
                   element("style", STYLE.read_text(encoding="utf-8")))
    return page_text(head, element("body", element("h1", document.title),
                                   *pairs_list(document.answer), *document_elements(document),
                                   *pairs_list(document.end)))
