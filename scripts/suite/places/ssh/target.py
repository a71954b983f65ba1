# SPDX-License-Identifier: MIT
"""target=ssh:HOST: other machines. `ssh:C+ssh:S+ssh:P` has client, server and proxy on a machine
each; `local` is this one.

Where one machine has all ends, its client starts the others, as on this machine. Otherwise the
runner starts server and proxy for each cell. They accept only the key of this target, and TLS
encrypts the control channel.
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

from suite.base.client import Client, build_digest
from suite.base.errors import Failure
from suite.base.process import Place, PlacedCommand
from suite.base.runner_words import TARGET
from suite.places.remote import PLANNED_PORT, RemoteTarget
from suite.places.ssh.machine import LocalMachine, RemoteMachine, child_close, keyed_words
from suite.places.ssh.programs import programs_choose, programs_folder
from suite.places.ssh.server import (
    ADDRESS_WORDS,
    KEY_BYTES,
    endpoint,
    key_line,
    key_options,
    server_started,
)
from suite.places.target import Ends
from suite.result.record import JsonObject

# The path of a socket has at most 108 bytes, ssh(1) appends to it, and the folder is part of it.
SOCKET_BYTES = 60


@dataclass(frozen=True)
class MachinePlace:
    """Programs start on a machine. key: for a client whose ends the runner has started."""

    machine: LocalMachine
    key: str | None = field(repr=False)

    @property
    def name(self) -> str:
        """`on h1`."""
        return f"on {self.machine.name}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The program of the copy there."""
        words = (f"{programs_folder(self.machine, program.parent)}/{program.name}", *arguments)
        if self.key is None:
            return PlacedCommand(self.machine.command(words), given)
        return PlacedCommand(self.machine.command(keyed_words(words)), key_line(self.key) + given)


class Ssh(RemoteTarget):
    """Ends on one machine or on several. machines: by the host of a part, None is this machine."""

    starting_s = 10.0

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        self.key = secrets.token_hex(KEY_BYTES)
        self.machines: dict[str | None, LocalMachine] = {None: LocalMachine()}
        short = len(tempfile.gettempdir()) < SOCKET_BYTES
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir=None if short else "/tmp"))
        with contextlib.ExitStack() as failing:
            failing.callback(self.close)
            try:
                for number, part in enumerate(self.parts.values()):
                    if part.host not in self.machines:
                        self.machines[part.host] = RemoteMachine(
                            str(part.host), self.folder / str(number))
            except Failure as error:
                raise Failure(f"{TARGET}={value}: {error}") from None
            failing.pop_all()

    def machine(self, end: str) -> LocalMachine:
        """Where an end is."""
        return self.machines[self.parts[end].host]

    def remotes(self, words: Mapping[str, str] | None = None) -> list[RemoteMachine]:
        """The other machines. words: only those where a cell of these words has an end."""
        ends = self.parts if words is None else ("client", *self.own_ends(words))
        hosts = {self.parts[end].host for end in ends}
        return [machine for host, machine in self.machines.items()
                if host in hosts and isinstance(machine, RemoteMachine)]

    def address(self, end: str) -> str:
        """Where an end listens: the address of its part, else where ssh connected to its machine.
        """
        part, machine = self.parts[end], self.machine(end)
        if part.address:
            return part.address
        if isinstance(machine, RemoteMachine):
            address = machine.greeting.seen_at
        else:
            address = next((other.greeting.seen_from for other in self.remotes()), "127.0.0.1")
        if not address:
            raise Failure(f"{TARGET}={self.value}: ssh does not tell at which address "
                          f"{machine.name} is: write ssh:{machine.name}/ADDRESS")
        return address

    def place(self, words: Mapping[str, str]) -> Place:
        """The machine of the client."""
        return MachinePlace(self.machine("client"), None if self.alone else self.key)

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words that tell the client which ends are elsewhere. What these ends support, they report
        in the run."""
        return {ADDRESS_WORDS[end]: endpoint(self.address(end), PLANNED_PORT)
                for end in self.own_ends(words)}

    @contextlib.contextmanager
    def ends(self, words: Mapping[str, str]) -> Iterator[Ends]:
        """Server and proxy for a cell of these words."""
        folder = self.programs(words).folder
        for machine in self.remotes(words):
            machine.require()
        with contextlib.ExitStack() as serving:
            found: dict[str, str] = {}
            for end in self.own_ends(words):
                program = f"{programs_folder(self.machine(end), folder)}/uncork-server"
                found[ADDRESS_WORDS[end]] = serving.enter_context(server_started(
                    self.machine(end), program, self.address(end), self.key,
                    self.folder / f"{end}.log", self.server_options(end)))
            yield Ends(found, key_options(found))

    def failure_explain(self, words: Mapping[str, str], record: JsonObject) -> JsonObject:
        """A failed run names the machines that were lost."""
        if record["status"] != "failed":
            return record
        gone = [machine.name for machine in self.remotes(words) if not machine.answers()]
        lost = f"{' and '.join(gone)} {'was' if len(gone) == 1 else 'were'} lost: "
        return record | {"reason": lost + record["reason"]} if gone else record

    def round_begin(self) -> None:
        """A machine that was lost may be tried again."""
        for machine in self.remotes():
            machine.retried = False

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and by end the name and system of its machine."""
        machines = {end: self.machine(end) for end in self.parts}
        return {"programs": build_digest(programs_choose(self.local))} | {
            end: f"{machine.name} {machine.greeting.system}" for end, machine in machines.items()
            if isinstance(machine, RemoteMachine)}

    def boot_ids(self) -> dict[str, str]:
        """As the machines report them."""
        return {machine.name: machine.greeting.boot for machine in self.remotes()}

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        """A command as a person types it to run it where an end is."""
        machine = self.machine(end)
        line = shlex.join([f"{programs_folder(machine, folder)}/{command[0]}", *command[1:]])
        if not isinstance(machine, RemoteMachine):
            return line
        # what the shell there must not interpret, the shell here must not interpret either
        there = shlex.quote(line) if "'" in line else line
        return f"{shlex.join([*machine.ssh, machine.name])} {there}"

    def close(self) -> None:
        """Closes the connections, which ends all that runs elsewhere."""
        for machine in self.remotes():
            child_close(machine.master)
        shutil.rmtree(self.folder, ignore_errors=True)
