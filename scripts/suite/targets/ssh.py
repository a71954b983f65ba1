# SPDX-License-Identifier: MIT
"""target=ssh:HOST: other machines. `ssh:C+ssh:S+ssh:P` has client, server and proxy on a machine each; `local` is this one.

Where all ends are on one machine its client starts the others, as it does here. Else the runner starts server and proxy, for each
cell its own, as a client does. They take only who shows the key that was drawn for this target, so that all that crosses the
control channel is encrypted.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from suite.builds import build_of
from suite.client import ROOT, Client, build_client, build_digest, build_update, client_require
from suite.errors import Failure, UsageError
from suite.places import Command, Place
from suite.ssh.machine import Machine, Remote
from suite.ssh.programs import programs_copy
from suite.ssh.served import NAMED_BY, Served, endpoint, key_line, prefix_of
from suite.ssh.shell import KEY_FILE, keyed_words
from suite.targets.target import Ends, Target
from suite.withheld import LOCAL, OWN_ENDS, TARGET, words_told

JOIN = "+"  # between the ends of a target
ENDS = ("client", "server", "proxy")  # in the order in which they are written
KEY_BYTES = 32
STATIC = ROOT / "build" / "static"
PORT_ASKED, PORT_BY_HAND = 1, 7411  # where no server has been started: to ask about a plan, and for people
SOCKET_BYTES = 60  # of the path of a folder for folders of sockets: the path of a socket may have 108, and ssh(1) adds to it


@dataclass(frozen=True)
class Part:
    """Where one end is: a host of ssh(1), None for this machine, and the address where it listens, if it was given."""

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
        raise UsageError(f"{TARGET}={text}: {address} is no address that others reach: write numbers, like 192.0.2.1 or fd00::1")
    return Part(host)


@dataclass(frozen=True)
class Session:
    """Programs are started on a machine; they find a key where the runner has started the ends."""

    target: Ssh
    machine: Machine
    key: str | None = field(repr=False)

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.machine.name}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """The program of the copy there."""
        words = (f"{self.target.folder_of(self.machine, program.parent)}/{program.name}", *arguments)
        if self.key is None:
            return Command(self.machine.command(words), given)
        return Command(self.machine.command(keyed_words(words)), key_line(self.key) + given)


@functools.cache
def static_update() -> None:
    """Brings the static build up to date, if there is one, once."""
    build_update(Client(STATIC / "bin", STATIC), STATIC)


def programs_choose(client: Client) -> Client:
    """The static build in place of our own, where it has been configured; those that somebody chose stay."""
    if client.built is None or not (STATIC / "CMakeCache.txt").exists():
        return client
    static_update()
    return client_require(replace(client, folder=STATIC / "bin", built=STATIC))


class Ssh(Target):
    """Ends on one machine or on several."""

    starting_s = 10.0

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        parts = [part_parse(text) for text in value.split(JOIN)]
        self.parts = dict(zip(ENDS, parts * len(ENDS) if len(parts) == 1 else parts, strict=False))
        self.alone = len(parts) == 1
        self.key = secrets.token_hex(KEY_BYTES)
        self.machines: dict[str | None, Machine] = {None: Machine()}
        self.copies: dict[tuple[str, int, Path], str] = {}
        short = len(tempfile.gettempdir()) < SOCKET_BYTES
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir=None if short else "/tmp"))
        with self.closed_if_it_fails():
            for number, host in enumerate(dict.fromkeys(part.host for part in parts)):
                if host is not None:
                    self.machines[host] = Remote(host, self.folder / str(number))

    @contextlib.contextmanager
    def closed_if_it_fails(self) -> Iterator[None]:
        """What was opened so far is closed where the rest cannot be."""
        try:
            yield
        except Failure as error:
            self.close()
            raise Failure(f"{TARGET}={self.value}: {error}") from None
        except BaseException:
            self.close()
            raise

    def machine(self, end: str) -> Machine:
        """Where an end is."""
        return self.machines[self.parts[end].host]

    def remotes(self) -> list[Remote]:
        """The other machines."""
        return [machine for machine in self.machines.values() if isinstance(machine, Remote)]

    def address(self, end: str) -> str:
        """Where an end listens: as was said, else where ssh has reached its machine."""
        part, machine = self.parts[end], self.machine(end)
        if part.address:
            return part.address
        if isinstance(machine, Remote):
            address = machine.hello.seen_at
        else:
            address = next((other.hello.seen_from for other in self.remotes()), "127.0.0.1")
        if not address:
            raise Failure(f"{TARGET}={self.value}: ssh does not tell at which address {machine.name} is: write "
                          f"ssh:{machine.name}/ADDRESS")
        return address

    def ends_named(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The ends that the runner starts for a cell of these words."""
        if self.alone or "peer" in words or words.get("transport") == "null":
            return ()
        return ENDS[1:] if words.get("workload") == "proxy" else ENDS[1:2]

    def remotes_of(self, words: Mapping[str, str]) -> list[Remote]:
        """The other machines on which a cell of these words has an end."""
        hosts = {self.parts[end].host for end in ("client", *self.ends_named(words))}
        return [machine for host, machine in self.machines.items() if host in hosts and isinstance(machine, Remote)]

    def options_of(self, end: str) -> tuple[str, ...]:
        """What a server is told beside where to listen; a proxy connects to nobody but the server."""
        return ("--proxy", "--allow-sink", prefix_of(self.address("server"))) if end == "proxy" else ()

    def refuse(self, words: Mapping[str, str]) -> None:
        """UsageError for a cell that cannot be here."""
        for word, own in OWN_ENDS.items():
            if words.get(word, own) != own:
                raise UsageError(f"{TARGET}={self.value} starts the ends itself: leave out {word}={words[word]}")
        if "proxy" in self.ends_named(words) and "proxy" not in self.parts:
            raise UsageError(f"{TARGET}={self.value}: workload=proxy has three ends: write client+server+proxy")

    def refusal(self, words: Mapping[str, str]) -> str | None:
        """A Unix socket does not leave its machine."""
        machines = {self.parts[end].host for end in ("client", *self.ends_named(words))}
        if words.get("transport") == "unix" and len(machines) > 1:
            return "transport=unix does not leave a machine, and these ends are on several"
        return None

    def client(self, words: Mapping[str, str]) -> Client:
        """The client there: the static one, or what was chosen."""
        self.refuse(words)
        chosen = programs_choose(build_client(self.local, build_of(words)))
        return replace(chosen, place=self.place(words), reach=())

    def place(self, words: Mapping[str, str]) -> Place:
        """Where the client is."""
        return Session(self, self.machine("client"), None if self.alone else self.key)

    def folder_of(self, machine: Machine, folder: Path) -> str:
        """The folder of these programs there, as they are here."""
        if not isinstance(machine, Remote):
            return str(folder)
        machine.require()
        key = machine.name, machine.connections, folder
        if key not in self.copies:
            self.copies[key] = programs_copy(machine, Client(folder, None))
        return self.copies[key]

    def asked_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere: whether these can do it they say themselves, in the run."""
        return {NAMED_BY[end]: endpoint(self.address(end), PORT_ASKED) for end in self.ends_named(words)}

    def end_serve(self, end: str, folder: Path) -> Served:
        """A server or a proxy that is ready."""
        machine = self.machine(end)
        program = f"{self.folder_of(machine, folder)}/uncork-server"
        return Served(machine, program, self.address(end), self.key, self.folder / f"{end}.log", self.options_of(end))

    @contextlib.contextmanager
    def ends(self, words: Mapping[str, str]) -> Iterator[Ends]:
        """Server and proxy for a cell of these words."""
        folder = self.client(words).folder
        for machine in self.remotes_of(words):
            machine.require()
        with contextlib.ExitStack() as serving:
            found: dict[str, str] = {}
            for end in self.ends_named(words):
                served = self.end_serve(end, folder)
                serving.callback(served.close)
                found[NAMED_BY[end]] = served.endpoint
            yield Ends(found, ("--psk", KEY_FILE) if found else ())

    def explain(self, words: Mapping[str, str], record: dict[str, Any]) -> dict[str, Any]:
        """A failed run names the machines that have gone."""
        if record["status"] != "failed":
            return record
        gone = [machine.name for machine in self.remotes_of(words) if not machine.answers()]
        lost = f"{' and '.join(gone)} {'was' if len(gone) == 1 else 'were'} lost: "
        return record | {"reason": lost + record["reason"]} if gone else record

    def round_begin(self) -> None:
        """A machine that was lost may be tried again."""
        for machine in self.remotes():
            machine.round_begin()

    def found(self) -> dict[str, str]:
        """Which programs run, and what kinds of machines these are."""
        chosen = programs_choose(self.local)
        kinds = {end: f"{self.machine(end).name} {self.machine(end).hello.system}" for end in self.parts
                 if isinstance(self.machine(end), Remote)}
        return {"programs": build_digest(chosen)} | kinds

    def boots(self) -> dict[str, str]:
        """What the machines say themselves."""
        return {machine.name: machine.hello.boot for machine in self.remotes()}

    def by_hand(self, given: Mapping[str, str]) -> list[str]:
        """The commands that run a cell of these words once by hand, a server and a proxy first."""
        folder = self.client(given).folder
        named = {NAMED_BY[end]: endpoint(self.address(end), PORT_BY_HAND + ENDS.index(end)) for end in self.ends_named(given)}
        keys = ("--psk", "KEYS") if named else ()
        lines = ["# KEYS: a file with the same key on each machine, as psktool(1) writes it"] if named else []
        for end in self.ends_named(given):
            serve = ["uncork-server", "--with-parent", "--listen", named[NAMED_BY[end]], *keys, *self.options_of(end)]
            lines.append(self.by_hand_at(end, folder, serve))
        words = [f"{key}={value}" for key, value in (words_told(given) | named).items()]
        return [*lines, self.by_hand_at("client", folder, ["uncork-client", *keys, *words])]

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command of ours as one types it to run it where an end is."""
        machine = self.machine(end)
        line = shlex.join([f"{self.folder_of(machine, folder)}/{command[0]}", *command[1:]])
        if not isinstance(machine, Remote):
            return line
        there = shlex.quote(line) if "'" in line else line  # what the shell there shall not read, this one shall not either
        return f"{shlex.join([*machine.ssh, machine.name])} {there}"

    def close(self) -> None:
        """Ends the connections, and by that all that runs elsewhere."""
        for machine in self.machines.values():
            machine.close()
        shutil.rmtree(self.folder, ignore_errors=True)
