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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from suite.base.client import BINARIES, LIBRARY, build_digest
from suite.base.installation import STATIC_HINT
from suite.places.remote.shell import Greeting, Job, Outcome, greeting_find
from suite.scenario.subject import definitions_file

STEP_LIMIT_S = 30.0
COPY_LIMIT_S = 600.0  # for 20 MB over a slow line
HERE = "this machine"  # its name as a host: ssh(1) takes no blank
Reasons = dict[str, str]  # by host: why something failed


def checksum(path: Path) -> str:
    """What cksum(1) prints of a file: `CRC SIZE`."""
    return subprocess.run(["cksum"], input=path.read_bytes(), capture_output=True,
                          check=True).stdout.decode().strip()


@functools.cache
def definitions_name() -> str:
    """The name, on hosts, of the file with the definitions of subjects."""
    return f"subjects-{checksum(Path(definitions_file())).replace(' ', '-')}.json"


# cached, because hosts keep the programs that were copied first, even if the files change
digest_of = functools.cache(build_digest)


@functools.cache
def files_of(folder: Path) -> dict[str, tuple[Path, str]]:
    """(file here, its checksum) of all that a host gets with the programs of a folder, by name."""
    paths = {name: folder / name for name in (*BINARIES, LIBRARY)
             if name in BINARIES or (folder / name).exists()}
    paths[definitions_name()] = Path(definitions_file())
    return {name: (path, checksum(path)) for name, path in paths.items()}


class Hosts:
    """The hosts of one target or of one inventory. where: begins messages. greetings: by host.
    boots: as first greeted. ready: (host, folder of programs here) where these have been copied.
    servers: the endpoint, by host and name of the process. lost: why hosts are not tried again in
    this round."""

    def __init__(self, where: str) -> None:
        self.where = where
        # ssh(1) lengthens the paths of its sockets, which may have 108 bytes: keep them short
        self.folder = Path(tempfile.mkdtemp(prefix="uncork-", dir="/tmp"))
        self.run_id = secrets.token_hex(8)
        # the key of this run is in memory only; a process of the same user opens its path
        self.key = os.memfd_create("uncork-key")
        os.write(self.key, f"uncork:{secrets.token_hex(32)}\n".encode())
        self.key_path = Path(f"/proc/{os.getpid()}/fd/{self.key}")
        self.greetings: dict[str, Greeting] = {}
        self.boots: dict[str, str] = {}
        self.ready: set[tuple[str, Path]] = set()
        self.servers: dict[tuple[str, str], str] = {}
        self.lost: Reasons = {}

    @abstractmethod
    def step(self, jobs: Mapping[str, Job], limit_s: float = STEP_LIMIT_S) -> dict[str, Outcome]:
        """Runs all jobs, by host; ends those that take longer than limit_s."""

    def run_name(self, host: str) -> str:
        """The name of the folder of this run; several hosts may share one home."""
        return f"{self.run_id}-{host}"

    def programs(self, host: str, folder: Path) -> str:
        """The folder there with copies of the programs in a folder here."""
        return f"{self.greetings[host].cache}/bin/{digest_of(folder)}"

    def greet(self, hosts: Sequence[str], folder: Path) -> Reasons:
        """Greets hosts. Returns why some of them cannot be used."""
        own, reasons = f"{platform.system()} {platform.machine()}", Reasons()
        outcomes = self.step({host: Job("greet", (digest_of(folder), *files_of(folder)))
                              for host in hosts})
        for host, outcome in outcomes.items():
            greeting = greeting_find(outcome.lines())
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
        return reasons

    def copy(self, hosts: Sequence[str], folder: Path) -> Reasons:
        """Copies what greeted hosts lack, and tries to start a program. Returns failures."""
        reasons, there = Reasons(), {host: self.programs(host, folder) for host in hosts}
        for name, (path, known) in files_of(folder).items():
            copied = self.step({
                host: Job("copy", (there[host], name, known), (path,)) for host in hosts
                if host not in reasons and known not in self.greetings[host].sums}, COPY_LIMIT_S)
            reasons |= {host: one.reason(f"{name} cannot be copied to {there[host]} on {host}")
                        for host, one in copied.items() if one.failed}
        started = self.step({host: Job("try", (f"{there[host]}/{BINARIES[0]}", "--version"))
                             for host in hosts if host not in reasons})
        return reasons | {
            host: f"{one.reason(f'{BINARIES[0]} does not start on {host}')}; {STATIC_HINT}"
            for host, one in started.items() if one.failed}

    def prepare(self, hosts: Iterable[str], folder: Path) -> Reasons:
        """Brings the programs in a folder and the definitions of subjects to these hosts. Returns
        why others failed; those that cannot be used are not tried again in this round."""
        new = [host for host in hosts if host not in self.lost and (host, folder) not in self.ready]
        if not new:
            return dict(self.lost)
        self.lose(self.greet(new, folder))
        greeted = [host for host in new if host not in self.lost]
        reasons = self.copy(greeted, folder)
        self.ready |= {(host, folder) for host in greeted if host not in reasons}
        return self.lost | reasons

    def lose(self, reasons: Reasons) -> None:
        """Drops what is known about lost hosts: they are greeted again in the next round."""
        self.lost |= reasons
        self.greetings = {host: one for host, one in self.greetings.items() if host not in reasons}
        self.ready = {key for key in self.ready if key[0] not in reasons}
        self.servers = {key: where for key, where in self.servers.items() if key[0] not in reasons}

    @abstractmethod
    def by_hand(self, host: str, command: Sequence[str]) -> str:
        """The line to type to run a command on a host."""

    def close(self) -> None:
        """Ends all programs on all hosts."""
        os.close(self.key)
        shutil.rmtree(self.folder, ignore_errors=True)
