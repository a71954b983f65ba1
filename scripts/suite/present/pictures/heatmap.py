# SPDX-License-Identifier: MIT
"""Heat map: how many times better than its baseline each cell is. Columns are sizes. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from suite.base.errors import UsageError
from suite.base.units import counted_text, number_text, size_parse
from suite.base.words import words_text
from suite.contrast.contrast import Verdict
from suite.decide.optimum import better_ratio
from suite.decide.summary import Figure
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import Metric
from suite.present.judged import judged_marked
from suite.present.pictures import parts
from suite.present.pictures.canvas import LETTER, Canvas, Sign
from suite.scenario.scenario import Picture

# Blue and orange differ for every kind of colour vision. White is between them; grey: no figure.
BETTER_COLOUR, WORSE_COLOUR, ABSENT_COLOUR = 0x0072B2, 0xD55E00, 0xE8E8E8
BLACK, WHITE = 0x000000, 0xFFFFFF
DARKEST_LEAST, DARKEST_MOST = 1.1, 8.0  # range of the factor that has the darkest colour
COLUMN_UNITS, COLUMN_LEAST = 130, 48  # the width of a column in units: wanted, needed
HEIGHTS = 34, 22  # of a row in units: wanted, needed
NAME_UNITS = 54  # the margins beside the names of rows


class Tile(NamedTuple):
    """One cell of a heat map. times: how many times better than the baseline it is; 1 if nothing is
    claimed, None if unknown. verdict: None without a ratio."""

    text: str = ""
    times: float | None = 1.0
    verdict: Verdict | None = None


def tile_make(matrix: Matrix, cell: Cell, figure: Figure | None, metric: Metric) -> Tile:
    """If only the direction of a ratio is known, it is drawn as DARKEST_LEAST."""
    judged = figure.judged if figure else None
    if judged is None or judged.estimate is None:
        why = parts.unjudged_text((cell, matrix.baseline_find(cell)), judged, metric.timed)
        return Tile("-" if why == "unsupported" else why, None)
    times = better_ratio(judged.estimate, metric).value
    text = number_text(times)
    if judged.estimate.directed:
        text, times = ("better", DARKEST_LEAST) if times > 1 else ("worse", 1 / DARKEST_LEAST)
    if judged.verdict in (Verdict.UNDECIDED, Verdict.WITHHELD):
        times = 1.0
    return Tile(judged_marked(text, judged), times, judged.verdict)


def axes_choose(matrix: Matrix, x: str | None) -> tuple[tuple[str, ...], str]:
    """The axes of the rows, and the axis of the columns or "". Rows are the axes of the baseline.
    Columns are x, else `message`, else the last axis of numbers, else the last axis."""
    versus = [axis for axis in matrix.axes if axis in matrix.baseline]
    rest = [axis for axis in matrix.axes if axis not in matrix.baseline]
    numbers = [axis for axis in rest if all(
        size_parse(cell.axes[axis]) for cell in matrix.cells.values())]
    usual = "message" if "message" in rest else "".join([*rest, *numbers][-1:])
    across = x if x in matrix.axes else usual
    down = tuple(axis for axis in versus if axis != across)
    return down or tuple(axis for axis in rest if axis != across)[-1:], across


def colour_of(times: float | None, darkest: float) -> int:
    """The colour of a tile: the farther from 1, the darker, on a logarithmic scale."""
    if times is None:
        return ABSENT_COLOUR
    share = min(abs(math.log(times)) / math.log(darkest), 1.0)
    end = BETTER_COLOUR if times > 1 else WORSE_COLOUR
    return int.from_bytes(bytes(round(255 + (part - 255) * share) for part in end.to_bytes(3)))


def text_colour(colour: int) -> int:
    """Black or white, whichever has more contrast with the colour, by its luminance (WCAG 2.2)."""
    red, green, blue = ((part / 255) ** 2.2 for part in colour.to_bytes(3))
    return BLACK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else WHITE


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """A heat map for each combination of the axes that are neither rows nor columns; several if
    there is no room for all columns."""
    metric = parts.picture_metric(matrix, picture)
    figures, drawings = parts.figures_of(matrix, metric), []
    tiles = {cell.name: tile_make(matrix, cell, figures.get(cell.name), metric)
             for cell in matrix.cells.values() if matrix.baseline and not cell.baseline}
    if not tiles:
        raise UsageError(f"picture: {picture.kind}: {parts.NO_BASELINE}")
    known = [max(tile.times, 1 / tile.times) for tile in tiles.values() if tile.times]
    darkest = min(max([DARKEST_LEAST, *known]), DARKEST_MOST)
    down, across = axes_choose(matrix, picture.x)
    for page in parts.pages_divide(matrix, picture, metric.name, {*down, across}):
        found = {(" ".join(cell.axes[axis] for axis in down), cell.axes.get(across, "")):
                 tiles[cell.name] for cell in page.cells if cell.name in tiles}
        if not found:
            continue
        rows, columns = (list(dict.fromkeys(place[index] for place in found)) for index in (0, 1))
        room = page.canvas.width - NAME_UNITS - LETTER * max(
            len(parts.name_cut(row, page.canvas.name_most)) for row in rows)
        least = max(COLUMN_LEAST, 7.5 * max(len(tile.text) for tile in found.values()) + 4)
        drawings += [heatmap_drawing(
            part, metric, " ".join(down), across,
            {row: [found.get((row, column), Tile()) for column in shown] for row in rows},
            shown, darkest) for part, shown in page.divide(
                columns, lambda _: 1, int(room // least))]
    return drawings


def heatmap_drawing(page: parts.Page, metric: Metric, down: str, across: str,
                    grid: Mapping[str, Sequence[Tile]], columns: Sequence[str], darkest: float
                    ) -> parts.Drawing:
    """One picture. grid: the tiles of each row. darkest: the factor of the darkest colour."""
    most, matrix = page.canvas.name_most, page.matrix
    names = [parts.name_cut(row or "none", most) for row in grid]
    heads = [parts.name_cut(column or "none", most) if across else "" for column in columns]
    tiles = [tile for row in grid.values() for tile in row]
    times = [tile.times or 1.0 for tile in tiles]
    signs = [*[Sign("blue", "", "better")] * (max(times) > 1),
             *[Sign("orange", "", "worse")] * (min(times) < 1),
             *parts.verdict_signs({tile.verdict for tile in tiles}),
             *[Sign("-", "-", "unsupported")] * any(tile.text == "-" for tile in tiles)]
    settings = grid_settings(names, heads, [tile.text for tile in tiles], page.canvas)
    block: parts.Block = [f"{down or '-'} down, {across or '-'} across", *(
        (c, r, colour_of(tile.times, darkest), text_colour(colour_of(tile.times, darkest)),
         tile.text) for r, row in enumerate(grid.values()) for c, tile in enumerate(row))]
    what = (f"{metric.text}, times {'faster' if metric.is_speed else 'better'} than "
            f"{words_text(matrix.baseline)}")
    note = page.note(f"ratios, {counted_text(matrix.rounds, 'round')}", metric)
    return page.drawing("heatmap", [block], what, note, signs, HEIGHTS, {
        **settings, "label_x": parts.word_text(across)}, len(grid), settings["below"] + 4)


def grid_settings(names: Sequence[str], heads: Sequence[str], texts: Sequence[str], canvas: Canvas
                  ) -> dict[str, Any]:
    """Names of rows and columns, and the width of columns. texts: those of the tiles."""
    widest, longest = max(map(len, names)), max(map(len, heads))
    # A column is as wide as its name if there is room; else names are slanted.
    named = round(24 + LETTER * widest)
    pixels = min(max(COLUMN_UNITS, round(8.5 * longest + 16)),
                 (canvas.width - 30 - named) // len(heads))
    slanted = 8.5 * longest > pixels
    return {"rows": [*names], "columns": [*heads], "widest": widest, "pixels": pixels,
            "letters": 2 + max(map(len, [*texts, *heads])), "slanted": slanted,
            "below": 44 + round(2.5 * longest) * slanted}
