# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: how they were measured, where, and what differs. Pure."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence

from suite.analyse.comparison.build import NO_TIMES
from suite.analyse.comparison.model import Comparison, difference_text
from suite.analyse.frame import Cell, Matrix
from suite.analyse.machines import TIMES_INVALID
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.analyse.verdicts import Verdict
from suite.base.units import counted_text
from suite.present.comparison.texts import floor_text, rows_left_out, span_text
from suite.present.heading import congestion_text, known_text, machines_text
from suite.present.mail.rules import COLUMNS

CUT = "..."
LINE_WIDTH = COLUMNS - 2  # a style may put a mark before a line
PIECE_WIDTH = 16  # of an item that is cut, at least
# What gives way in a line of rounds that is too long, in turn.
SHORTER = (("exact rank CI", "rank CI"), (" rounds,", ","), (" a side,", ","), (" in turns,", ""))


def line_shorten(line: str) -> str:
    """The line in fewer words, as far as it has to be."""
    for long, short in SHORTER:
        line = line.replace(long, short) if len(line) > LINE_WIDTH else line
    return line


def table_rounds_text(figures: Sequence[Figure], floor: float | None, metric: Metric) -> str:
    """The line of rounds of a table, which compares nothing."""
    rounds = span_text([figure.rounds for figure in figures])
    parts = [f"n={rounds} round{'s' if rounds != '1' else ''}, medians"]
    if any(figure.interval and figure.interval.level for figure in figures):
        parts.append("order statistics CI")
    return ", ".join(parts) + ("" if metric.counts and floor is None else f"; {floor_text(floor)}")


def text_cut(text: str, width: int = LINE_WIDTH) -> str:
    """Text that fits; what is cut off is marked."""
    return text if len(text) <= width else text[:width - len(CUT)].rstrip() + CUT


def items_fit(items: Sequence[str], room: int) -> str:
    """`a; b; and 3 more`: as many as fit, the last of them cut where enough of it is left; "" where
    none has room."""
    for kept in range(len(items), 0, -1):
        tail = f"; and {len(items) - kept} more" if kept < len(items) else ""
        before = "".join(f"{item}; " for item in items[:kept - 1])
        left = room - len(before + tail)
        if len(items[kept - 1]) <= left or left >= PIECE_WIDTH:
            return before + text_cut(items[kept - 1], left) + tail
    return ""


def machines_cut(matrix: Matrix, cells: Sequence[Cell], room: int) -> str:
    """The machines of cells in so many columns; the names of processors give way first, and then
    are left out."""
    names = [len(machine.fact("cpu")) for machine in matrix.result.machines.values()]
    for most in range(max(names, default=0), len(CUT), -1):
        text = machines_text(matrix, cells, functools.partial(text_cut, width=most))
        if len(text) <= room:
            return text
    return text_cut(machines_text(matrix, cells, lambda _: ""), room)


def machine_line(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """Machines of cells, congestion control and, if there is room, the revision that measured."""
    name = congestion_text(matrix)
    congestion = {"none": "", "unknown": "; congestion unknown"}.get(name, f"; {name}")
    revision = f"; uncork {matrix.result.plan.programs.revision}"
    line = f"machine: {machines_text(matrix, cells)}{congestion}{revision}"
    if len(line) <= LINE_WIDTH:
        return line
    room = LINE_WIDTH - len("machine: " + congestion)
    return f"machine: {machines_cut(matrix, cells, room)}{congestion}"


def comparison_remarks(comparison: Comparison) -> list[str]:
    """What must not be overlooked, in few words: failures, and marks that the figures have."""
    changes, sessions = comparison.changes(), len(comparison.base.sessions)
    cells = [cell for _, _, cell in comparison.cells()]
    small = sum(change.within_floor for change in changes)
    few = any(comparison.tested.get(name, 0) for name in comparison.hopeless)
    marks = {f"{small} within A/A": small > 0,
             f"{sessions} sessions": comparison.within and sessions > 1,
             "brackets: may be chance": Verdict.BRACKETED in {one.verdict for one in changes},
             "too few rounds for so many cells": few}
    partly = [text for side in comparison.sides for text in known_remarks(
        side.matrix, [cell for _, own, cell in comparison.cells() if own is side],
        comparison.metrics)]
    ranges = any(figure.interval and figure.interval.level is None for change in changes
                 for figure in (change.base, change.new))
    return [*cells_remarks(cells), *(remark for remark, holds in marks.items() if holds),
            *(f"geomean without {rows_left_out(comparison, mean)}"
              for mean in comparison.geomeans.values()
              if mean and any(why.startswith("n=") for why in mean.left_out.values())),
            *dict.fromkeys(partly), *(["r is min..max"] if ranges else []),
            *(note for note in comparison.notes if note != NO_TIMES),
            *dict.fromkeys(note for cell in cells for note in cell.remarks)]


def known_remarks(matrix: Matrix, cells: Iterable[Cell], metrics: Iterable[Metric]) -> list[str]:
    """Which cells know a metric in a part of their rounds only, in few words."""
    return [text for metric in metrics if (text := known_text(matrix, cells, metric))]


def cells_remarks(cells: Sequence[Cell]) -> list[str]:
    """Runs that failed, cells that could not run, and those that have no times."""
    emulated = sum(bool(cell.emulated) for cell in cells)
    failed = sum(cell.runs_failed for cell in cells)
    every = all(cell.emulated or not cell.runs_ok for cell in cells)
    statuses = Counter(cell.status for cell in cells)
    counts = [
        (emulated, f"{'' if every else counted_text(emulated, 'cell') + ' '}{TIMES_INVALID}"),
        (failed, f"{counted_text(failed, 'run')} failed"),
        *((statuses[status], f"{counted_text(statuses[status], 'cell')} {status}")
          for status in ("unsupported", "failed", "missing"))]
    return [remark for count, remark in counts if count]


def differs_text(comparison: Comparison) -> str:
    """Everything in which the sides differ beside what they are called, and remarks in
    parentheses."""
    ordered = sorted(comparison.differences,
                     key=lambda difference: (not difference.refuses, difference.declared))
    found = list(map(difference_text, ordered)) or ["nothing else"]
    remarks = comparison_remarks(comparison)
    room = LINE_WIDTH - len("differs:  ()") - min(len("; ".join(found)),
                                             PIECE_WIDTH + len("; and 9999 more"))
    fitting = items_fit(remarks, room) or counted_text(len(remarks), "remark")
    tail = f" ({fitting})" if remarks else ""
    return "differs: " + items_fit(found, LINE_WIDTH - len("differs: " + tail)) + tail
