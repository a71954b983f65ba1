# SPDX-License-Identifier: MIT
"""A finished block: sides and words above, a table for each metric, at most four lines below.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from suite.analyse.comparison.model import Comparison, Side
from suite.analyse.frame import Cell
from suite.analyse.summary import Summary
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD
from suite.base.words import words_text
from suite.present.comparison.texts import side_text
from suite.present.mail.command import commands_join
from suite.present.mail.figures import cells_tables, comparison_tables
from suite.present.mail.foot import CUT, cells_remarks, differs_text, known_remarks, machine_line
from suite.present.tables.model import Document, Section
from suite.result.plan import revision_of

EVERYTHING = "everything"  # a side that nothing narrows
# of a part of a side's name: what a folder is called, `-YYYYmmdd-HHMMSS` at its end
NAME_WIDTH = 48


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


def comparison_block(comparison: Comparison, commands: Sequence[Sequence[str]]) -> Document:
    """The block of two sides; commands are those that measure them. UsageError where there is
    nothing to show."""
    cells = [cell for row in comparison.rows for cell in (row.base, row.new) if cell]
    sides = (comparison.base, comparison.new)
    words = words_common(cells, [*comparison.axes, *(key for side in sides for key in side.words)])
    heads = list(zip(("base", "new"), sides_name(*sides), strict=True))
    if not any(row.changes for row in comparison.rows):
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare")
    heads += [("with", words_text(words))] if words else []
    below = [machine_line(comparison.base.matrix, cells_measured(comparison)),
             differs_text(comparison)]
    return Document("", [Section(heads, comparison_tables(comparison))],
                    [(None, line) for line in below], commands=commands_join(commands))


def table_block(summary: Summary, words: Mapping[str, str], command: Sequence[str]) -> Document:
    """The block of a result, or of its cells with these words, where there is nothing to compare
    them with."""
    cells = [cell for cell in summary.matrix.cells.values()
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    axes = tuple(axis for axis in summary.matrix.axes
                 if len({cell.axes[axis] for cell in cells}) > 1)
    common = words_common(cells, [*axes, *words])
    tables = cells_tables(summary, axes, [cell.name for cell in cells])
    if not tables:
        raise UsageError(f"no good run of {words_text(words) or summary.matrix.result.name} knows "
                         f"{' or '.join(metric.name for metric in summary.metrics)}")
    remarks = [*cells_remarks(cells), *known_remarks(summary.matrix, cells, summary.metrics)]
    heads = [("cells", words_text(words) or "all")]
    heads += [("with", words_text(common))] if common else []
    below = [machine_line(summary.matrix, cells)]
    below += [f"remarks: {'; '.join(remarks)}"] if remarks else []
    return Document("", [Section(heads, tables)], [(None, line) for line in below],
                    commands=[command])
