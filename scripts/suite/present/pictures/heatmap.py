# SPDX-License-Identifier: MIT
"""Heat map: how many times better than its baseline each cell is. Columns are sizes. Pure."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from suite.base.units import number_text, size_parse
from suite.contrast.contrast import Verdict
from suite.decide.comparison.model import Comparison, Row
from suite.decide.optimum import better_ratio
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.judged import judged_marked
from suite.present.pictures import compared, parts
from suite.present.pictures.canvas import LETTER, LINE, Canvas, Sign, canvas_of, lines_of
from suite.scenario.scenario import Picture

# Blue and orange differ for every kind of colour vision. White is between them; grey: no figure.
BETTER_COLOUR, WORSE_COLOUR, MIDDLE_COLOUR, ABSENT_COLOUR = 0x0072B2, 0xD55E00, 0xFFFFFF, 0xE8E8E8
BLACK, WHITE = 0x000000, 0xFFFFFF
DARKEST_LEAST, DARKEST_MOST = 1.1, 8.0  # range of the factor that has the darkest colour
TEXT_WIDTH = 72
COLUMN_UNITS, COLUMN_LEAST = 130, 48  # the width of a column in units: wanted, needed
ROW_UNITS, ROW_LEAST = 34, 22  # the height of a row in units: wanted, needed
NAME_UNITS = 54  # the margins beside the names of rows
COLOUR_SIGNS = {1: Sign("blue", "", "better"), -1: Sign("orange", "", "worse")}  # by Tile.direction


@dataclass(frozen=True)
class Tile:
    """One cell of a heat map. place: its value on each axis. times: how many times better than the
    baseline it is; None if unknown. verdict: None without a ratio."""

    place: Mapping[str, str]
    text: str
    times: float | None
    verdict: Verdict | None

    @property
    def direction(self) -> int:
        """1 if the tile is blue, -1 if orange, else 0."""
        known = self.times if self.verdict not in (
            Verdict.UNDECIDED, Verdict.WITHHELD) else None
        return (known > 1) - (known < 1) if known else 0


def tile_make(place: Mapping[str, str], row: Row, metric: Metric) -> Tile:
    """The tile of a row. If only its direction is known, it is drawn as DARKEST_LEAST."""
    change = row.changes.get(metric.name)
    if change is None or change.ratio is None:
        return Tile(place, compared.absent_text(row, metric), None, None)
    times = better_ratio(change.ratio, metric).value
    text = number_text(times)
    if change.ratio.directed:
        text, times = ("better", DARKEST_LEAST) if times > 1 else ("worse", 1 / DARKEST_LEAST)
    return Tile(place, judged_marked(text, change.judged), times, change.verdict)


def axis_across(axes: Sequence[str], versus: str, tiles: Sequence[Tile]) -> str:
    """The default axis of the columns: `message`, else the last axis of numbers, else the last one;
    "" without axes. versus: the axis of the baseline, which is not chosen."""
    rest = [axis for axis in axes if axis != versus]
    numbers = [axis for axis in rest if all(size_parse(tile.place[axis]) for tile in tiles)]
    return "message" if "message" in rest else [*rest, *numbers][-1] if rest else ""


def colour_of(tile: Tile, darkest: float) -> int:
    """The colour of a tile: the farther from 1, the darker, on a logarithmic scale."""
    if tile.times is None:
        return ABSENT_COLOUR
    if tile.verdict in (Verdict.UNDECIDED, Verdict.WITHHELD):
        return MIDDLE_COLOUR
    share = min(abs(math.log(tile.times)) / math.log(darkest), 1.0)
    end = BETTER_COLOUR if tile.times > 1 else WORSE_COLOUR
    return sum(round((MIDDLE_COLOUR >> bits & 255) * (1 - share) + (end >> bits & 255) * share)
               << bits for bits in (16, 8, 0))


def text_colour(colour: int) -> int:
    """Black or white, whichever has more contrast with the colour, by its luminance (WCAG 2.2)."""
    light = sum(weight * ((colour >> bits & 255) / 255) ** 2.2
                for weight, bits in ((0.2126, 16), (0.7152, 8), (0.0722, 0)))
    return BLACK if light > 0.179 else WHITE


def heatmap_draw(comparisons: Sequence[Comparison], x: str | None, name: str,
                 canvas: Canvas = Canvas()) -> list[parts.Drawing]:
    """A heat map for each combination of the axes that are neither rows nor columns; several if
    there is no room for all columns. x: the axis of the columns."""
    metric = comparisons[0].metrics[0]
    versus = " ".join(comparisons[0].new.words) or "result"
    tiles = [tile_make({**row.axes, versus: compared.side_value(one.new)}, row, metric)
             for one in comparisons for row in one.rows]
    axes = list(dict.fromkeys(key for tile in tiles for key in tile.place))
    across = x if x in axes else axis_across(axes, versus, tiles)
    rest = [axis for axis in axes if axis != across]
    down = versus if versus != across else rest[-1] if rest else ""
    outer = [axis for axis in rest if axis != down]
    grids: dict[tuple[str, ...], dict[tuple[str, str], Tile]] = {}
    for tile in tiles:
        grids.setdefault(tuple(tile.place[axis] for axis in outer), {})[
            tile.place.get(down, ""), tile.place.get(across, "")] = tile
    what = (f"{metric.text}, times {'faster' if metric.is_speed else 'better'} than "
            f"{compared.base_name(comparisons)}")
    text = what + f", by {parts.word_text(across)}" * bool(across)
    label, in_text = lines_of(text, (canvas.width - 30) / LETTER), textwrap.wrap(text, 50)
    note = compared.note_text(comparisons, "")
    known = [max(tile.times, 1 / tile.times) for tile in tiles if tile.times]
    drawings, darkest = [], min(max([DARKEST_LEAST, *known]), DARKEST_MOST)
    for values, grid in grids.items():
        rows, columns = (list(dict.fromkeys(place[index] for place in grid)) for index in (0, 1))
        names = [parts.name_cut(row or "none", canvas.name_most) for row in rows]
        least = max(COLUMN_LEAST, 7.5 * max(len(tile.text) for tile in grid.values()) + 4)
        room = canvas.width - NAME_UNITS - LETTER * max(map(len, names))
        pictures = -(-len(columns) // max(1, int(room // least)))
        headline = parts.headline_text(comparisons[0].base.matrix, what,
                                       parts.axis_words(outer, values))
        for number in range(pictures):
            shown = columns[number * len(columns) // pictures:
                            (number + 1) * len(columns) // pictures]
            block: list[parts.Row] = [f"{down or '-'} down, {across or '-'} across"]
            for (r, row), (c, column) in product(enumerate(rows), enumerate(shown)):
                tile = grid.get((row, column), Tile({}, "", 1.0, Verdict.UNDECIDED))
                colour = colour_of(tile, darkest)
                block.append((c, r, colour, text_colour(colour), tile.text))
            inside = [tile for (_, column), tile in grid.items() if column in shown]
            texts, directions = [tile.text for tile in inside], {tile.direction for tile in inside}
            signs = [*(sign for direction, sign in COLOUR_SIGNS.items() if direction in directions),
                     *parts.verdict_signs({tile.verdict for tile in inside}),
                     *compared.absent_signs(texts)]
            heads = [parts.name_cut(column or "none", canvas.name_most) if across else ""
                     for column in shown]
            settings = grid_settings(names, heads, texts, canvas)
            settings["below"] += LINE * (len(label) - 1)
            around = settings["below"] + 4
            drawings.append(parts.Drawing(
                parts.place_name(name, values) + f"-{number + 1}" * (pictures > 1), "heatmap",
                parts.data_text([block]), {
                    **canvas.titles(ROW_UNITS * len(rows) + around, ROW_LEAST * len(rows) + around,
                                    headline, note, signs),
                    **settings, "label_x": "\n".join(label), "label_rows": len(label),
                    "label_x_text": "\n".join(in_text), "label_text_rows": len(in_text)}))
    return drawings


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
    comparisons = compared.baseline_comparisons(matrix, picture)
    name = parts.picture_name(picture, comparisons[0].metrics[0].name)
    return heatmap_draw(comparisons, parts.picture_axis(matrix, picture), name, canvas_of(picture))
