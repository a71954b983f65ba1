# SPDX-License-Identifier: MIT
"""HTML as a tree of xml.etree elements: text of a result stays text, even where it has tags."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

Child = ET.Element | str | None


def element(tag: str, *children: Child, **attributes: str) -> ET.Element:
    """An element with its children in order; None is left out.

    attributes: `class_` is class, and an underscore is a dash.
    """
    made = ET.Element(tag, {name.rstrip("_").replace("_", "-"): value
                            for name, value in attributes.items()})
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + (child or "")
        else:
            made.text = (made.text or "") + (child or "")
    return made


def pairs_list(pairs: Iterable[tuple[str | None, str]]) -> ET.Element:
    """Labels with their texts; a text without a label goes on with the one before."""
    made = element("dl")
    for label, text in pairs:
        if label:
            made.append(element("dt", label))
        made.append(element("dd", text))
    return made


def folded(title: str, *children: Child, open_: bool = False) -> ET.Element:
    """A part that a reader unfolds, without any script."""
    return element("details", element("summary", title), *children,
                   **({"open": "open"} if open_ else {}))


def page_text(head: ET.Element, body: ET.Element) -> str:
    """The whole document."""
    return "<!DOCTYPE html>\n" + ET.tostring(element("html", head, body, lang="en"),
                                             encoding="unicode", method="html") + "\n"
