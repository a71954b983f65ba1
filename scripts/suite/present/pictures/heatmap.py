# SPDX-License-Identifier: MIT
"""Heat map: how many times better than its baseline each cell is. Columns are sizes. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.base import grouped
from suite.base.units import number_text, size_parse
from suite.contrast.contrast import Verdict
from suite.decide.comparison.model import Comparison, Row
from suite.decide.optimum import better_ratio
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.judged import judged_marked
from suite.present.pictures import compared, parts
from suite.present.pictures.canvas import LETTER, Canvas, Sign, canvas_of
from suite.scenario.scenario import Picture

# Blue and orange differ for every kind of colour vision. White is between them; grey: no figure.
BETTER_COLOUR, WORSE_COLOUR, MIDDLE_COLOUR, ABSENT_COLOUR = 0x0072B2, 0xD55E00, 0xFFFFFF, 0xE8E8E8
BLACK, WHITE = 0x000000, 0xFFFFFF
DARKEST_LEAST, DARKEST_MOST = 1.1, 8.0  # range of the factor that has the darkest colour
TEXT_WIDTH = 72
COLUMN_UNITS, COLUMN_LEAST = 130, 48  # the width of a column in units: wanted, needed
ROW_UNITS, ROW_LEAST = 34, 22  # the height of a row in units: wanted, needed
NAME_UNITS = 54  # the margins beside the names of rows


@dataclass(frozen=True)
class Tile:
    """One cell of a heat map. place: its value on each axis. times: how many times better than the
    baseline it is; 1 if nothing is claimed, None if unknown. verdict: None without a ratio."""

    place: Mapping[str, str]
    text: str
    times: float | None
    verdict: Verdict | None


EMPTY = Tile({}, "", 1.0, None)  # where there is no cell


def tile_make(place: Mapping[str, str], row: Row, metric: Metric) -> Tile:
    """The tile of a row. If only its direction is known, it is drawn as DARKEST_LEAST."""
    change = row.changes.get(metric.name)
    if change is None or change.ratio is None:
        why = compared.absent_text(row, metric)
        return Tile(place, "-" if why == "unsupported" else why, None, None)
    times = better_ratio(change.ratio, metric).value
    text = number_text(times)
    if change.ratio.directed:
        text, times = ("better", DARKEST_LEAST) if times > 1 else ("worse", 1 / DARKEST_LEAST)
    if change.verdict in (Verdict.UNDECIDED, Verdict.WITHHELD):
        times = 1.0
    return Tile(place, judged_marked(text, change.judged), times, change.verdict)


def axis_across(axes: Sequence[str], versus: str, tiles: Sequence[Tile]) -> str:
    """The default axis of the columns: `message`, else the last axis of numbers, else the last one;
    "" without axes. versus: the axis of the baseline, which is not chosen."""
    rest = [axis for axis in axes if axis != versus]
    numbers = [axis for axis in rest if all(size_parse(tile.place[axis]) for tile in tiles)]
    return "message" if "message" in rest else [*rest, *numbers][-1] if rest else ""


def colour_of(times: float | None, darkest: float) -> int:
    """The colour of a tile: the farther from 1, the darker, on a logarithmic scale."""
    if times is None:
        return ABSENT_COLOUR
    share = min(abs(math.log(times)) / math.log(darkest), 1.0)
    end = BETTER_COLOUR if times > 1 else WORSE_COLOUR
    return int.from_bytes(bytes(
        round(middle + (most - middle) * share)
        for middle, most in zip(MIDDLE_COLOUR.to_bytes(3), end.to_bytes(3), strict=True)))


def text_colour(colour: int) -> int:
    """Black or white, whichever has more contrast with the colour, by its luminance (WCAG 2.2)."""
    red, green, blue = ((part / 255) ** 2.2 for part in colour.to_bytes(3))
    return BLACK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else WHITE


def heatmap_draw(comparisons: Sequence[Comparison], picture: Picture) -> list[parts.Drawing]:
    """A heat map for each combination of the axes that are neither rows nor columns; several if
    there is no room for all columns."""
    metric, canvas = comparisons[0].metrics[0], canvas_of(picture)
    versus = " ".join(comparisons[0].new.words) or "result"
    tiles = [tile_make({**row.axes, versus: compared.side_value(one.new)}, row, metric)
             for one in comparisons for row in one.rows]
    axes = list(dict.fromkeys(key for tile in tiles for key in tile.place))
    across = picture.x if picture.x in axes else axis_across(axes, versus, tiles)
    rest = [axis for axis in axes if axis != across]
    down = versus if versus != across else rest[-1] if rest else ""
    outer = [axis for axis in rest if axis != down]
    what = (f"{metric.text}, times {'faster' if metric.is_speed else 'better'} than "
            f"{compared.base_name(comparisons)}")
    note = compared.note_text(comparisons, "")
    known = [max(tile.times, 1 / tile.times) for tile in tiles if tile.times]
    darkest = min(max([DARKEST_LEAST, *known]), DARKEST_MOST)
    drawings = []
    for values, inside in grouped((tuple(tile.place[axis] for axis in outer), tile)
                                  for tile in tiles).items():
        rows, columns = (list(dict.fromkeys(tile.place.get(axis, "") for tile in inside))
                         for axis in (down, across))
        names = [parts.name_cut(row or "none", canvas.name_most) for row in rows]
        room = canvas.width - NAME_UNITS - LETTER * max(map(len, names))
        least = max(COLUMN_LEAST, 7.5 * max(len(tile.text) for tile in inside) + 4)
        pictures = parts.groups_fill(columns, lambda _: 1, max(1, int(room // least)))
        headline = parts.headline_text(comparisons[0].base.matrix, what,
                                       parts.axis_words(outer, values))
        name = parts.place_name(parts.picture_name(picture, metric.name), values)
        for number, shown in enumerate(pictures, start=1):
            found = {(tile.place.get(down, ""), tile.place.get(across, "")): tile
                     for tile in inside if tile.place.get(across, "") in shown}
            grid = [[found.get((row, column), EMPTY) for column in shown] for row in rows]
            heads = [parts.name_cut(column or "none", canvas.name_most) if across else ""
                     for column in shown]
            drawings.append(heatmap_drawing(
                canvas, name + f"-{number}" * (len(pictures) > 1), headline, note, grid, darkest,
                f"{down or '-'} down, {across or '-'} across",
                {**grid_settings(names, heads, [tile.text for tile in found.values()], canvas),
                 "label_x": parts.word_text(across)}))
    return drawings


def heatmap_drawing(canvas: Canvas, name: str, headline: str, note: str,
                    grid: Sequence[Sequence[Tile]], darkest: float, comment: str,
                    settings: Mapping[str, Any]) -> parts.Drawing:
    """One picture. grid: the tiles of each row. darkest: the factor of the darkest colour."""
    tiles = [tile for row in grid for tile in row]
    times, around = [tile.times or 1.0 for tile in tiles], settings["below"] + 4
    signs = [*[Sign("blue", "", "better")] * (max(times) > 1),
             *[Sign("orange", "", "worse")] * (min(times) < 1),
             *parts.verdict_signs({tile.verdict for tile in tiles}),
             *[Sign("-", "-", "unsupported")] * any(tile.text == "-" for tile in tiles)]
    block = [(c, r, colour, text_colour(colour), tile.text) for r, row in enumerate(grid)
             for c, tile in enumerate(row) for colour in (colour_of(tile.times, darkest),)]
    return parts.Drawing(name, "heatmap", parts.data_text([[comment, *block]]), {
        **canvas.titles(ROW_UNITS * len(grid) + around, ROW_LEAST * len(grid) + around, headline,
                        note, signs), **settings})


def grid_settings(names: Sequence[str], heads: Sequence[str], texts: Sequence[str], canvas: Canvas
                  ) -> dict[str, Any]:
    """Names of rows and columns, and the place and width of columns; in text, columns without room
    follow below. texts: those of the tiles."""
    widest, longest = max(map(len, names)), max(map(len, heads))
    # A column is as wide as its name if there is room; else names are slanted.
    named = round(24 + LETTER * widest)
    pixels = min(max(COLUMN_UNITS, round(8.5 * longest + 16)),
                 (canvas.width - 30 - named) // len(heads))
    slanted = 8.5 * longest > pixels
    letters = 2 + max(map(len, [*texts, *heads]))
    return {"rows": [*names], "columns": [*heads], "widest": widest, "letters": letters,
            "together": max(1, (TEXT_WIDTH - 4 - widest) // letters),
            "begin": named + (canvas.width - 30 - named - pixels * len(heads)) // 2,
            "pixels": pixels, "slanted": slanted, "below": 44 + round(2.5 * longest) * slanted}


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return heatmap_draw(compared.baseline_comparisons(matrix, picture), picture)
