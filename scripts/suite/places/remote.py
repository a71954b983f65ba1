# SPDX-License-Identifier: MIT
"""Targets with ends on other machines, independent of what connects the machines.

A value is CLIENT+SERVER or CLIENT+SERVER+PROXY, each `local`, `ssh:HOST` or `ssh:HOST/ADDRESS`. A
single part is the machine of all ends; the client there starts the others.
"""

import ipaddress
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import Client
from suite.base.errors import UsageError
from suite.base.process import Place, PlacedCommand
from suite.base.runner_words import LOCAL, OWN_ENDS, serving_ends, subject_of, words_for_client
from suite.base.words import word_list
from suite.places.ssh.machine import ADDRESS_WORDS, LocalMachine, endpoint
from suite.places.ssh.programs import programs_choose
from suite.places.target import Target
from suite.result.record import ENDS

JOIN = "+"  # between the parts, which are in the order of ENDS
# ports where no server runs yet: for a check of words, and for commands that users type
PLANNED_PORT, BY_HAND_PORT = 1, 7411


@dataclass(frozen=True)
class Part:
    """The machine of an end. host: for ssh(1), empty: this machine. address: where it listens."""

    host: str
    address: str = ""


def address_usable(text: str) -> bool:
    """Whether a text is a numeric IP address that other machines can connect to."""
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False


def part_parse(text: str) -> Part:
    """`local`, `ssh:HOST` or `ssh:HOST/ADDRESS`; UsageError for anything else."""
    if text == LOCAL:
        return Part("")
    kind, _, rest = text.partition(":")
    host, slash, address = rest.partition("/")
    if kind != "ssh" or not host or host.startswith("-") or (slash and not address):
        raise UsageError(f"target={text}: write ssh:HOST or ssh:HOST/ADDRESS")
    if address and not address_usable(address):
        raise UsageError(f"target={text}: {address} is no IP address that other "
                         "machines reach: write one, like 192.0.2.1 or fd00::1")
    return Part(host, address)


class RemoteTarget(Target):
    """Its own place, which starts clients. parts: by end. one_machine: whether it has all ends."""

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        parts = [part_parse(text) for text in value.split(JOIN)]
        self.one_machine = len(parts) == 1
        self.parts = dict(zip(ENDS, parts * len(ENDS) if self.one_machine else parts, strict=False))

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.host('client') or LocalMachine.name}"

    @abstractmethod
    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that starts a program on the machine of the client (base.process.Place)."""

    def host(self, end: str) -> str:
        """The host of an end; empty for this machine."""
        return self.parts[end].host

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.host for part in self.parts.values()))

    def ends_to_start(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The ends that the runner starts for a cell, and not its client."""
        return () if self.one_machine else serving_ends(words)

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for a word with the address of an end, and for a proxy that has no part."""
        for word, own in OWN_ENDS.items():
            if words.get(word, own) != own:
                raise UsageError(
                    f"target={self.value} starts the ends itself: leave out {word}={words[word]}")
        if "proxy" in self.ends_to_start(words) and "proxy" not in self.parts:
            raise UsageError(
                f"target={self.value}: workload=proxy has three ends: write client+server+proxy")

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """transport=unix between machines: a client takes the path only from a local server."""
        ends = self.ends_to_start(words)
        if words.get("transport") == "unix" and ends and any(map(self.host, ("client", *ends))):
            return "transport=unix needs all ends on one machine; a target names it once: ssh:HOST"
        return None

    def place(self, words: Mapping[str, str]) -> Place:
        return self

    def client(self, words: Mapping[str, str]) -> Client:
        """The programs for a cell of these words: static ones, unless others were chosen."""
        return replace(programs_choose(super().client(words)), server_options=())

    @abstractmethod
    def address(self, end: str) -> str:
        """The address where an end listens; Failure where it is unknown."""

    def server_options(self, end: str) -> tuple[str, ...]:
        """The options of uncork-server for an end, besides its address and its key."""
        if end != "proxy":
            return ()
        server = self.address("server")
        return "--proxy", "--allow-sink", f"{server}/{ipaddress.ip_address(server).max_prefixlen}"

    @abstractmethod
    def definitions_at(self, end: str) -> str:
        """The path of the definitions of subjects on the machine of an end."""

    def definitions(self, end: str, words: Mapping[str, str]) -> tuple[str, ...]:
        """The option with the definitions of subjects, for an end that starts a program."""
        starts = {"client" if self.one_machine else serving_ends(words)[-1],
                  "client" if words.get("workload") == "command" else ""}
        return (("--subjects", self.definitions_at(end)) if end in starts and subject_of(words)
                else ())

    def subject_options(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """For the client, which starts the subject where one machine has all ends."""
        return self.definitions("client", words)

    @abstractmethod
    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """The line to type to run a command on the machine of an end. folder: programs here."""

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The lines to type to run a cell of these words once: server and proxy first."""
        folder, ends = self.client(given).folder, self.ends_to_start(given)
        addresses = {ADDRESS_WORDS[end]: endpoint(self.address(end), BY_HAND_PORT + ENDS.index(end))
                     for end in ends}
        keys = ("--psk", "KEYS") if ends else ()
        note = "# KEYS: a file with the same key on each machine, as psktool(1) writes it"
        servers = [self.by_hand_at(end, folder, [
            "uncork-server", "--with-parent", "--listen", addresses[ADDRESS_WORDS[end]], *keys,
            *self.server_options(end), *self.definitions(end, given)]) for end in ends]
        words = word_list(words_for_client(given) | addresses)
        return [*([note] if ends else []), *servers,
                self.by_hand_at("client", folder, ["uncork-client", *keys,
                                                   *self.subject_options(given), *words])]
