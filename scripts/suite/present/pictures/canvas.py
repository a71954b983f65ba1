# SPDX-License-Identifier: MIT
"""The size of a picture and what stands around it: the words size, title, note, points. Pure.

Templates place everything in units. On a screen a unit is a pixel, and letters have 11 pt. In print
960 units are the width of a page, so that letters have 7.6 pt, small ones 7 pt.
"""

import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from suite.base.errors import UsageError
from suite.scenario.scenario import LOOKS, SIZE, Picture

SCREEN_UNITS, UNITS_LEAST, UNITS_MOST = 960, 440, 4000
INCHES = {"column": 3.3, "page": 6.9}
PRINT_UNIT = INCHES["page"] * 96 / SCREEN_UNITS
PRINT_PNG_SCALE, PRINT_SMALL = 300 / 96, 10.2
UNITS = {"px": 1.0, "in": 96 / PRINT_UNIT, "mm": 96 / 25.4 / PRINT_UNIT}  # of each length
COLUMNS = 70  # the width of a picture in text
NAME_MAX = 32  # the longest name of a bar or row, in characters
LINE_LEAST, NOTE_LINES = 12, 4  # characters of a line, at least; lines of a note, at most
LETTER = 8.2  # the width of a letter in units
LINE, SMALL_LINE = 18, 17  # the distance of lines in units


def lines_of(text: str, columns: float) -> list[str]:
    return textwrap.wrap(text, max(round(columns), LINE_LEAST), break_long_words=False,
                         break_on_hyphens=False)


class Sign(NamedTuple):
    """What a sign means. drawn, text: how it looks in either picture; empty where it is absent."""

    drawn: str
    text: str
    meaning: str


class Canvas(NamedTuple):
    """width, height: in units; without a height each kind of picture chooses its own. unit: in 1/96
    in. png_scale: pixels of a png in 1/96 in. points: whether to draw each round; None where there
    is room."""

    width: int = SCREEN_UNITS
    height: int | None = None
    unit: float = 1.0
    png_scale: float = 1.0
    small_points: float = 9.0
    size: str | None = None
    title: bool = True
    note: bool = True
    points: bool | None = None

    def titles(self, body: int, least: int, headline: str, note: str, signs: Sequence[Sign]
               ) -> dict[str, Any]:
        """The settings for size, headline and small print. body, least: the height between headline
        and small print, wanted and needed. signs: of the legend, in order."""
        heads = lines_of(headline, self.width / 10) if self.title else []
        columns = self.width / (0.72 * self.small_points)
        legend, legend_text = ("; ".join(f"{sign[place]}: {sign.meaning}" for sign in signs
                                         if sign[place]) for place in range(2))
        dark = lines_of(legend, columns)
        pale = lines_of(note, columns)[:NOTE_LINES] if self.note else []
        head, foot = 12 + 22 * len(heads), 6 + SMALL_LINE * len(dark + pale)
        height = self.height or head + body + foot
        if height - head - foot < least:
            needed = (head + foot + least) * self.unit / 96
            raise UsageError(f"picture: size={self.size}: this picture needs a height of "
                             + (f"{head + foot + least} px" if self.unit == 1.0 else
                                f"{needed:.1f} in ({25.4 * needed:.0f} mm)"))
        title_lines = textwrap.wrap(headline, COLUMNS)
        signs_lines = textwrap.wrap(legend_text, COLUMNS)
        return {"width": self.width, "height": height, "unit": self.unit,
                "png_scale": self.png_scale, "small_points": self.small_points,
                "head": head, "foot": foot, "dark": len(dark),
                "headline": heads or [""], "small_print": dark + pale or [""],
                "headline_text": "\n".join(title_lines), "title_lines": len(title_lines),
                "signs_text": "\n".join(signs_lines), "signs_lines": len(signs_lines)}

    @property
    def name_most(self) -> int:
        """The longest name of a bar or row for which there is room, in characters."""
        return min(NAME_MAX, self.width // 23)


def canvas_of(picture: Picture) -> Canvas:
    shown = {key: value == "yes" for key in LOOKS if key != "size"
             if (value := getattr(picture, key)) is not None}
    size = picture.size
    if size is None:
        return Canvas(**shown)
    sides = re.fullmatch(SIZE, size)
    width, height, length = sides.groups() if sides else (INCHES[size], 0, "in")
    scale = UNITS[length or "in"]
    canvas = Canvas(round(float(width) * scale), round(float(height) * scale) or None, size=size,
                    **shown)
    if not UNITS_LEAST <= canvas.width <= UNITS_MOST or (canvas.height or 0) > UNITS_MOST:
        least, most = (units * PRINT_UNIT / 96 for units in (UNITS_LEAST, UNITS_MOST))
        raise UsageError(f"picture: size={size}: a picture is {least:.1f} to {most:.0f} in wide, "
                         f"or {UNITS_LEAST} to {UNITS_MOST} px")
    return canvas if length == "px" else canvas._replace(
        unit=PRINT_UNIT, png_scale=PRINT_PNG_SCALE, small_points=PRINT_SMALL)
