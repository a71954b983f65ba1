# SPDX-License-Identifier: MIT
"""What the tests of pictures share: results with pictures, and what every picture has to be."""

from __future__ import annotations

import json
import shutil
import struct
import xml.etree.ElementTree as ElementTree

import pytest

from answers import matrix_of, result_make
from suite.decide.summary import Figure
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.plot import drawings_make
from suite.stats import Interval

needs_gnuplot = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is missing")


def made(folder, recipe, pictures=""):
    """The frames of a recipe's result, with pictures added to its scenario."""
    path = result_make.result_write(recipe, folder)
    with (path / "scenario.toml").open("a") as file:
        file.write(pictures)
    return matrix_of(path)


def records_change(path, change):
    """Changes every record of a result by change(record)."""
    file = path / "records.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        change(record)
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def figure(median, low, high):
    """A figure without a ratio."""
    return Figure(median, Interval(low, high, 0.95), 10, False, None, ())


def title_of(drawing):
    """The title of a picture in one line."""
    return " ".join(drawing.settings["headline"])


def signs_of(drawing):
    """What a picture says that its signs mean."""
    return " ".join(drawing.settings["small_print"][:drawing.settings["dark"]])


def size_of(png):
    """Width and height of a png in pixels."""
    return struct.unpack(">II", png.read_bytes()[16:24])


def draw(matrix, folder, asked=()):
    """Draws what is asked for, or everything; checks each picture; gives the drawings."""
    drawings = drawings_make(matrix, asked)
    for drawing in drawings:
        for path in drawing_write(drawing, folder):
            assert path.stat().st_size > 80
        assert size_of(folder / f"{drawing.name}.png") == (960, drawing.settings["height"])
        ElementTree.parse(folder / f"{drawing.name}.svg")
        text = (folder / f"{drawing.name}.txt").read_text()
        assert text.isascii() and "\t" not in text and "\f" not in text
        assert max(map(len, text.splitlines())) <= 72
        assert all(line == line.rstrip() for line in text.splitlines())
    return drawings
