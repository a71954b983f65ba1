# SPDX-License-Identifier: MIT
"""A pair of hosts=INVENTORY as a value of target= like ssh:C+ssh:S, and a batch of all pairs at
once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from suite.base.client import Client, build_digest, complaint_text, line_read
from suite.base.errors import Failure
from suite.base.lab_words import LAB_WORDS
from suite.base.process import Place, PlacedCommand
from suite.base.runner_words import line_for_client, record_words_restore, words_for_client
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.fleet.driver import Outcome
from suite.places.fleet.fleet import Fleet, Reasons, reasons_of
from suite.places.fleet.inventory import WORD, HostPair
from suite.places.remote import PLANNED_PORT, RemoteTarget
from suite.places.ssh.machine import Greeting
from suite.places.ssh.programs import programs_choose
from suite.places.ssh.server import ADDRESS_WORDS, endpoint, key_options
from suite.places.target import Target, word_list
from suite.result.plan import PlannedCell
from suite.result.record import JsonObject

STARTING_S = 10.0  # besides the time of the runs
# RFC 5737 reserves it for documents: a check of words names an end and does not connect to it
PLANNED_ADDRESS = "192.0.2.1"
Opened = Callable[[Mapping[str, str]], Target]  # gives the open target of the words of a cell


@dataclass(frozen=True)
class AnswerPlace:
    """Where the client of a pair answers a question: the clients of all pairs get it at once."""

    fleet: Fleet
    pair: HostPair
    programs: Client = field(repr=False)

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.pair.client.name}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """What prints the answer here."""
        outcome = self.fleet.ask(self.pair, self.programs, arguments, given)
        if outcome.how != "ok":
            raise Failure(f"{self.pair.client.name}: {outcome.why}")
        answer = (str(outcome.output), outcome.stderr, str(outcome.status))
        return PlacedCommand(("sh", "-c", 'cat "$1"; printf %s "$2" >&2; exit "$3"', "answer",
                              *answer),
                       None)


class FleetPair(RemoteTarget):
    """One pair. FleetGroup.run() runs its cells."""

    def __init__(self, value: str, client: Client, fleet: Fleet) -> None:
        super().__init__(value, client)
        self.fleet = fleet
        self.pair = fleet.use(value)

    def place(self, words: Mapping[str, str]) -> Place:
        """Where its client answers questions."""
        return AnswerPlace(self.fleet, self.pair, self.programs(words))

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere; the same for all pairs."""
        return {ADDRESS_WORDS[end]: endpoint(PLANNED_ADDRESS, PLANNED_PORT)
                for end in self.own_ends(words)}

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Facts of the hosts of the pair."""
        given = words_for_client({key: value for key, value in words.items()
                                  if key not in LAB_WORDS})
        outcome = self.fleet.ask(self.pair, self.programs(words), ["--facts", *word_list(given)],
                                 ends=self.own_ends(words))
        found = [line for line in map(line_read, outcome.stdout.split(b"\n")) if line
                 and "client" in line]
        if len(found) != 1:
            why = outcome.why or complaint_text(outcome.stderr) or "it prints no facts"
            raise Failure(f"{WORD}={self.fleet.path}: {self.pair.client.name}: {why}")
        return found[0]

    def greetings(self) -> dict[str, Greeting]:
        """The greetings of its hosts, by name."""
        known = self.fleet.greetings
        return {host.name: known[host.name] for host in self.pair.hosts if host.name in known}

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and the systems of the hosts."""
        return {"programs": build_digest(programs_choose(self.local))} | {
            name: greeting.system for name, greeting in self.greetings().items()}

    def boot_ids(self) -> dict[str, str]:
        """As the hosts report them."""
        return {name: greeting.boot for name, greeting in self.greetings().items()}

    def address(self, end: str) -> str:
        """Where an end listens."""
        return self.fleet.address(self.pair, end)

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command as a person types it to run it where an end is."""
        host = self.pair.host(end).name
        copy = self.fleet.copies[host, build_digest(Client(folder, None))]
        return shlex.join(["ansible", "-i", self.fleet.path, host, "-m", "raw", "-a",
                           shlex.join([f"{copy}/{command[0]}", *command[1:]])])


class FleetGroup(Fleet):
    """All pairs of an inventory as targets, opened for one runner (places.targets.Group)."""

    @property
    def values(self) -> tuple[str, ...]:
        """Its pairs, as values of `target`."""
        return tuple(self.pairs)

    def target(self, value: str, client: Client) -> Target:
        """One of them."""
        return FleetPair(value, client, self)

    def run(self, opened: Opened, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, JsonObject]]:
        """(number, record) of each cell, pair by pair, from one batch for each pair.

        Pairs with a failed run come last, when it is known which of their hosts were lost. A lost
        host costs its pair the runs, whose records name it.
        """
        pairs: dict[FleetPair, list[int]] = {}
        for numbers in cells_by_target(cells).values():
            target = opened(cells[numbers[0]].words)
            assert isinstance(target, FleetPair)
            pairs[target] = numbers
        client = next(iter(pairs)).programs(cells[0].words)
        outcomes, reasons = self.batches_run(
            {target: [cells[number] for number in numbers] for target, numbers in pairs.items()},
            client)
        unsound: dict[FleetPair, dict[int, JsonObject]] = {}
        for target, numbers in pairs.items():
            records = pair_records(outcomes.get(target.value), cells, numbers,
                                   reasons.get(target.value, ""))
            if any(record["status"] == "failed" for record in records.values()):
                unsound[target] = records
            else:
                yield from records.items()
        gone = self.check([target.pair for target in unsound], client)
        for target, records in unsound.items():
            why = gone.get(target.value)
            for number, record in records.items():
                if why and record["status"] == "failed" and why != record["reason"]:
                    record["reason"] = f"{why}; {record['reason']}"
                yield number, record

    def batches_run(self, pairs: Mapping[FleetPair, Sequence[PlannedCell]], client: Client,
                    ) -> tuple[dict[str, Outcome], Reasons]:
        """Runs the cells of each pair, all pairs at the same time.

        (outcomes of their clients, why others did not run), both by target.
        """
        reasons = self.prepare([target.pair for target in pairs], client)
        reasons |= self.serve([target.pair for target in pairs if target.value not in reasons],
                               client)
        jobs, limits = {}, {}
        for target, cells in pairs.items():
            if target.value not in reasons:
                host, limits[target] = target.pair.client.name, STARTING_S + runs_limit(cells)
                ends = [self.addresses(target.pair, client, target.own_ends(cell.words))
                        for cell in cells]
                lines = [line_for_client(cell.given, words) for cell, words
                         in zip(cells, ends, strict=True)]
                jobs[host] = self.client_job(
                    target.pair, client, [*key_options(ends[0]), "--batch", "-"],
                    "".join(f"{line}\n" for line in lines), limits[target])
        outcomes = self.step(jobs, max(limits.values(), default=0.0))
        failures, found = reasons_of(outcomes), {}
        for target, limit_s in limits.items():
            outcome = outcomes[target.pair.client.name]
            if outcome.how == "ok":
                found[target.value] = replace(outcome, limit_s=limit_s)
            else:
                reasons[target.value] = failures[target.pair.client.name]
        return found, reasons

    def close(self) -> None:
        """Takes all hosts down; one line on standard error for each where that failed."""
        for host, why in self.take_down().items():
            print(f"uncork: what runs on {host} could not be taken down and ends by itself: {why}",
                  file=sys.stderr)


def pair_records(outcome: Outcome | None, cells: Sequence[PlannedCell], numbers: Sequence[int],
                 reason: str) -> dict[int, JsonObject]:
    """The records of the cells with these numbers, in that order, with the words as typed.

    reason: why there is no outcome.
    """
    if outcome is None:
        return {number: failed_record(reason) for number in numbers}
    found = dict(batch_records(outcome, [cells[number] for number in numbers]))
    for index, number in enumerate(numbers):
        record_words_restore(found[index], cells[number].words)
    return {number: found[index] for index, number in enumerate(numbers)}
