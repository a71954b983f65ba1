# SPDX-License-Identifier: MIT
"""Tables of a page, from the columns that tables for terminals are made from. Pure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from suite.present.layout import Column, Group
from suite.present.report.elements import element
from suite.result.machine import Machine, found_last


def table_make(keys: Sequence[Column], groups: Sequence[Group], breaks: Collection[int] = (),
               foot: int = 0
               ) -> ET.Element:
    """Columns under the titles of their groups, if these have any; a line above the rows in breaks.

    Scripts make it sortable; the last rows, foot of them, stay below all others.
    """
    columns = [*keys, *(column for group in groups for column in group.columns)]
    titles = [element("td", colspan=str(len(keys)))]
    titles += [element("th", group.title.replace("_", " "), colspan=str(len(group.columns)),
                       scope="colgroup")
               for group in groups]
    heads = [element("th", column.head, scope="col", class_="name" if column.left else "number")
             for column in columns]
    head = [element("tr", *titles)] if any(group.title for group in groups) else []
    rows = [row_make(columns, row, row in breaks)
            for row in range(len(keys[0].items) if keys else 0)]
    end = len(rows) - foot
    return element("div", element("table", element("thead", *head, element("tr", *heads)),
                                  element("tbody", *rows[:end]),
                                  element("tfoot", *rows[end:]) if foot else None,
                                  class_="sortable"), class_="wide")


def row_make(columns: Sequence[Column], row: int, after_line: bool) -> ET.Element:
    """One row of all columns."""
    cells = [element("td", column.items[row].text, mark_make(column.items[row].mark),
                     class_="name" if column.left else "number") for column in columns]
    return element("tr", *cells, **({"class_": "break"} if after_line else {}))


def mark_make(mark: str) -> ET.Element | None:
    """A footnote, `~` or what else stands after a figure."""
    return element("span", mark, class_="mark") if mark else None


def facts_flat(facts: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Nested facts by their whole name."""
    flat: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= facts_flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = " ".join(str(value).split())
    return flat


def machines_make(machines: Iterable[Machine]) -> ET.Element:
    """All that is known of each machine; what is not the same on all of them comes first and stands
    out."""
    flat = [facts_flat({**machine.facts, "doctor": found_last(machine.looks)})
            for machine in machines]
    names = list(dict.fromkeys(name for facts in flat for name in facts))
    apart = [name for name in names if len({facts.get(name) for facts in flat}) > 1]
    rows = [element("tr", element("td", name, class_="name"),
                    *(element("td", facts.get(name, ""), class_="fact") for facts in flat),
                    **({"class_": "apart"} if name in apart else {}))
            for name in [*apart, *(name for name in names if name not in apart)]]
    head = element("tr", element("th", "fact", scope="col"),
                   *(element("th", f"machine {number}", scope="col")
                                                             for number in range(1, len(flat) + 1)))
    return element("div", element("table", element("thead", head), element("tbody", *rows)),
                   class_="wide")
