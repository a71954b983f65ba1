# SPDX-License-Identifier: MIT
"""target=ssh:HOST: other machines. `ssh:C+ssh:S+ssh:P` has client, server and proxy on a machine
each; `local` is this one.

Where all ends are on one machine its client starts the others, as it does here. Else the runner
starts server and proxy, for each cell its own, as a client does. They take only who shows the key
that was drawn for this target, so that all that crosses the control channel is encrypted.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.base.client import Client, build_digest
from suite.base.errors import Failure
from suite.base.place import Command, Place
from suite.base.runner_words import TARGET
from suite.places.spread import PORT_ASKED, Spread
from suite.places.ssh.machine import LocalMachine, RemoteMachine
from suite.places.ssh.programs import programs_choose, programs_copy
from suite.places.ssh.server import ADDRESS_WORDS, Served, endpoint, key_line
from suite.places.ssh.shell import KEY_FILE, keyed_words
from suite.places.target import Ends

KEY_BYTES = 32
# of the path of a folder for folders of sockets: the path of a socket may have 108, and ssh(1) adds to it
SOCKET_BYTES = 60


@dataclass(frozen=True)
class Session:
    """Programs are started on a machine; they find a key where the runner has started the ends."""

    target: Ssh
    machine: LocalMachine
    key: str | None = field(repr=False)

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.machine.name}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """The program of the copy there."""
        words = (f"{self.target.folder_of(self.machine, program.parent)}/{program.name}",
                 *arguments)
        if self.key is None:
            return Command(self.machine.command(words), given)
        return Command(self.machine.command(keyed_words(words)), key_line(self.key) + given)


class Ssh(Spread):
    """Ends on one machine or on several."""

    starting_s = 10.0

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        self.key = secrets.token_hex(KEY_BYTES)
        self.machines: dict[str | None, LocalMachine] = {None: LocalMachine()}
        self.copies: dict[tuple[str, int, Path], str] = {}
        short = len(tempfile.gettempdir()) < SOCKET_BYTES
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir=None if short else "/tmp"))
        with self.closed_if_it_fails():
            for number, host in enumerate(dict.fromkeys(part.host for part in self.parts.values())):
                if host is not None:
                    self.machines[host] = RemoteMachine(host, self.folder / str(number))

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

    def machine(self, end: str) -> LocalMachine:
        """Where an end is."""
        return self.machines[self.parts[end].host]

    def remotes(self) -> list[RemoteMachine]:
        """The other machines."""
        return [machine for machine in self.machines.values() if isinstance(machine, RemoteMachine)]

    def address(self, end: str) -> str:
        """Where an end listens: as was said, else where ssh has reached its machine."""
        part, machine = self.parts[end], self.machine(end)
        if part.address:
            return part.address
        if isinstance(machine, RemoteMachine):
            address = machine.greeting.seen_at
        else:
            address = next((other.greeting.seen_from for other in self.remotes()), "127.0.0.1")
        if not address:
            raise Failure(
                f"{TARGET}={self.value}: ssh does not tell at which address {machine.name} is: write "
                          f"ssh:{machine.name}/ADDRESS")
        return address

    def remotes_of(self, words: Mapping[str, str]) -> list[RemoteMachine]:
        """The other machines on which a cell of these words has an end."""
        hosts = {self.parts[end].host for end in ("client", *self.ends_named(words))}
        return [machine for host, machine in self.machines.items() if host in hosts
                and isinstance(machine, RemoteMachine)]

    def place(self, words: Mapping[str, str]) -> Place:
        """Where the client is."""
        return Session(self, self.machine("client"), None if self.alone else self.key)

    def folder_of(self, machine: LocalMachine, folder: Path) -> str:
        """The folder of these programs there, as they are here."""
        if not isinstance(machine, RemoteMachine):
            return str(folder)
        machine.require()
        key = machine.name, machine.connections, folder
        if key not in self.copies:
            self.copies[key] = programs_copy(machine, Client(folder, None))
        return self.copies[key]

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere: whether these can do it they say
        themselves, in the run."""
        return {ADDRESS_WORDS[end]: endpoint(self.address(end), PORT_ASKED)
                for end in self.ends_named(words)}

    def end_serve(self, end: str, folder: Path) -> Served:
        """A server or a proxy that is ready."""
        machine = self.machine(end)
        program = f"{self.folder_of(machine, folder)}/uncork-server"
        return Served(machine, program, self.address(end), self.key, self.folder / f"{end}.log",
                      self.options_of(end))

    @contextlib.contextmanager
    def ends(self, words: Mapping[str, str]) -> Iterator[Ends]:
        """Server and proxy for a cell of these words."""
        folder = self.programs(words).folder
        for machine in self.remotes_of(words):
            machine.require()
        with contextlib.ExitStack() as serving:
            found: dict[str, str] = {}
            for end in self.ends_named(words):
                served = self.end_serve(end, folder)
                serving.callback(served.close)
                found[ADDRESS_WORDS[end]] = served.endpoint
            yield Ends(found, ("--psk", KEY_FILE) if found else ())

    def failure_explain(self, words: Mapping[str, str], record: dict[str, Any]) -> dict[str, Any]:
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

    def identity(self) -> dict[str, str]:
        """Which programs run, and what kinds of machines these are."""
        kinds = {end: f"{self.machine(end).name} {self.machine(end).greeting.system}"
                 for end in self.parts
                 if isinstance(self.machine(end), RemoteMachine)}
        return {"programs": build_digest(programs_choose(self.local))} | kinds

    def boot_ids(self) -> dict[str, str]:
        """What the machines say themselves."""
        return {machine.name: machine.greeting.boot for machine in self.remotes()}

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command of ours as one types it to run it where an end is."""
        machine = self.machine(end)
        line = shlex.join([f"{self.folder_of(machine, folder)}/{command[0]}", *command[1:]])
        if not isinstance(machine, RemoteMachine):
            return line
        # what the shell there shall not read, this one shall not either
        there = shlex.quote(line) if "'" in line else line
        return f"{shlex.join([*machine.ssh, machine.name])} {there}"

    def close(self) -> None:
        """Ends the connections, and by that all that runs elsewhere."""
        for machine in self.machines.values():
            machine.close()
        shutil.rmtree(self.folder, ignore_errors=True)
