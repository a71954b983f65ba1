# SPDX-License-Identifier: MIT
"""Pictures in a page: gnuplot's SVG as part of it, with a box to tick for each series. Pure.

gnuplot draws every plot of a series as a group of its own, and knows series by their colour only:
of plots of one colour the first belongs to the first series of that colour, and so on in turn.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.present.pictures.picture import COLOURS, Drawing
from suite.present.report.elements import element, folded

GROUP = re.compile(r"gnuplot_plot_\d+([a-z]?)")
ARRAY = re.compile(r"^array names\[\d+\] = \[(.*)\]$", re.MULTILINE)
STRING = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True)
class Drawn:
    """A drawing with what gnuplot made of it."""

    drawing: Drawing
    svg: str
    text: str


def series_names(drawing: Drawing) -> list[str]:
    """The names of a drawing's series in order; empty where it has none."""
    array = ARRAY.search(drawing.settings)
    found = STRING.findall(array[1]) if array else []
    return [name.replace("''", "'") for name in found]


def colour_find(group: ET.Element) -> str | None:
    """The colour of a series in a group, as COLOURS spells it."""
    for part in group.iter():
        for name in ("color", "stroke", "fill"):
            colour = colour_hex(part.get(name, ""))
            if colour in COLOURS and (colour != "#000000" or name == "color"):
                return colour
    return None


def colour_hex(text: str) -> str:
    """`rgb(  0, 114, 178)` as #0072b2; other texts as they are."""
    numbers = re.fullmatch(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)", text)
    return "#" + "".join(f"{int(number):02x}" for number in numbers.groups()) if numbers else text


def plots_of(root: ET.Element) -> Iterator[tuple[str, ET.Element]]:
    """(panel, group) of every plot in a picture."""
    for group in root.iter("g"):
        found = GROUP.fullmatch(group.get("id", ""))
        if found:
            yield found[1], group


def series_mark(root: ET.Element, count: int) -> None:
    """Gives the groups of series N the class sN."""
    turns: dict[tuple[str, str], Iterator[int]] = {}
    for panel, group in plots_of(root):
        colour = colour_find(group)
        if colour is None:
            continue
        mine = [index for index in range(count) if COLOURS[index % len(COLOURS)] == colour]
        if mine:
            turn = turns.setdefault((panel, colour), itertools.cycle(mine))
            group.set("class", f"s{next(turn) + 1}")


def svg_read(text: str, prefix: str) -> ET.Element:
    """gnuplot's SVG as an element of a page: without namespaces, and with names that only it has
    there."""
    root = ET.fromstring(text)
    for part in root.iter():
        part.tag = part.tag.rpartition("}")[2]
        for name in list(part.attrib):
            value = part.attrib.pop(name)
            value = re.sub(r"url\(#", f"url(#{prefix}", value)
            if name.endswith("}href") and value.startswith("#"):
                value = f"#{prefix}{value[1:]}"
            part.set(name.rpartition("}")[2], value)
    return root


def names_prefix(root: ET.Element, prefix: str) -> None:
    """Makes the names in a picture its own."""
    for part in root.iter():
        if "id" in part.attrib:
            part.set("id", prefix + part.attrib["id"])


def figure_make(drawn: Drawn, number: int) -> ET.Element:
    """One picture; number: its place in the page, from 1."""
    prefix = f"p{number}-"
    root = svg_read(drawn.svg, prefix)
    names = series_names(drawn.drawing)
    series_mark(root, len(names))
    names_prefix(root, prefix)
    for about in [*root.findall("title"), *root.findall("desc")]:
        root.remove(about)  # "Gnuplot", which a browser shows over the whole picture
    root.set("role", "img")
    root.set("aria-label", drawn.drawing.name)
    return element("figure", *switches(names, prefix), root,
                   folded("as text", element("pre", drawn.text)),
                   folded("data", element("pre", drawn.drawing.data)),
                   id=f"picture-{drawn.drawing.name}")


def switches(names: Sequence[str], prefix: str) -> list[ET.Element]:
    """A box to tick and a label for each series; none for a single one."""
    made = []
    for index, name in enumerate(names if len(names) > 1 else ()):
        box = f"{prefix}box{index + 1}"
        made += [element("input", type="checkbox", checked="checked", id=box,
                         class_=f"s{index + 1}"),
                 element("label", name, for_=box, style=f"color: {COLOURS[index % len(COLOURS)]}")]
    return made


def switch_rules(count: int) -> str:
    """The rules of style by which a box that is not ticked hides its series."""
    return "".join(f"input.s{n}:not(:checked) ~ svg .s{n} {{ display: none }}\n"
                   for n in range(1, count + 1))
