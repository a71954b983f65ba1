# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: how they were measured, where, and what differs. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from suite.analyse.comparison.build import NO_TIMES
from suite.analyse.comparison.model import Comparison, Side, difference_text
from suite.analyse.frame import Cell, Matrix
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.analyse.verdicts import Verdict
from suite.base.units import counted_text
from suite.present.comparison.texts import floor_text, rounds_text, rows_left_out, span_text
from suite.present.heading import congestion_text, known_text, machines_text
from suite.present.mail.rules import COLUMNS

CUT = "..."
LINE_WIDTH = COLUMNS - 2  # a style may put a mark before a line
PIECE_WIDTH = 16  # of an item that is cut, at least
NO_DIFFERENCE = "nothing else"
# What gives way in a line of rounds that is too long, in turn.
SHORTER = (("exact rank CI", "rank CI"), (" rounds,", ","), (" a side,", ","), (" in turns,", ""))


def line_shorten(line: str) -> str:
    """The line in fewer words, as far as it has to be."""
    for long, short in SHORTER:
        line = line.replace(long, short) if len(line) > LINE_WIDTH else line
    return line


def rounds_short(comparison: Comparison, metric: Metric) -> str:
    """Rounds, order, test, correction and the highest noise floor, in one line."""
    return line_shorten(rounds_text(comparison, metric))


def table_rounds_text(figures: Sequence[Figure], floor: float | None, metric: Metric) -> str:
    """The same line of a table, which compares nothing."""
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
    changes = [change for row in comparison.rows for change in row.changes.values()]
    verdicts = {change.verdict for change in changes}
    remarks = cells_remarks([cell for row in comparison.rows for cell in (row.base, row.new)
                             if cell])
    small = sum(change.within_floor for change in changes)
    remarks += [f"{small} within A/A"] if small else []
    sessions = len(comparison.base.sessions)
    remarks += [f"{sessions} sessions"] if comparison.within and sessions > 1 else []
    if Verdict.BRACKETED in verdicts:
        remarks.append("brackets: may be chance")
    if any(comparison.tested.get(name, 0) for name in comparison.hopeless):
        remarks.append("too few rounds for so many cells")
    remarks += [f"geomean without {rows_left_out(comparison, mean)}"
                for mean in comparison.geomeans.values()
                if mean and any(why.startswith("n=") for why in mean.left_out.values())]
    remarks += list(dict.fromkeys(text for side in (comparison.base, comparison.new)
                                  for text in known_remarks(
        side.matrix, side_cells(comparison, side), comparison.metrics)))
    remarks += ranges_remarks([figure for change in changes
                               for figure in (change.base, change.new)])
    return [*remarks, *(note for note in comparison.notes if note != NO_TIMES),
            *cells_notes(comparison)]


def side_cells(comparison: Comparison, side: Side) -> list[Cell]:
    """The cells of one side."""
    cells = [row.base if side is comparison.base else row.new for row in comparison.rows]
    return [cell for cell in cells if cell]


def cells_notes(comparison: Comparison) -> list[str]:
    """What good runs did otherwise than the words of their cells say."""
    cells = [cell for row in comparison.rows for cell in (row.base, row.new) if cell]
    return list(dict.fromkeys(note for cell in cells for note in cell.remarks))


def known_remarks(matrix: Matrix, cells: Iterable[Cell], metrics: Iterable[Metric]) -> list[str]:
    """Which cells know a metric in a part of their rounds only, in few words."""
    return [text for metric in metrics if (text := known_text(matrix, cells, metric))]


def cells_remarks(cells: Sequence[Cell]) -> list[str]:
    """Runs that failed, cells that could not run, and those that have no times."""
    failed, emulated = sum(cell.runs_failed for cell in cells), sum(bool(cell.emulated)
        for cell in cells)
    told = FUNCTIONAL_ONLY if all(cell.emulated or not cell.runs_ok for cell in cells) else (
        f"{counted_text(emulated, 'cell')} {FUNCTIONAL_ONLY}")
    return ([told] if emulated else []) + ([f"{counted_text(failed, 'run')} failed"] if failed
                                             else []) + [
        f"{counted_text(count, 'cell')} {status}" for status in ("unsupported", "failed", "missing")
        if (count := sum(cell.status == status for cell in cells))]


def ranges_remarks(figures: Sequence[Figure]) -> list[str]:
    """What `r` is, where some figure has it."""
    ranges = any(figure.interval and figure.interval.level is None for figure in figures)
    return ["r is min..max"] if ranges else []


def differs_text(comparison: Comparison) -> str:
    """Everything in which the sides differ beside what they are called, and remarks in
    parentheses."""
    ordered = sorted(comparison.differences,
                     key=lambda difference: (not difference.refuses, difference.declared))
    found = list(map(difference_text, ordered)) or [NO_DIFFERENCE]
    remarks = comparison_remarks(comparison)
    room = LINE_WIDTH - len("differs:  ()") - min(len("; ".join(found)),
                                             PIECE_WIDTH + len("; and 9999 more"))
    fitting = items_fit(remarks, room) or counted_text(len(remarks), "remark")
    tail = f" ({fitting})" if remarks else ""
    return "differs: " + items_fit(found, LINE_WIDTH - len("differs: " + tail)) + tail
