# SPDX-License-Identifier: MIT
"""How large a picture is, and what stands around it: the words size, title, note, points. Pure.
Templates place everything in units. A unit is a pixel on a screen, where letters have 11 pt. In
print 960 units are the width of a page, so letters have 7.6 pt there, small ones 7 pt."""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from suite.base.errors import UsageError
from suite.scenario.scenario import LOOKS, SIZE_PATTERN, Picture

SCREEN_UNITS, UNITS_LEAST, UNITS_MOST = 960, 440, 4000
INCHES = {"column": 3.3, "page": 6.9}
PRINT_UNIT = INCHES["page"] * 96 / SCREEN_UNITS
PRINT_SHARP, PRINT_SMALL = 300 / 96, 10.2
LENGTHS = {"in": 96.0, "mm": 96 / 25.4}  # in 1/96 in
BODY, BODY_SHARE, BODY_LEAST = 484, 0.8, 200  # the height of axes without ratios
TEXT_COLUMNS = 70  # of a headline and of signs in a picture in text
NAME_MAX = 32  # characters of the name of a bar or row
LINE_LEAST, NOTE_LINES = 12, 4
LETTER = 8.2  # units that a letter takes
LINE, SMALL_LINE = 18, 17  # units from line to line


def lines_of(text: str, columns: float) -> list[str]:
    """The text in lines of so many letters; a word is not broken."""
    return textwrap.wrap(text, max(round(columns), LINE_LEAST), break_long_words=False,
                         break_on_hyphens=False)


class Look(NamedTuple):
    """wide and high: units; high is None where each kind chooses its own height.

    unit: in 1/96 in. sharp: pixels of a png in 1/96 in. small: pt of the small print, on a screen.
    points: None where each picture decides whether it has room for points.
    """

    wide: int = SCREEN_UNITS
    high: int | None = None
    unit: float = 1.0
    sharp: float = 1.0
    small: float = 9.0
    size: str | None = None
    title: bool = True
    note: bool = True
    points: bool | None = None

    def titles(self, body: int, headline: str, note: str, signs: Sequence[str] = (),
               signs_text: Sequence[str] = (), least: int = 0) -> dict[str, Any]:
        """The settings for size, headline, small print, and what the signs mean, drawn and in text.
        body: the height between headline and small print, of which a picture needs the least."""
        heads = lines_of(headline, self.wide / 10) if self.title else []
        columns = self.wide / (0.72 * self.small)
        dark = lines_of("; ".join(signs), columns)
        pale = lines_of(note, columns)[:NOTE_LINES] if self.note else []
        head, foot = 12 + 22 * len(heads), 6 + SMALL_LINE * len(dark + pale)
        high = self.high or head + body + foot
        if high - head - foot < least:
            needed = (head + foot + least) * self.unit / 96
            raise UsageError(f"picture: size={self.size}: this picture needs a height of "
                             + (f"{head + foot + least} px" if self.unit == 1.0 else
                                f"{needed:.1f} in ({25.4 * needed:.0f} mm)"))
        told, meant = (textwrap.wrap(text, TEXT_COLUMNS)
                       for text in (headline, "; ".join(signs_text)))
        return {"wide": self.wide, "high": high, "unit": self.unit, "sharp": self.sharp,
                "small_points": self.small, "head": head, "foot": foot, "dark": len(dark),
                "headline": heads or [""], "small_print": dark + pale or [""],
                "headline_text": "\n".join(told), "title_lines": len(told),
                "signs_text": "\n".join(meant), "signs_lines": len(meant)}

    def axes_titles(self, key_rows: int, headline: str, note: str, signs: Sequence[str] = (),
                    signs_text: Sequence[str] = ()) -> dict[str, Any]:
        """The titles of axes without ratios, below which a key has so many rows."""
        key = LINE * key_rows
        return self.titles(self.share(BODY, BODY_SHARE) + key, headline, note, signs, signs_text,
                           BODY_LEAST + key)

    @property
    def name_most(self) -> int:
        """How many characters of the name of a bar or row have room."""
        return min(NAME_MAX, self.wide // 23)

    def share(self, body: int, part: float) -> int:
        """A height: body, but at most so large a part of the width."""
        return min(body, round(part * self.wide))


def look_of(picture: Picture) -> Look:
    yes = {key: value == "yes" for key in LOOKS if key != "size"
           if (value := getattr(picture, key)) is not None}
    size = picture.size
    if size is None:
        return Look(**yes)
    sides = SIZE_PATTERN.fullmatch(size)
    if sides and sides[3] == "px":
        look = Look(round(float(sides[1])), round(float(sides[2])))
    else:
        scale = LENGTHS[sides[3] or "in" if sides else "in"] / PRINT_UNIT
        look = Look(round((float(sides[1]) if sides else INCHES[size]) * scale),
                    round(float(sides[2]) * scale) if sides else None,
                    PRINT_UNIT, PRINT_SHARP, PRINT_SMALL)
    if not UNITS_LEAST <= look.wide <= UNITS_MOST or (look.high or 0) > UNITS_MOST:
        least, most = (units * PRINT_UNIT / 96 for units in (UNITS_LEAST, UNITS_MOST))
        raise UsageError(f"picture: size={size}: a picture is {least:.1f} to {most:.0f} in wide, "
                         f"or {UNITS_LEAST} to {UNITS_MOST} px")
    return look._replace(size=size, **yes)
