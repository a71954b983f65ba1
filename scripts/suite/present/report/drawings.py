# SPDX-License-Identifier: MIT
"""Pictures in a page: gnuplot's SVG with a checkbox for each series. Pure.

gnuplot draws every plot in a group of its own; only the colour of a group says its series. Where
series share a colour, the groups of that colour belong to these series in turn.
"""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.present.pictures.parts import COLOURS, Drawing
from suite.present.tables.html import details, element

PLOT_ID = re.compile(r"gnuplot_plot_\d+([a-z]?)$")  # the id of a group; the letter is its panel
RGB = re.compile(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)")


@dataclass(frozen=True)
class RenderedDrawing:
    """A drawing, and the SVG and the text picture that gnuplot made of it."""

    drawing: Drawing
    svg: str
    text: str


def colour_find(group: ET.Element) -> str | None:
    """The first of COLOURS in a group, which is that of its series; None for no series. Elements
    `g` without a text are skipped: gnuplot begins a group in the colour of the group before."""
    for part in group.iter():
        for name in ("color", "stroke", "fill"):
            numbers = RGB.fullmatch(part.get(name, ""))
            colour = "#{:02x}{:02x}{:02x}".format(*map(int, numbers.groups())) if numbers else (
                part.get(name))
            if colour in COLOURS and (part.tag != "g" or part.find("text") is not None):
                return colour
    return None


def series_classify(root: ET.Element, colours: Sequence[str]) -> None:
    """Gives the groups of series N the class sN. colours: those of the series, in order."""
    turns: dict[tuple[str, str], Iterator[str]] = {}  # by panel and colour
    for group in root.iter("g"):
        found = PLOT_ID.search(group.get("id", ""))
        colour = colour_find(group) if found else None
        if found and colour and colour in colours:
            turn = turns.setdefault((found[1], colour), itertools.cycle(
                [f"s{number}" for number, one in enumerate(colours, start=1) if one == colour]))
            group.set("class", next(turn))


def svg_read(text: str, prefix: str, colours: Sequence[str]) -> ET.Element:
    """gnuplot's SVG as an element of a page, without namespaces and the title, which browsers show
    over the whole picture. prefix: makes its ids unique in the page. colours: of its series."""
    root = ET.fromstring(text)
    for part in root.iter():
        part.tag = part.tag.rpartition("}")[2]
        named = {name.rpartition("}")[2]: value for name, value in part.attrib.items()}
        part.attrib = {name: prefix + value if name == "id" else
                       f"#{prefix}{value[1:]}" if name == "href" and value.startswith("#") else
                       value.replace("url(#", f"url(#{prefix}") for name, value in named.items()}
    series_classify(root, colours)
    for described in [*root.findall("title"), *root.findall("desc")]:
        root.remove(described)
    return root


def figure_element(rendered: RenderedDrawing) -> ET.Element:
    """One picture with a checkbox for each of several series. The ids in it begin with its name,
    which makes them unique in the page."""
    prefix, drawing = f"{rendered.drawing.name}-", rendered.drawing
    colours: Sequence[str] = drawing.settings.get("colours", ())
    root = svg_read(rendered.svg, prefix, colours)
    root.attrib |= {"role": "img", "aria-label": drawing.name}
    boxes = []
    for number, (name, colour) in enumerate(zip(drawing.series, colours, strict=True), start=1):
        box = f"{prefix}box{number}"
        boxes += [element("input", type="checkbox", checked="checked", id=box,
                          class_=f"s{number}"),
                  element("label", name, for_=box, style=f"color: {colour}")]
    return element("figure", *(boxes if len(colours) > 1 else ()), root,
                   details("as text", element("pre", rendered.text)),
                   details("data", element("pre", drawing.data)), id=f"picture-{drawing.name}")


def checkbox_rules(count: int) -> str:
    """The CSS by which a checkbox hides its series when it is not checked."""
    return "".join(f"input.s{n}:not(:checked) ~ svg .s{n} {{ display: none }}\n"
                   for n in range(1, count + 1))
