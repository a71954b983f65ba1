# SPDX-License-Identifier: MIT
"""HTML as a tree of xml.etree elements: what is text stays text, whatever a result's words say."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

Child = ET.Element | str | None


def element(tag: str, *children: Child, **attributes: str) -> ET.Element:
    """An element with its children in order; None is left out. `class_` is class, and an underscore
    a dash."""
    made = ET.Element(tag, {name.rstrip("_").replace("_", "-"): value
                            for name, value in attributes.items()})
    for child in children:
        if isinstance(child, str):
            text_add(made, child)
        elif child is not None:
            made.append(child)
    return made


def text_add(parent: ET.Element, text: str) -> None:
    """Text after everything that an element has."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def pairs_list(pairs: Iterable[tuple[str | None, str]]) -> ET.Element:
    """Labels with their texts; a text without a label goes on with the one before."""
    made = element("dl")
    for label, text in pairs:
        if label:
            made.append(element("dt", label))
        made.append(element("dd", text))
    return made


def folded(title: str, *children: Child, open_: bool = False) -> ET.Element:
    """What a reader unfolds; needs no script."""
    made = element("details", element("summary", title), *children)
    if open_:
        made.set("open", "open")
    return made


def page_text(head: ET.Element, body: ET.Element) -> str:
    """The whole document."""
    root = element("html", head, body, lang="en")
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"
