# SPDX-License-Identifier: MIT
"""How each kind of picture is read: what its data say of every row (readers.py)."""

from __future__ import annotations

import re
import shlex

from readers import (
    CLEAR,
    NOT_CLEAR,
    Matrices,
    Place,
    Reader,
    Rows,
    Said,
    compared_places,
    comparisons_of,
    first_said,
    of_one,
    places_of,
    said_by_signs,
    way_of,
    whole_place,
)
from suite.observe.metrics import METRICS
from suite.present.pictures.forest import forest_draw
from suite.present.pictures.parts import Drawing
from suite.present.pictures.plot import drawings_make
from suite.scenario.scenario import Picture


def blocks_of(drawing: Drawing) -> list[str]:
    """The blocks of a .dat that have figures; those of single rounds and of A/A have none."""
    return [block for block in drawing.data.split("\n\n\n")
            if not block.startswith(("# rounds", "# A/A interval\n"))]


def data_rows(drawing: Drawing) -> list[list[list[str]]]:
    """The fields of a .dat, in its blocks."""
    return [[shlex.split(line, comments=True) for line in block.splitlines() if line[:1] != "#"]
            for block in blocks_of(drawing)]


def drawn(matrices: Matrices, metric: str, kind: str) -> list[Drawing]:
    """The pictures of a kind."""
    counts = kind == "counts"
    return drawings_make(matrices[0], [Picture(kind, None if counts else metric, None, None, None)])


@of_one
def tiles_read(matrices: Matrices, metric: str) -> Rows:
    """The texts of heat maps, which say how many times better."""
    rows = {}
    for drawing in drawn(matrices, metric, "heatmap"):
        head = re.match(r"# (\S+) down, (\S+) across", drawing.data)
        assert head
        for column, row, _, _, text in data_rows(drawing)[0]:
            words = {head[1]: drawing.settings["rows"][int(row)],
                     head[2]: drawing.settings["columns"][int(column)]}
            plain = text.strip("?")
            signs = text.replace(plain, f"{plain}x") if re.fullmatch(r"[\d.]+", plain) else (
                text.replace("better", ">1x").replace("worse", "<1x"))
            said = said_by_signs(signs)
            if said:
                less = METRICS[metric].better == "lower"
                rows[tuple(words.get(axis, "") for axis in matrices[0].axes)] = said._replace(
                    way=-said.way if less else said.way)
    return rows


FILLED, HOLLOW = "7", "6"


def forest_read(matrices: Matrices, metric: str) -> Rows:
    """The points of forests, which must say the same as the texts beside them."""
    comparisons, rows = comparisons_of(matrices, metric), {}
    for drawing in forest_draw(comparisons, Picture("forest")) if comparisons else ():
        head = ""
        for *_, point, _, name, text, _ in data_rows(drawing)[0]:
            head = name if point == "-1" else head
            wanted = f"{head} {name}".split()
            for one in comparisons:
                for place in compared_places(one):
                    named = [*one.new.words.values(), *place]
                    alone = len(comparisons) == 1 and list(place) == wanted
                    if alone or named == wanted or (
                            len(place) == 1 and place == ("all",) and named[:-1] == wanted):
                        said = said_by_signs(text.replace(" %", "%"))
                        if said is None:
                            continue
                        if point in (FILLED, HOLLOW):
                            assert (point == FILLED) == (said.kind == CLEAR), (text, point)
                        rows[whole_place(matrices[0], one, place)] = said
    return rows


def bars_read(kind: str) -> Reader:
    """The labels of bars."""
    @of_one
    def read(matrices: Matrices, metric: str) -> Rows:
        rows: dict[Place, Said] = {}
        if kind == "counts" and not METRICS[metric].counts:
            return rows
        for drawing in drawn(matrices, metric, kind):
            for panel in blocks_of(drawing):
                head, *lines = panel.splitlines()
                shown = " ".join(drawing.settings.get("headline", ())) if kind == "counts" else head
                for line in lines:
                    *_, label, name = shlex.split(line)
                    values = [part.split("=")[-1] for part in [*str(shown).split(), *name.split()]]
                    place = next((place for place in places_of(matrices[0])
                                  if set(place) <= set(values)), None)
                    said = first_said([part.strip(",") for part in label.split()[1:]])
                    if place and said:
                        rows[place] = said
        return rows
    return read


@of_one
def curve_read(matrices: Matrices, metric: str) -> Rows:
    """The points of the ratios of curves: of sizes only."""
    rows: dict[Place, Said] = {}
    if "message" not in matrices[0].axes:
        return rows
    for drawing in drawn(matrices, metric, "curve"):
        for series, lines in zip(drawing.series, data_rows(drawing), strict=True):
            for size, fields in zip(dict.fromkeys(
                    cell.axes["message"] for cell in matrices[0].cells.values()), lines,
                    strict=True):
                place = tuple({"message": size, "write": series}[axis]
                              for axis in matrices[0].axes)
                if fields[4] != "NaN":
                    rows[place] = Said(CLEAR if fields[7] == "1" else NOT_CLEAR,
                                       way_of(float(fields[4])))
    return rows
