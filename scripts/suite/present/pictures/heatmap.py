# SPDX-License-Identifier: MIT
"""Heat map: how many times better than its baseline each cell is, strategies down and sizes across.
Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite.analyse.comparison.model import Comparison, Row
from suite.analyse.metrics import Metric
from suite.analyse.optimum import better_ratio, is_speed
from suite.analyse.verdicts import Verdict
from suite.base.units import number_text, size_parse
from suite.present.pictures.compared import (
    Versus,
    absent_text,
    base_name,
    change_marked,
    change_of,
    side_axis,
    side_value,
    versus_titles,
)
from suite.present.pictures.picture import (
    Drawing,
    gnuplot_array,
    gnuplot_string,
    name_cut,
    name_safe,
    place_name,
    place_text,
)

# Two ends that differ for every kind of colour vision; white between them, and grey where there is
# no figure.
BETTER_COLOUR, WORSE_COLOUR, MIDDLE_COLOUR, ABSENT_COLOUR = 0x0072B2, 0xD55E00, 0xFFFFFF, 0xE8E8E8
BLACK, WHITE = 0x000000, 0xFFFFFF
REACH_LEAST, REACH_MOST = 1.1, 8.0  # times better at which the darkest colour is reached
COLUMNS_MAX, TEXT_WIDTH = 16, 72
FIGURES = "blue: better, orange: worse, ~: no change, ( ): may be chance among so many, ?: too few rounds"


@dataclass(frozen=True)
class Tile:
    """One cell of a grid. place: all that names it; times: how many times better, None if not
    known."""

    place: Mapping[str, str]
    text: str
    times: float | None
    same: bool


@dataclass(frozen=True)
class Grid:
    """Tiles by (row, column), each named by its value on an axis; an axis of "" has one value."""

    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tiles: Mapping[tuple[str, str], Tile]


def tile_make(place: Mapping[str, str], row: Row, metric: Metric) -> Tile:
    """The tile of a row of a comparison."""
    change = change_of(row, metric)
    if change is None or change.ratio is None:
        return Tile(place, absent_text(row, metric), None, False)
    times = better_ratio(change.ratio, metric).value
    if change.ratio.directed:  # drawn like the smallest difference: its size is not known
        word = "better" if times > 1 else "worse"
        return Tile(place, change_marked(change.verdict, word),
                    REACH_LEAST if times > 1 else 1 / REACH_LEAST,
                    change.verdict is Verdict.SAME)
    return Tile(place, change_marked(change.verdict, number_text(times)), times,
                change.verdict is Verdict.SAME)


def tiles_make(comparisons: Iterable[Comparison], metric: Metric) -> list[Tile]:
    """A tile for each row of each comparison, its place with the word that is compared."""
    return [tile_make({**row.axes, side_axis(one.new): side_value(one.new)}, row, metric)
            for one in comparisons for row in one.rows]


def axis_across(axes: Sequence[str], versus: str, tiles: Sequence[Tile]) -> str:
    """The axis of the columns that nobody chose: sizes, else other numbers, else the last; "" if
    none is left."""
    rest = [axis for axis in axes if axis != versus]
    numbers = [axis for axis in rest if all(size_parse(tile.place[axis]) for tile in tiles)]
    return "message" if "message" in rest else [*rest, *numbers][-1] if rest else ""


def grids_make(tiles: Sequence[Tile], versus: str,
               x: str | None) -> list[tuple[Mapping[str, str], Grid]]:
    """A grid for each combination of the axes that are neither down nor across, with what names
    it."""
    axes = list(dict.fromkeys(key for tile in tiles for key in tile.place))
    across = x if x in axes else axis_across(axes, versus, tiles)
    left = [axis for axis in axes if axis != across]
    down = versus if versus != across else left[-1] if left else ""
    groups: dict[tuple[str, ...], list[Tile]] = {}
    outer = [axis for axis in left if axis != down]
    for tile in tiles:
        groups.setdefault(tuple(tile.place[axis] for axis in outer), []).append(tile)
    return [(dict(zip(outer, values, strict=True)), grid_make(found, down, across))
            for values, found in groups.items()]


def grid_make(tiles: Sequence[Tile], down: str, across: str) -> Grid:
    """One grid; its rows and columns in the order in which they come."""
    placed = {(tile.place.get(down, ""), tile.place.get(across, "")): tile for tile in tiles}
    rows, columns = (tuple(dict.fromkeys(key[index] for key in placed)) for index in (0, 1))
    return Grid(down, across, rows, columns, placed)


def reach_of(tiles: Iterable[Tile]) -> float:
    """How many times better or worse is drawn in the darkest colour."""
    known = [max(tile.times, 1 / tile.times) for tile in tiles if tile.times]
    return min(max([REACH_LEAST, *known]), REACH_MOST)


def colour_of(tile: Tile, reach: float) -> int:
    """The colour of a tile: the farther from 1 the darker, on a logarithmic scale."""
    if tile.times is None:
        return ABSENT_COLOUR
    if tile.same:
        return MIDDLE_COLOUR
    share = min(abs(math.log(tile.times)) / math.log(reach), 1.0)
    end = BETTER_COLOUR if tile.times > 1 else WORSE_COLOUR
    parts = [round((MIDDLE_COLOUR >> bits & 255) * (1 - share) + (end >> bits & 255) * share)
             for bits in (16, 8, 0)]
    return parts[0] << 16 | parts[1] << 8 | parts[2]


def luminance(colour: int) -> float:
    """Relative luminance, 0 to 1, by WCAG 2.2."""
    parts = [(colour >> bits & 255) / 255 for bits in (16, 8, 0)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
              for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def text_colour(colour: int) -> int:
    """Black or white, whichever stands out more from the colour (the ratio of contrast by WCAG
    2.2)."""
    light = luminance(colour) + 0.05
    return BLACK if light / 0.05 >= 1.05 / light else WHITE


def grid_data(grid: Grid, reach: float) -> str:
    """A .dat: column, row, colour, colour of the text, text."""
    lines = [f"# {grid.down or '-'} down, {grid.across or '-'} across"]
    for down, row in enumerate(grid.rows):
        for across, column in enumerate(grid.columns):
            tile = grid.tiles.get((row, column))
            colour = colour_of(tile, reach) if tile else MIDDLE_COLOUR
            text = tile.text if tile else ""
            lines.append(f'{across} {down} {colour} {text_colour(colour)} "{text}"')
    return "\n".join(lines) + "\n"


def grid_columns(grid: Grid) -> list[Grid]:
    """Grids of at most COLUMNS_MAX columns."""
    return [Grid(grid.down, grid.across, grid.rows, grid.columns[at:at + COLUMNS_MAX], grid.tiles)
            for at in range(0, len(grid.columns), COLUMNS_MAX)]


def grid_settings(grid: Grid) -> list[str]:
    """Names, and how wide a column is in text: of so many columns as have room, below each
    other."""
    rows = [name_cut(row or "none") for row in grid.rows]
    columns = [name_cut(column or "none") if grid.across else "" for column in grid.columns]
    widest = max(map(len, rows))
    texts = [tile.text for key, tile in grid.tiles.items() if key[1] in grid.columns]
    wide = 2 + max(map(len, [*texts, *columns]))
    return [
        gnuplot_array("rows", rows), gnuplot_array("columns", columns),
        f"widest = {widest}", f"wide = {wide}",
        f"together = {max(1, (TEXT_WIDTH - 4 - widest) // wide)}",
        f"label_x = {gnuplot_string(grid.across)}",
        f"height = {120 + 34 * len(rows)}",
    ]


def heatmap_draw(comparisons: Sequence[Comparison], plan: Versus) -> list[Drawing]:
    """A heat map for each combination of the axes that are neither down nor across."""
    first, metric = comparisons[0], plan.metric
    tiles = tiles_make(comparisons, metric)
    reach = reach_of(tiles)
    word = "faster" if is_speed(metric) else "better"
    what = f"{metric.name.replace('_', ' ')}, times {word} than {base_name(comparisons)}"
    drawings = []
    for outer, whole in grids_make(tiles, side_axis(first.new), plan.x):
        parts = grid_columns(whole)
        for number, grid in enumerate(parts, start=1):
            name = name_safe(place_name(plan.name, outer.values())) + (f"-{number}"
                if len(parts) > 1 else "")
            settings = [f"name = {gnuplot_string(name)}",
                        *versus_titles(comparisons, what, "", place_text(outer, outer.values())),
                        f"legend = {gnuplot_string(FIGURES)}", *grid_settings(grid)]
            drawings.append(Drawing(name, "heatmap", grid_data(grid, reach),
                                    "\n".join(settings) + "\n"))
    return drawings
