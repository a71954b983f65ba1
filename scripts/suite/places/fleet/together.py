# SPDX-License-Identifier: MIT
"""Runs batches of many targets at the same time: those of a fleet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from suite.base.client import Client
from suite.base.runner_words import line_told, record_restore
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.fleet.fleet import Answer, Batch, Fleet, Reasons, key_options
from suite.places.fleet.target import FleetPair
from suite.places.target import Target
from suite.result.plan import PlannedCell
from suite.result.record import Document

Opened = Callable[[Mapping[str, str]], Target]  # the open target of a cell of these words
STARTING_S = 10.0  # beside the time of its runs


def batch_make(target: FleetPair, cells: Sequence[PlannedCell], client: Client) -> Batch:
    """What a pair is to do: each line names the ends that the runner has started for it."""
    ends = [target.fleet.ends(target.pair, client, target.ends_named(cell.words)) for cell in cells]
    lines = tuple(line_told(cell.given, named) for cell, named in zip(cells, ends, strict=True))
    return Batch(target.pair, key_options(ends[0]), lines, STARTING_S + runs_limit(cells))


def pairs_of(opened: Opened, cells: Sequence[PlannedCell]) -> dict[FleetPair, list[int]]:
    """The pairs, each with the numbers of its cells."""
    found: dict[FleetPair, list[int]] = {}
    for numbers in cells_by_target(cells).values():
        target = opened(cells[numbers[0]].words)
        assert isinstance(target, FleetPair)
        found[target] = numbers
    return found


def answers_get(
    fleet: Fleet, pairs: Mapping[FleetPair, Sequence[PlannedCell]], client: Client,
) -> tuple[dict[str, Answer], Reasons]:
    """What the clients of pairs have said, or why they have not run, by target."""
    reasons = fleet.prepare([target.pair for target in pairs], client)
    reasons |= fleet.serve([target.pair for target in pairs if target.value not in reasons], client)
    batches = [batch_make(target, cells, client) for target, cells in pairs.items()
               if target.value not in reasons]
    answers, lost = fleet.batches_run(batches, client)
    return answers, reasons | lost


def explained(records: Sequence[Document], why: str | None) -> Iterator[Document]:
    """Records, of which the failed ones say why."""
    for record in records:
        mend = why and record["status"] == "failed" and why != record["reason"]
        yield record | {"reason": f"{why}; {record['reason']}"} if mend else record


def together_run(fleet: Fleet, opened: Opened,
                 cells: Sequence[PlannedCell]) -> Iterator[tuple[int, Document]]:
    """(number, record) of each cell, all of one batch: pair by pair, and those in which something
    has failed last, when it is known which of their hosts are still there. A host that is lost
    costs the runs of its pair, which name it.
    """
    pairs = pairs_of(opened, cells)
    mine = {target: [cells[number] for number in numbers] for target, numbers in pairs.items()}
    client = next(iter(pairs)).programs(cells[0].words)
    answers, reasons = answers_get(fleet, mine, client)
    unsound: dict[FleetPair, list[Document]] = {}
    for target, numbers in pairs.items():
        records = records_read(answers.get(target.value), mine[target],
                               reasons.get(target.value, ""))
        if any(record["status"] == "failed" for record in records):
            unsound[target] = records
        else:
            yield from restored(zip(numbers, records, strict=True), cells)
    gone = fleet.check([target.pair for target in unsound], client)
    for target, records in unsound.items():
        yield from restored(zip(pairs[target], explained(records, gone.get(target.value)),
                                strict=True), cells)


def records_read(answer: Answer | None, cells: Sequence[PlannedCell], reason: str) -> list[Document]:
    """The records of a pair in order; reason: why there is no answer."""
    if answer is None:
        return [failed_record(reason) for _ in cells]
    return [record for _, record in sorted(batch_records(answer, cells),
                                           key=lambda found: found[0])]


def restored(records: Iterable[tuple[int, Document]],
             cells: Sequence[PlannedCell]) -> Iterator[tuple[int, Document]]:
    """Records with the words that were typed."""
    for number, record in records:
        record_restore(record, cells[number].words)
        yield number, record


class FleetGroup:
    """All pairs of an inventory, opened for one runner: places.targets.Group."""

    def __init__(self, path: str) -> None:
        self.fleet = Fleet(path)

    @property
    def values(self) -> tuple[str, ...]:
        """Its pairs, as values of target."""
        return tuple(self.fleet.pairs)

    def target(self, value: str, client: Client) -> Target:
        """One of them."""
        return FleetPair(value, client, self.fleet)

    def run(self, opened: Opened, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, Document]]:
        """together_run()."""
        return together_run(self.fleet, opened, cells)

    def close(self) -> None:
        """Takes all hosts down, and says where that was not possible."""
        for host, why in self.fleet.close().items():
            print(f"uncork: what runs on {host} could not be taken down and ends by itself: {why}",
                  file=sys.stderr)
