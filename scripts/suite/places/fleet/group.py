# SPDX-License-Identifier: MIT
"""A pair of hosts=INVENTORY as a value of target= like ssh:C+ssh:S, and a batch of all pairs at
once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.base.client import Client, build_digest, complaint_text, line_read
from suite.base.errors import Failure
from suite.base.lab_words import LAB_WORDS
from suite.base.process import PlacedCommand
from suite.base.runner_words import line_for_client, record_words_restore, words_for_client
from suite.places.batch import batch_records, cells_by_target, failed_record, runs_limit
from suite.places.fleet.driver import Outcome
from suite.places.fleet.fleet import Fleet, Reasons, reasons_of
from suite.places.fleet.inventory import ADDRESS_VARIABLE, CLIENT, WORD
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


class FleetPair(RemoteTarget):
    """One pair. FleetGroup.run() runs its cells."""

    def __init__(self, value: str, client: Client, fleet: Fleet) -> None:
        super().__init__(value, client)
        self.fleet = fleet
        fleet.used[value] = self

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """What prints an answer here: the clients of all pairs get the question at once."""
        outcome = self.fleet.ask(self, program.parent, arguments, given)
        if outcome.how != "ok":
            raise Failure(f"{self.host(CLIENT)}: {outcome.why}")
        return PlacedCommand(("sh", "-c", 'cat "$1"; printf %s "$2" >&2; exit "$3"', "answer",
                              str(outcome.output), outcome.stderr, str(outcome.status)), None)

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere; the same for all pairs."""
        return {ADDRESS_WORDS[end]: endpoint(PLANNED_ADDRESS, PLANNED_PORT)
                for end in self.own_ends(words)}

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Facts of the hosts of the pair."""
        given = words_for_client({key: value for key, value in words.items()
                                  if key not in LAB_WORDS})
        outcome = self.fleet.ask(self, self.client(words).folder, ["--facts", *word_list(given)],
                                 ends=self.own_ends(words))
        found = [line for line in map(line_read, outcome.lines()) if line and "client" in line]
        if len(found) != 1:
            why = outcome.why or complaint_text(outcome.stderr) or "it prints no facts"
            raise Failure(f"{WORD}={self.fleet.path}: {self.host(CLIENT)}: {why}")
        return found[0]

    def greetings(self) -> dict[str, Greeting]:
        """The greetings of its hosts, by name."""
        known = self.fleet.greetings
        return {host: known[host] for host in self.hosts if host in known}

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and the systems of the hosts."""
        return {"programs": build_digest(programs_choose(self.local))} | {
            name: greeting.system for name, greeting in self.greetings().items()}

    def boot_ids(self) -> dict[str, str]:
        """As the hosts report them."""
        return {name: greeting.boot for name, greeting in self.greetings().items()}

    def address(self, end: str) -> str:
        """Where an end listens: as the inventory says, else where Ansible connected."""
        part = self.parts[end]
        greeting = self.fleet.greetings.get(part.host)
        found = part.address or (greeting.seen_at if greeting else "")
        if not found:
            raise Failure(f"{WORD}={self.fleet.path}: host {part.host} is not reached by ssh: "
                          f"say where it listens by {ADDRESS_VARIABLE}")
        return found

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command as a person types it to run it where an end is."""
        host = self.host(end)
        copy = self.fleet.copies[host, self.fleet.digest(folder)]
        return shlex.join(["ansible", "-i", self.fleet.path, host, "-m", "raw", "-a",
                           shlex.join([f"{copy}/{command[0]}", *command[1:]])])


class FleetGroup(Fleet):
    """All pairs of an inventory as targets, opened for one runner (places.targets.Group)."""

    def target(self, value: str, client: Client) -> Target:
        """One of them."""
        return FleetPair(value, client, self)

    def run(self, cells: Sequence[PlannedCell]) -> Iterator[tuple[int, JsonObject]]:
        """(number, record) of each cell, pair by pair, from one batch for each pair.

        Pairs with a failed run come last, when it is known which of their hosts were lost. A lost
        host costs its pair the runs, whose records name it.
        """
        numbers_by_pair = {self.used[value]: numbers
                           for value, numbers in cells_by_target(cells).items()}
        folder = next(iter(numbers_by_pair)).client(cells[0].words).folder
        outcomes, reasons = self.batches_run(
            {pair: [cells[number] for number in numbers]
             for pair, numbers in numbers_by_pair.items()}, folder)
        unsound: dict[RemoteTarget, dict[int, JsonObject]] = {}
        for pair, numbers in numbers_by_pair.items():
            records = pair_records(outcomes.get(pair.value), cells, numbers,
                                   reasons.get(pair.value, ""))
            if any(record["status"] == "failed" for record in records.values()):
                unsound[pair] = records
            else:
                yield from records.items()
        gone = self.check(list(unsound), folder)
        for pair, records in unsound.items():
            why = gone.get(pair.value)
            for number, record in records.items():
                if why and record["status"] == "failed" and why != record["reason"]:
                    record["reason"] = f"{why}; {record['reason']}"
                yield number, record

    def batches_run(self, pairs: Mapping[RemoteTarget, Sequence[PlannedCell]], folder: Path,
                    ) -> tuple[dict[str, Outcome], Reasons]:
        """Runs the cells of each pair, all pairs at the same time.

        (outcomes of their clients, why others did not run), both by value of `target`.
        """
        reasons = self.prepare(list(pairs), folder)
        reasons |= self.serve([pair for pair in pairs if pair.value not in reasons], folder)
        jobs, limits = {}, {}
        for pair, cells in pairs.items():
            if pair.value not in reasons:
                limits[pair] = STARTING_S + runs_limit(cells)
                ends = [self.addresses(pair, folder, pair.own_ends(cell.words)) for cell in cells]
                lines = [line_for_client(cell.given, words) for cell, words
                         in zip(cells, ends, strict=True)]
                jobs[pair.host(CLIENT)] = self.client_job(
                    pair, folder, [*key_options(ends[0]), "--batch", "-"],
                    "".join(f"{line}\n" for line in lines), limits[pair])
        outcomes = self.step(jobs, max(limits.values(), default=0.0))
        failures, found = reasons_of(outcomes), {}
        for pair, limit_s in limits.items():
            outcome = outcomes[pair.host(CLIENT)]
            if outcome.how == "ok":
                found[pair.value] = replace(outcome, limit_s=limit_s)
            else:
                reasons[pair.value] = failures[pair.host(CLIENT)]
        return found, reasons


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
