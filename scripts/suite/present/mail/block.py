# SPDX-License-Identifier: MIT
"""A finished block: sides and words above, a table for each metric, at most four lines below.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suite.analyse.comparison.model import Comparison, Side
from suite.analyse.frame import Cell
from suite.analyse.selection import words_text
from suite.analyse.summary import Summary
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD
from suite.present.comparison.texts import metric_title, side_text
from suite.present.mail.command import command_lines, commands_join
from suite.present.mail.foot import CUT, cells_remarks, differs_text, known_remarks, machine_text
from suite.present.mail.grid import (
    ONLY_AXIS,
    Grid,
    comparison_grids,
    grid_columns,
    grid_rows,
    table_grids,
)
from suite.present.mail.rules import COLUMNS, lines_require
from suite.present.mail.styles import STYLES
from suite.result.plan import revision_of

EVERYTHING = "everything"  # a side that nothing narrows
# of a part of a side's name: what a folder is called, `-YYYYmmdd-HHMMSS` at its end
NAME_WIDTH = 48
SYMBOLS = {"+/-": "\u00b1", "us": "\u00b5s", " -> ": " \u2192 "}  # what --utf8 writes instead


@dataclass(frozen=True)
class Block:
    """heads: (label, text) above the tables. below: lines under them. commands: words after
    `run`."""

    heads: tuple[tuple[str, str], ...]
    grids: tuple[Grid, ...]
    below: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]


def words_common(cells: Iterable[Cell], but: Iterable[str]) -> dict[str, str]:
    """The words of the plan that all cells share, without those that stand elsewhere."""
    given = [cell.given for cell in cells]
    first = given[0] if given else {}
    return {key: value for key, value in first.items()
            if key not in set(but) and all(words.get(key) == value for words in given)}


def name_fit(side: Side) -> str:
    """What a side is called, in parts that fit into a line: of a longer one, a folder's, the end is
    kept."""
    known = words_text(side.words).split()
    parts = [part if part in known or len(part) <= NAME_WIDTH else CUT +
             part[len(CUT) - NAME_WIDTH:]
             for part in side.name.split()]
    return " ".join(parts)


def sides_name(base: Side, new: Side) -> tuple[str, str]:
    """Both sides for the heads: two builds by their revisions, if these differ, else as they are
    called."""
    named = [replace(side, name=revision_of(side.matrix.result.plan, side.words))
             for side in (base, new)]
    builds = BUILD in base.words and all(side.name
                                         for side in named) and named[0].name != named[1].name
    first, second = (replace(side, name=name_fit(side))
                     for side in (named if builds else (base, new)))
    return side_text(first) or EVERYTHING, side_text(second) or EVERYTHING


def cells_measured(comparison: Comparison) -> list[Cell]:
    """The cells whose machines a block names: of two results those of the base, and what differs
    says the rest."""
    sides = [(row.base, row.new if comparison.within else None) for row in comparison.rows]
    return [cell for pair in sides for cell in pair if cell]


def comparison_block(comparison: Comparison, commands: Sequence[Sequence[str]]) -> Block:
    """The block of two sides; commands are those that measure them. UsageError where there is
    nothing to show."""
    cells = [cell for row in comparison.rows for cell in (row.base, row.new) if cell]
    sides = (comparison.base, comparison.new)
    words = words_common(cells, [*comparison.axes, *(key for side in sides for key in side.words)])
    heads = list(zip(("base", "new"), sides_name(*sides), strict=True))
    grids = comparison_grids(comparison)
    if not any(row.changes for row in comparison.rows):
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare")
    return Block((*heads, *([("with", words_text(words))] if words else [])), grids,
                 (machine_text(comparison.base.matrix, cells_measured(comparison)),
                  differs_text(comparison)),
                 tuple(commands_join(commands)))


def table_block(summary: Summary, words: Mapping[str, str], command: Sequence[str]) -> Block:
    """The block of a result, or of its cells with these words, where there is nothing to compare
    them with."""
    cells = [cell for cell in summary.matrix.cells.values()
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    axes = tuple(axis for axis in summary.matrix.axes
                 if len({cell.axes[axis] for cell in cells}) > 1)
    common = words_common(cells, [*axes, *words])
    grids = table_grids(summary, axes, [cell.name for cell in cells])
    if not grids:
        raise UsageError(f"no good run of {words_text(words) or summary.matrix.result.name} knows "
                         f"{' or '.join(metric.name for metric in summary.metrics)}")
    remarks = [*cells_remarks(cells), *known_remarks(summary.matrix, cells, summary.metrics)]
    return Block((("cells", words_text(words) or "all"),
                  *([("with", words_text(common))] if common else [])), grids,
                 (machine_text(summary.matrix, cells),
                  *([f"remarks: {'; '.join(remarks)}"] if remarks else [])),
                 (tuple(command),))


def fits(lines: Sequence[str]) -> bool:
    """Whether no line is too wide."""
    return all(len(line) <= COLUMNS for line in lines)


def grids_fit(grid: Grid, table: Callable[[Grid], list[str]]) -> list[Grid]:
    """The grid whole, else cut by groups of columns, else by the values of its first axis.

    UsageError where no cut makes it fit: what is too wide then is a figure.
    """
    if fits(table(grid)):
        return [grid]
    if len(grid.groups) > 1 and all(fits(table(part)) for part in grid_columns(grid)):
        return grid_columns(grid)
    if grid.axes != (ONLY_AXIS,):
        return [part for rows in grid_rows(grid) for part in grids_fit(rows, table)]
    title = metric_title(grid.metric, grid.unit)
    raise UsageError(f"{title}: its figures are too long for a table of {COLUMNS} columns")


def symbols_put(text: str) -> str:
    """The text with the symbols of SYMBOLS."""
    for ascii_text, symbol in SYMBOLS.items():
        text = symbol if text == ascii_text else text.replace(ascii_text,
                                                              symbol) if " " in ascii_text else text
    return text


def grid_symbols(grid: Grid) -> Grid:
    """The grid with symbols in its heads."""
    return replace(grid, unit=symbols_put(grid.unit),
                   groups=tuple(tuple(map(symbols_put, group)) for group in grid.groups))


def line_clean(line: str, utf8: bool) -> str:
    """A line with facts that others wrote: no tabs, and ASCII or symbols."""
    line = " ".join(line.split())
    return symbols_put(line) if utf8 else line.encode("ascii", "replace").decode()


def grid_lines(grid: Grid, style: str) -> list[str]:
    """The tables of one metric and the line below."""
    kind, lines = STYLES[style], []
    for part in grids_fit(grid, kind.table):
        at = kind.labelled("at", words_text(part.fixed)) if part.fixed else []
        lines += [*kind.title(metric_title(part.metric, part.unit)), *at, *kind.table(part)]
        lines += kind.below([part.rounds]) if part.rounds else [""]
    return lines


def empty_once(lines: Iterable[str]) -> list[str]:
    """Lines without a second empty one in a row, none at the ends."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return kept[:-1] if kept and not kept[-1] else kept


def block_lines(block: Block, style: str = "plain", utf8: bool = False) -> list[str]:
    """The block as it is posted; Failure where it would break a rule."""
    kind = STYLES[style]
    lines = [line for label, text in block.heads
             for line in kind.labelled(label, line_clean(text, utf8))]
    for grid in block.grids:
        lines += ["", *grid_lines(grid_symbols(grid) if utf8 else grid, style)]
    lines += kind.below([line_clean(line, utf8) for line in block.below])
    lines += [line for words in block.commands for line in kind.command(command_lines(words))]
    lines = empty_once(lines)
    lines_require(lines, utf8)
    return lines
