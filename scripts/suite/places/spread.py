# SPDX-License-Identifier: MIT
"""Targets whose ends may be on machines of their own: CLIENT+SERVER or CLIENT+SERVER+PROXY, each
`local`, `ssh:HOST` or `ssh:HOST/ADDRESS`. One part alone is for all ends, and its client starts the
others itself.
"""

from __future__ import annotations

import contextlib
import ipaddress
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import Client, build_client
from suite.base.errors import UsageError
from suite.base.runner_words import LOCAL, OWN_ENDS, TARGET, build_of, words_told
from suite.places.ssh.programs import programs_choose
from suite.places.ssh.server import ADDRESS_WORDS, endpoint, prefix_of, serving_ends
from suite.places.target import Target

JOIN = "+"  # between the ends of a target
ENDS = ("client", "server", "proxy")  # in the order in which they are written
# where no server has been started: to ask about a plan, and for people
PORT_ASKED, PORT_BY_HAND = 1, 7411


@dataclass(frozen=True)
class Part:
    """Where one end is: a host of ssh(1), None for this machine, and the address where it listens,
    if it was given."""

    host: str | None
    address: str | None = None


def part_parse(text: str) -> Part:
    """`local`, `ssh:HOST` or `ssh:HOST/ADDRESS`; UsageError for anything else."""
    if text == LOCAL:
        return Part(None)
    kind, _, rest = text.partition(":")
    host, slash, address = rest.partition("/")
    if kind != "ssh" or not host or host.startswith("-") or (slash and not address):
        raise UsageError(f"{TARGET}={text}: write ssh:HOST or ssh:HOST/ADDRESS")
    if address:
        with contextlib.suppress(ValueError):
            if not ipaddress.ip_address(address).is_unspecified:
                return Part(host, address)
        raise UsageError(
            f"{TARGET}={text}: {address} is no address that others reach: write numbers, like 192.0.2.1 or fd00::1")
    return Part(host)


class Spread(Target):
    """Its parts, and what does not depend on how their machines are reached."""

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        parts = [part_parse(text) for text in value.split(JOIN)]
        self.parts = dict(zip(ENDS, parts * len(ENDS) if len(parts) == 1 else parts, strict=False))
        self.alone = len(parts) == 1

    def ends_named(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The ends that the runner starts for a cell of these words."""
        return () if self.alone else serving_ends(words)

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for ends that words name, and for a proxy that has no machine."""
        for word, own in OWN_ENDS.items():
            if words.get(word, own) != own:
                raise UsageError(
                    f"{TARGET}={self.value} starts the ends itself: leave out {word}={words[word]}")
        if "proxy" in self.ends_named(words) and "proxy" not in self.parts:
            raise UsageError(
                f"{TARGET}={self.value}: workload=proxy has three ends: write client+server+proxy")

    def unsupported(self, words: Mapping[str, str]) -> str | None:
        """A client takes the path of a Unix socket only from a server on loopback."""
        machines = {self.parts[end].host for end in ("client", *self.ends_named(words))}
        if words.get("transport") == "unix" and self.ends_named(words) and machines != {None}:
            return "transport=unix needs all ends on one machine; a target names it once: ssh:HOST"
        return None

    def programs(self, words: Mapping[str, str]) -> Client:
        """The programs for a cell of these words, as they are here: the static ones, or what was
        chosen."""
        return replace(programs_choose(build_client(self.local, build_of(words))), reach=())

    def client(self, words: Mapping[str, str]) -> Client:
        """The client there."""
        return replace(self.programs(words), place=self.place(words))

    @abstractmethod
    def address(self, end: str) -> str:
        """Where an end listens. Failure where that is not known."""

    def options_of(self, end: str) -> tuple[str, ...]:
        """What a server is told beside where to listen; a proxy connects to nobody but the
        server."""
        return ("--proxy", "--allow-sink",
                prefix_of(self.address("server"))) if end == "proxy" else ()

    @abstractmethod
    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command of ours as one types it to run it where an end is; folder: of the programs
        here."""

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The commands that run a cell of these words once by hand, a server and a proxy first."""
        folder = self.programs(given).folder
        named = {ADDRESS_WORDS[end]: endpoint(self.address(end), PORT_BY_HAND + ENDS.index(end))
                 for end in self.ends_named(given)}
        keys = ("--psk", "KEYS") if named else ()
        lines = [
            "# KEYS: a file with the same key on each machine, as psktool(1) writes it"] if named else []
        for end in self.ends_named(given):
            serve = ["uncork-server", "--with-parent", "--listen", named[ADDRESS_WORDS[end]], *keys,
                     *self.options_of(end)]
            lines.append(self.by_hand_at(end, folder, serve))
        words = [f"{key}={value}" for key, value in (words_told(given) | named).items()]
        return [*lines, self.by_hand_at("client", folder, ["uncork-client", *keys, *words])]
