# SPDX-License-Identifier: MIT
"""One batch: the cells that one start of a client runs, and the record of each, whatever happens.

In go the lines of words, out come a record for each and `{"end": N}`. A record is believed when it
is whole, says the words of a cell that is waited for, and the batch went on after it or ended as it
should; what else stands in the output, greetings of a shell or messages of a kernel, is passed
over. A run whose record does not come is a failed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base.child import Heard
from suite.base.client import complaint_text, exit_text, line_read
from suite.base.runner_words import OWN_ENDS, target_of, words_told
from suite.result.plan import PlannedCell
from suite.result.record import Document

RUN_MARGIN_S = 30.0  # how much longer than planned a run may take before it is ended
FIXED_WORK_S = 3600.0  # a run of fixed work says nothing about its time


def run_limit(cell: PlannedCell) -> float:
    """Seconds after which a run is taken to hang."""
    return FIXED_WORK_S if cell.planned_s is None else 2 * cell.planned_s + RUN_MARGIN_S


def runs_limit(cells: Sequence[PlannedCell]) -> float:
    """The same of several runs."""
    return sum(map(run_limit, cells))


@dataclass(frozen=True)
class Artifacts:
    """Where what a batch leaves beside records goes: met is told the facts of machines that were
    started for it; log is a file for what was said there, None: it is not kept."""

    facts_store: Callable[[Document], None] = lambda facts: None
    log: Path | None = None


def overdue_text(limit_s: float) -> str:
    """That a run was taken to hang."""
    return f"not finished after {limit_s:.0f} s, so it was ended"


def output_complaint(heard: Heard) -> str:
    """Why there is no whole record, in one line."""
    told = complaint_text(heard.stderr)
    if heard.overdue:
        what = overdue_text(heard.limit_s)
    elif heard.status != 0:
        what = f"uncork-client {exit_text(heard.status)}"
    else:
        what = "uncork-client printed no whole record"
    return f"{what}: {told}" if told else what


def failed_record(reason: str) -> Document:
    """The record of a run that has none of its own."""
    return {"status": "failed", "reason": reason}


def is_placeholder(record: Document) -> bool:
    """Whether a record is one of failed_record(): the run has left none."""
    return "words" not in record


def record_is_of(record: Document, cell: PlannedCell) -> bool:
    """Whether a record is one of this cell, by its words: a word of one end may be missing in
    them."""
    words, mine = record.get("words"), words_told(cell.words)
    return isinstance(words, Mapping) and all(
        mine.get(key, value) == value for key, value in words.items() if key not in OWN_ENDS)


def waiting_find(waiting: Sequence[int], record: Document,
                 cells: Sequence[PlannedCell]) -> int | None:
    """The number of the first cell that is waited for whose record this can be."""
    if not isinstance(record.get("status"), str):
        return None
    return next((number for number in waiting if record_is_of(record, cells[number])), None)


def batch_records(
    heard: Heard, cells: Sequence[PlannedCell], artifacts: Artifacts = Artifacts(),
) -> Iterator[tuple[int, Document]]:
    """(number of a cell, its record), each as soon as it can be believed; those that did not come
    at the end."""
    waiting = list(range(len(cells)))
    last: tuple[int, Document] | None = None
    end: Any = None
    for line in heard.lines():
        value = line_read(line)
        if value is None:
            continue
        number = waiting_find(waiting, value, cells)
        if number is None:
            end = value if "end" in value else end
            if isinstance(value.get("client"), Mapping) and "status" not in value:
                artifacts.facts_store(value)
            continue
        if last:
            yield last
        waiting.remove(number)
        last = number, value
    complaint = output_complaint(heard)
    if last and (heard.torn or heard.overdue or heard.status != 0 or end != {"end": len(cells)}):
        last = last[0], failed_record(complaint)
    if last:
        yield last
    for number in waiting:
        yield number, failed_record(complaint)
    if artifacts.log:
        artifacts.log.parent.mkdir(exist_ok=True)
        artifacts.log.write_text(heard.stderr)


def cells_by_target(cells: Sequence[PlannedCell]) -> dict[str, list[int]]:
    """The numbers of the cells of each target."""
    found: dict[str, list[int]] = {}
    for number, cell in enumerate(cells):
        found.setdefault(target_of(cell.words), []).append(number)
    return found
