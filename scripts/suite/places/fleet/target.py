# SPDX-License-Identifier: MIT
"""A pair of hosts=INVENTORY: a value of target= like ssh:C+ssh:S, with a driver that does for all
pairs at once what is wanted of one of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.base.client import Client, build_digest, complaint_text, line_read
from suite.base.errors import Failure
from suite.base.lab_words import LAB_WORDS
from suite.base.place import Command, Place
from suite.base.runner_words import words_told
from suite.places.fleet.fleet import Fleet, words_of
from suite.places.fleet.inventory import WORD, Pair
from suite.places.spread import PORT_ASKED, Spread
from suite.places.ssh.machine import Greeting
from suite.places.ssh.programs import programs_choose
from suite.places.ssh.server import ADDRESS_WORDS, endpoint

# kept for documents (RFC 5737): a question about a plan names an end without speaking to it
NOWHERE = "192.0.2.1"


@dataclass(frozen=True)
class Asked:
    """The client of a pair, for questions: by the time that one is put to it all clients have
    answered."""

    fleet: Fleet
    pair: Pair
    programs: Client = field(repr=False)

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.pair.client.name}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """What prints the answer here."""
        outcome = self.fleet.ask(self.pair, self.programs, arguments, given)
        if outcome.how != "ok":
            raise Failure(f"{self.pair.client.name}: {outcome.why}")
        told = (str(outcome.output), outcome.stderr, str(outcome.status))
        return Command(("sh", "-c", 'cat "$1"; printf %s "$2" >&2; exit "$3"', "answer", *told),
                       None)


class FleetPair(Spread):
    """One pair. What it is asked in a round is asked of the fleet: `run.rounds_run`."""

    def __init__(self, value: str, client: Client, fleet: Fleet) -> None:
        super().__init__(value, client)
        self.fleet = fleet
        self.pair = fleet.want(value)

    def place(self, words: Mapping[str, str]) -> Place:
        """Where it answers questions."""
        return Asked(self.fleet, self.pair, self.programs(words))

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere; the same for all pairs."""
        return {ADDRESS_WORDS[end]: endpoint(NOWHERE, PORT_ASKED) for end in self.ends_named(words)}

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Facts of the hosts of the pair."""
        told = words_told({key: value for key, value in words.items() if key not in LAB_WORDS})
        asked = ["--facts", *words_of(told)]
        outcome = self.fleet.ask(self.pair, self.programs(words), asked,
                                 named=self.ends_named(words))
        found = [line for line in map(line_read, outcome.stdout.split(b"\n")) if line
                 and "client" in line]
        if len(found) != 1:
            why = outcome.why or complaint_text(outcome.stderr) or "it prints no facts"
            raise Failure(f"{WORD}={self.fleet.path}: {self.pair.client.name}: {why}")
        return found[0]

    def identity(self) -> dict[str, str]:
        """Which programs run, and what kinds of machines these are."""
        kinds = {name: greeting.system for name, greeting in self.greetings().items()}
        return {"programs": build_digest(programs_choose(self.local))} | kinds

    def boot_ids(self) -> dict[str, str]:
        """What the hosts say themselves."""
        return {name: greeting.boot for name, greeting in self.greetings().items()}

    def greetings(self) -> dict[str, Greeting]:
        """What its hosts said when they were greeted."""
        known = self.fleet.greetings
        return {host.name: known[host.name] for host in self.pair.hosts if host.name in known}

    def address(self, end: str) -> str:
        """Where an end listens."""
        return self.fleet.address(self.pair, end)

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command of ours as one types it to run it where an end is."""
        host = self.pair.host(end).name
        words = [f"{self.fleet.copies[host, build_digest(Client(folder, None))]}/{command[0]}",
                 *command[1:]]
        return shlex.join(["ansible", "-i", self.fleet.path, host, "-m", "raw", "-a",
                           shlex.join(words)])
