# SPDX-License-Identifier: MIT
"""target=ssh:HOST: other machines. `ssh:C+ssh:S+ssh:P`: client, server and proxy on a machine each;
`local` is this machine.

Where one machine has all ends, its client starts the others, as on this machine. Otherwise the
runner starts server and proxy for each cell. They accept only the key of this target, and TLS
encrypts the control channel.
"""

import contextlib
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from suite.base.client import Client, build_digest
from suite.base.errors import Failure
from suite.base.installation import setup_hint
from suite.base.process import PlacedCommand, process_close
from suite.places.remote import PLANNED_PORT, RemoteTarget
from suite.places.ssh import machine as ssh
from suite.places.ssh.programs import definitions_place, programs_choose, programs_folder
from suite.result.record import JsonObject


class Ssh(RemoteTarget):
    """Ends on one or several machines. machines: all except this one, by host."""

    starting_s = 10.0

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        self.key = secrets.token_hex(ssh.KEY_BYTES)
        self.machines: dict[str, ssh.RemoteMachine] = {}
        # ssh(1) lengthens the path of its socket, which may have 108 bytes: keep it short
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir="/tmp"))
        with contextlib.ExitStack() as failing:
            failing.callback(self.close)
            try:
                for number, host in enumerate(filter(None, self.hosts)):
                    self.machines[host] = ssh.RemoteMachine(host, self.folder / str(number))
            except Failure as error:
                raise Failure(f"target={value}: {error}") from None
            failing.pop_all()

    @classmethod
    def require(cls, value: str) -> None:
        if shutil.which(program := ssh.ssh_choose()[0]) is None:
            raise Failure(f"target=ssh: {program} is missing: {setup_hint('ssh')}")

    def machine(self, end: str) -> ssh.LocalMachine:
        return self.machines.get(self.host(end)) or ssh.LocalMachine()

    def remotes(self, words: Mapping[str, str]) -> list[ssh.RemoteMachine]:
        hosts = dict.fromkeys(self.host(end) for end in ("client", *self.ends_to_start(words)))
        return [self.machines[host] for host in hosts if host]

    def address(self, end: str) -> str:
        """Where an end listens: the address of its part, else where ssh connected to it."""
        part = self.parts[end]
        if part.host:
            found = part.address or self.machines[part.host].greeting.own_address
        else:
            found = next((other.greeting.peer_address for other in self.machines.values()),
                         "127.0.0.1")
        if not found:
            name = self.machine(end).name
            raise Failure(f"target={self.value}: ssh does not tell the address of {name}: "
                          f"write ssh:{name}/ADDRESS")
        return found

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The copy of the program there. It gets the key if the runner starts the other ends."""
        machine = self.machine("client")
        argv = (f"{programs_folder(machine, program.parent)}/{program.name}", *arguments)
        if self.one_machine:
            return PlacedCommand(machine.command(argv), given)
        keyed = machine.command(ssh.argv_with_key(argv))
        return PlacedCommand(keyed, ssh.key_line(self.key) + given)

    def planned_words(self, words: Mapping[str, str]) -> dict[str, str]:
        """Words for the ends elsewhere. What these ends support, they report in the run."""
        return {ssh.ADDRESS_WORDS[end]: ssh.endpoint(self.address(end), PLANNED_PORT)
                for end in self.ends_to_start(words)}

    @contextlib.contextmanager
    def ends(self, words: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        folder = self.client(words).folder
        for machine in self.remotes(words):
            machine.require()
        with contextlib.ExitStack() as serving:
            found: dict[str, str] = {}
            for end in self.ends_to_start(words):
                program = f"{programs_folder(self.machine(end), folder)}/uncork-server"
                found[ssh.ADDRESS_WORDS[end]] = serving.enter_context(ssh.server_started(
                    self.machine(end), program, self.address(end), self.key,
                    self.folder / f"{end}.log",
                    (*self.server_options(end), *self.definitions(end, words))))
            yield found

    def definitions_at(self, end: str) -> str:
        return definitions_place(self.machine(end))

    def failure_explain(self, words: Mapping[str, str], record: JsonObject) -> JsonObject:
        """A failed run names the machines that were lost."""
        if record["status"] != "failed":
            return record
        gone = [machine.name for machine in self.remotes(words) if not machine.answers()]
        lost = f"{' and '.join(gone)} {'was' if len(gone) == 1 else 'were'} lost: "
        return record | {"reason": lost + record["reason"]} if gone else record

    def round_begin(self) -> None:
        for machine in self.machines.values():
            machine.retried = False

    def identity(self) -> dict[str, str]:
        """The digest of the programs, and by end the name and system of its machine."""
        return {"programs": build_digest(programs_choose(self.local))} | {
            end: f"{part.host} {self.machines[part.host].greeting.system}"
            for end, part in self.parts.items() if part.host}

    def boot_ids(self) -> dict[str, str]:
        return {host: machine.greeting.boot for host, machine in self.machines.items()}

    def by_hand_at(self, end: str, folder: Path, command: Sequence[str]) -> str:
        folder_there, host = programs_folder(self.machine(end), folder), self.host(end)
        line = shlex.join([f"{folder_there}/{command[0]}", *command[1:]])
        if not host:
            return line
        # neither the shell here nor the shell there may interpret it
        there = shlex.quote(line) if "'" in line else line
        return f"{shlex.join([*self.machines[host].ssh, host])} {there}"

    def close(self) -> None:
        """Closes the connections, which ends all that runs elsewhere."""
        for machine in self.machines.values():
            process_close(machine.master, ssh.SSH_END_LIMIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)
