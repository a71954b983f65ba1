# SPDX-License-Identifier: MIT
"""Hosts of targets: what is known about them, and what must be on them before a program runs.

All work is done in steps: each host that has a job runs a function of host.sh, and the step ends
with the last of them. A failure on a host concerns only the pairs that it is in. The next round
tries it again.
"""

import functools
import os
import platform
import secrets
import shutil
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base import ROOT
from suite.base.client import BINARIES, LIBRARY, Client, build_digest, client_require, fault_text
from suite.base.installation import STATIC_HINT
from suite.places.remote import shell
from suite.places.remote.shell import Greeting
from suite.scenario.subject import definitions_file

STEP_LIMIT_S = 30.0
COPY_LIMIT_S = 600.0  # for 20 MB over a slow line
STATIC = ROOT / "build" / "static"
HERE, THIS_MACHINE = "", "this machine"  # its name as a host, and in messages
Reasons = dict[str, str]  # by host or by pair: why something failed


def programs_choose(client: Client) -> Client:
    """The static build, if it has been configured and the user has chosen no other build."""
    if client.built is None or not (STATIC / "CMakeCache.txt").exists():
        return client
    return client_require(replace(client, folder=STATIC / "bin", built=STATIC))


# cached, because hosts keep the programs that were copied first, even if the files change
@functools.cache
def digest_of(folder: Path) -> str:
    return build_digest(Client(folder, None))


def checksum(path: Path) -> str:
    """What cksum(1) prints of a file: `CRC SIZE`."""
    return subprocess.run(["cksum"], input=path.read_bytes(), capture_output=True,
                          check=True).stdout.decode().strip()


@dataclass(frozen=True)
class Job:
    """A function of host.sh that a host runs. Its standard input: files of this machine, then the
    text given."""

    function: str
    arguments: tuple[str, ...]
    files: tuple[Path, ...] = ()
    given: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        return shell.script_argv(self.function, self.arguments)

    @property
    def input(self) -> bytes:
        return b"".join([shell.SCRIPT.encode(), shell.SCRIPT_END.encode(),
                         *(path.read_bytes() for path in self.files), self.given.encode()])


@dataclass
class Outcome:
    """The result of a job, an Output. why: why it did not run, with the host; empty if it ran."""

    status: int = 1
    stdout: bytes = b""
    stderr: str = ""
    why: str = ""
    limit_s: float = 0.0
    torn: bytes = b""

    @property
    def overdue(self) -> bool:
        return self.status == shell.OVERDUE_STATUS

    @property
    def failed(self) -> bool:
        return bool(self.why) or self.status != 0

    def reason(self, what: str) -> str:
        """Why it did not run, else why it failed. what: what did not succeed, with the host."""
        fault = fault_text(self.stderr, self.status).removeprefix("uncork-server: ")
        return self.why or f"{what}: {fault}"

    def lines(self) -> Iterator[bytes]:
        *whole, self.torn = self.stdout.split(b"\n")
        yield from whole


class Hosts:
    """The hosts of one target or of one inventory. where: begins messages. greetings: by host.
    boots: as first greeted. copies: the folder of programs there, by host and folder here. servers:
    the endpoint, by host and name of the process. definitions: the file there with those of
    subjects. lost: why hosts are not tried again in this round. address_missing: `{}` is a host."""

    address_missing: str

    def __init__(self, where: str) -> None:
        self.where = where
        # ssh(1) lengthens the paths of its sockets, which may have 108 bytes: keep them short
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir="/tmp"))
        self.run_id = secrets.token_hex(8)
        # the key of this run is in memory only; a process of the same user opens its path
        self.key = os.memfd_create("uncork-key")
        os.write(self.key, shell.key_line(secrets.token_hex(shell.KEY_BYTES)).encode())
        self.key_path = Path(f"/proc/{os.getpid()}/fd/{self.key}")
        self.greetings: dict[str, Greeting] = {}
        self.boots: dict[str, str] = {}
        self.copies: dict[tuple[str, Path], str] = {}
        self.servers: dict[tuple[str, str], str] = {}
        self.definitions: dict[str, str] = {}
        self.lost: Reasons = {}

    def connect(self, hosts: Sequence[str]) -> Reasons:
        """Connects to hosts, where connections last. Returns why that fails, by host."""
        return {}

    @abstractmethod
    def step(self, jobs: Mapping[str, Job], limit_s: float = STEP_LIMIT_S) -> dict[str, Outcome]:
        """Runs all jobs, by host; ends those that take longer than limit_s."""

    def run_name(self, host: str) -> str:
        """The name of the folder of this run; several hosts may share one home."""
        return f"{self.run_id}-{host}"

    def is_ready(self, host: str, folder: Path) -> bool:
        """Whether a host is reached and has these programs."""
        return (host, folder) in self.copies

    def greet(self, hosts: Sequence[str], folder: Path) -> tuple[dict[str, list[str]], Reasons]:
        """Greets hosts. Returns (the programs of a folder that each lacks, why others failed), both
        by host."""
        own, reasons, missing = f"{platform.system()} {platform.machine()}", self.connect(hosts), {}
        sums = {name: checksum(folder / name) for name in (*BINARIES, LIBRARY)
                if name in BINARIES or (folder / name).exists()}
        outcomes = self.step({host: Job("greet", (digest_of(folder), *sums))
                              for host in hosts if host not in reasons})
        for host, outcome in outcomes.items():
            greeting = next(filter(None, map(shell.greeting_parse, outcome.lines())), None)
            if outcome.why:
                reasons[host] = outcome.why
            elif greeting is None:
                reasons[host] = f"{host}: it does not run sh"
            elif greeting.system != own:
                reasons[host] = (f"{host} is {greeting.system}, and these programs are for {own}: "
                                 "nothing would start there")
            elif self.boots.setdefault(host, greeting.boot) != greeting.boot:
                reasons[host] = f"{host} was lost: it has been booted since"
            else:
                self.greetings[host] = greeting
                missing[host] = [] if host == HERE else files_missing(outcome.stdout, sums)
        return missing, reasons

    def file_copy(self, path: Path, name: str, folders: Mapping[str, str]) -> Reasons:
        """Copies a file, under this name, to the folder of each host. Returns failures."""
        sent = checksum(path)
        outcomes = self.step({host: Job("copy", (folder, name, sent), (path,))
                              for host, folder in folders.items()}, COPY_LIMIT_S)
        return {host: outcome.reason(f"{name} cannot be copied to {folders[host]} on {host}")
                for host, outcome in outcomes.items() if outcome.failed}

    def copy(self, missing: Mapping[str, Sequence[str]], folder: Path) -> Reasons:
        """Copies the missing programs to each host, and tries to start them. Returns failures."""
        reasons = Reasons()
        folders = {host: str(folder) if host == HERE else
                   f"{self.greetings[host].cache}/bin/{digest_of(folder)}" for host in missing}
        for name in (*BINARIES, LIBRARY):
            reasons |= self.file_copy(folder / name, name, {
                host: folders[host] for host, names in missing.items()
                if name in names and host not in reasons})
        started = self.step({
            host: Job("try", (f"{folders[host]}/{BINARIES[0]}", "--version"))
            for host, names in missing.items() if names and host not in reasons})
        reasons |= {
            host: f"{outcome.reason(f'{BINARIES[0]} does not start on {host}')}; {STATIC_HINT}"
            for host, outcome in started.items() if outcome.failed}
        self.copies |= {(host, folder): there for host, there in folders.items()
                        if host not in reasons}
        return reasons

    def define(self, hosts: Iterable[str]) -> Reasons:
        """Copies the definitions of subjects to the hosts that lack them. Returns failures."""
        path = Path(definitions_file())
        name = f"{checksum(path).replace(' ', '-')}.json"
        self.definitions[HERE] = str(path)
        folders = {host: f"{self.greetings[host].cache}/subjects"
                   for host in hosts if host not in self.definitions}
        reasons = self.file_copy(path, name, folders)
        self.definitions |= {host: f"{folder}/{name}" for host, folder in folders.items()
                             if host not in reasons}
        return reasons

    def prepare(self, hosts: Iterable[str], folder: Path, definitions: bool) -> Reasons:
        """Brings the programs in a folder, and perhaps the definitions of subjects, to these hosts.
        Returns why others failed; these are not tried again in this round."""
        left = [host for host in hosts if host not in self.lost]
        new = [host for host in left if not self.is_ready(host, folder)]
        missing, reasons = self.greet(new, folder) if new else ({}, {})
        self.lose(reasons)
        reasons |= self.copy(missing, folder)
        if definitions:
            reasons |= self.define(host for host in left if host not in reasons)
        return self.lost | reasons

    def lose(self, reasons: Reasons) -> None:
        """Drops what is known about lost hosts: they are greeted again in the next round."""
        self.lost |= reasons
        self.greetings = {host: one for host, one in self.greetings.items() if host not in reasons}
        self.copies = {key: copy for key, copy in self.copies.items() if key[0] not in reasons}
        self.servers = {key: where for key, where in self.servers.items() if key[0] not in reasons}

    @abstractmethod
    def by_hand(self, host: str, command: Sequence[str]) -> str:
        """The line to type to run a command on a host."""

    def close(self) -> None:
        """Ends all programs on all hosts."""
        os.close(self.key)
        shutil.rmtree(self.folder, ignore_errors=True)


def files_missing(printed: bytes, sums: Mapping[str, str]) -> list[str]:
    """The files that differ there or are missing. printed: the output of `greet`."""
    found = [line.strip() for line in printed.decode(errors="replace").splitlines()][-len(sums):]
    if len(found) < len(sums):
        return list(sums)
    return [name for name, other in zip(sums, found, strict=True) if sums[name] != other]
