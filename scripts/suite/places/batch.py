# SPDX-License-Identifier: MIT
"""One batch: the cells that one start of a client runs, and the record of each, whatever happens.

The client reads lines of words and prints a record for each, then `{"end": N}`. A record is valid
if it is whole, has the words of a cell without a record, and precedes another record or the right
end line. Other output is skipped, like greetings of a shell or messages of a kernel. A run without
a valid record has failed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.base import grouped
from suite.base.client import complaint_text, exit_text, line_read
from suite.base.process import Output
from suite.base.runner_words import OWN_ENDS, target_of, words_for_client, words_restore
from suite.result.files import file_write
from suite.result.plan import PlannedCell
from suite.result.record import JsonObject

RUN_MARGIN_S = 30.0  # a run that takes so much longer than planned is ended
FIXED_WORK_S = 3600.0  # the limit for a run of fixed work, whose time is unknown


def runs_limit(cells: Iterable[PlannedCell]) -> float:
    return sum(FIXED_WORK_S if cell.planned_s is None else 2 * cell.planned_s + RUN_MARGIN_S
               for cell in cells)


def output_complaint(output: Output, program: str = "uncork-client") -> str:
    """Why a program left no whole record."""
    if output.why:
        return output.why
    if output.overdue:
        what = f"not finished after {output.limit_s:.0f} s, so it was ended"
    elif output.status != 0:
        what = f"{program} {exit_text(output.status)}"
    else:
        what = f"{program} left no whole record"
    return f"{what}: {complaint_text(output.stderr)}".removesuffix(": ")


def failed_record(reason: str) -> JsonObject:
    return {"status": "failed", "reason": reason}


def record_is_of(record: JsonObject, cell: PlannedCell) -> bool:
    """Whether a JSON object has the words of this cell; the addresses of ends may differ."""
    words, own = record.get("words"), words_for_client(cell.words)
    return isinstance(record.get("status"), str) and isinstance(words, Mapping) and all(
        own.get(key, value) == value for key, value in words.items() if key not in OWN_ENDS)


def batch_records(output: Output, cells: Sequence[PlannedCell],
                  facts_store: Callable[[JsonObject], None] | None = None,
                  log: Path | None = None) -> Iterator[tuple[int, JsonObject]]:
    """(number of a cell, its record), each as soon as it is valid; placeholders come at the end.
    facts_store: gets facts of machines that were booted. log: a file for standard error."""
    waiting = list(range(len(cells)))
    last: tuple[int, JsonObject] | None = None
    end: Any = None
    for value in filter(None, map(line_read, output.lines())):
        number = next((number for number in waiting if record_is_of(value, cells[number])), None)
        if number is not None:
            if last:
                yield last
            waiting.remove(number)
            last = number, words_restore(value, cells[number].words)
        elif "end" in value:
            end = value
        elif facts_store and isinstance(value.get("client"), Mapping) and "status" not in value:
            facts_store(value)
    missing = failed_record(output_complaint(output))
    if last:
        torn = output.torn or output.overdue or output.status != 0 or end != {"end": len(cells)}
        yield (last[0], missing.copy()) if torn else last
    for number in waiting:
        yield number, missing.copy()
    if log:
        log.parent.mkdir(exist_ok=True)
        file_write(log, output.stderr)


def cells_by_target(cells: Sequence[PlannedCell]) -> dict[str, list[int]]:
    return grouped((target_of(cell.words), number) for number, cell in enumerate(cells))
