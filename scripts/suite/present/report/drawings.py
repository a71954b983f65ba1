# SPDX-License-Identifier: MIT
"""Pictures in a page: gnuplot's SVG as part of it, with a box to tick for each series. Pure.

gnuplot draws every plot of a series as a group of its own, and only the colour says which series it
is. Of plots with one colour the first belongs to the first series of that colour, and so on in
turn.
"""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.present.pictures.parts import COLOURS, Drawing
from suite.present.tables.html import element, folded

PLOT_ID = re.compile(r"gnuplot_plot_\d+([a-z]?)")  # of a plot's group, with its panel
RGB = re.compile(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)")


@dataclass(frozen=True)
class Drawn:
    """A drawing with the SVG and the text that gnuplot made of it."""

    drawing: Drawing
    svg: str
    text: str


def colour_find(group: ET.Element) -> str | None:
    """The colour of the series that a group is part of, one of COLOURS; None for no series. Only
    what is drawn has it: gnuplot begins a group in the colour of the one before."""
    for part in group.iter():
        if part.tag == "g" and part.find("text") is None:
            continue
        for name in ("color", "stroke", "fill"):
            numbers = RGB.fullmatch(part.get(name, ""))
            colour = "#" + "".join(f"{int(number):02x}" for number in numbers.groups()) \
                if numbers else part.get(name)
            if colour in COLOURS:
                return colour
    return None


def series_mark(root: ET.Element, colours: Sequence[str]) -> None:
    """Gives the groups of series N, which has the Nth of these colours, the class sN."""
    turns: dict[tuple[str, str], Iterator[int]] = {}
    for group in root.iter("g"):
        found = PLOT_ID.fullmatch(group.get("id", ""))
        colour = colour_find(group) if found else None
        if found and colour:
            turn = turns.setdefault((found[1], colour), itertools.cycle(
                [number for number, one in enumerate(colours, start=1) if one == colour]))
            number = next(turn, None)
            group.attrib |= {"class": f"s{number}"} if number else {}


def svg_read(text: str, prefix: str, colours: Sequence[str]) -> ET.Element:
    """gnuplot's SVG as an element of a page: without namespaces and without its own title, which a
    browser shows over the whole picture. prefix: of its names, which are unique in the page then.
    colours: of its series."""
    root = ET.fromstring(text)
    for part in root.iter():
        part.tag = part.tag.rpartition("}")[2]
        part.attrib = {name.rpartition("}")[2]:
                       f"#{prefix}{value[1:]}" if name.endswith("}href") and value.startswith("#")
                       else value.replace("url(#", f"url(#{prefix}")
                       for name, value in part.attrib.items()}
    series_mark(root, colours)
    for part in root.iter():
        if "id" in part.attrib:
            part.set("id", prefix + part.attrib["id"])
    for about in [*root.findall("title"), *root.findall("desc")]:
        root.remove(about)
    return root


def figure_element(drawn: Drawn) -> ET.Element:
    """One picture; its name is in front of all names within it, which are unique in the page so."""
    prefix, drawing = f"{drawn.drawing.name}-", drawn.drawing
    root = svg_read(drawn.svg, prefix, drawing.settings.get("colours", ()))
    root.attrib |= {"role": "img", "aria-label": drawing.name}
    return element("figure", *switches(drawing, prefix), root,
                   folded("as text", element("pre", drawn.text)),
                   folded("data", element("pre", drawing.data)), id=f"picture-{drawing.name}")


def switches(drawing: Drawing, prefix: str) -> list[ET.Element]:
    """A box to tick and a label for each series; none for a single one."""
    made = []
    series = [*zip(drawing.series, drawing.settings.get("colours", ()), strict=True)]
    for number, (name, colour) in enumerate(series if len(series) > 1 else (), start=1):
        box = f"{prefix}box{number}"
        made += [element("input", type="checkbox", checked="checked", id=box, class_=f"s{number}"),
                 element("label", name, for_=box, style=f"color: {colour}")]
    return made


def switch_rules(count: int) -> str:
    """The rules of style by which a box that is not ticked hides its series."""
    return "".join(f"input.s{n}:not(:checked) ~ svg .s{n} {{ display: none }}\n"
                   for n in range(1, count + 1))
