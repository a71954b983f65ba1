# SPDX-License-Identifier: MIT
"""What a contender is, and how one is run: its server on one CPU, its client on the other."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.base.client import complaint_text, exit_text
from suite.base.units import size_parse

ADDRESS = "127.0.0.1"
CONGESTION = "cubic"
READY_SECONDS = 5
SPARE_SECONDS = 20  # beyond the measured time, before a client is called stuck
VERSION = re.compile(r"\d+(?:\.\d+)+")
TCP_LISTEN = "0A"  # the state in /proc/net/tcp, proc_net_tcp.txt of the kernel


class Broken(Exception):
    """A run that gave no figure: one line that says why."""


@dataclass(frozen=True)
class Job:
    """One run: words as in the contest, the metric that is asked for, CPUs of client and server."""

    words: Mapping[str, str]
    metric: str
    client_cpu: int
    server_cpu: int
    seconds: float
    warmup: float
    ports: tuple[int, int]

    def number(self, key: str, default: str) -> int:
        """A size or a count among the words: 65536 for chunk=64K."""
        return int(size_parse(self.words.get(key, default)) or 0)


@dataclass(frozen=True)
class Contender:
    """A tool: the programs it needs, its two commands, and how its rate is read.

    The rate comes in the unit of the job's metric: messages per second or bits per second. `pins`:
    it can set its own congestion control; the others take what the system gives a connection.
    `measures`: how many seconds it measures where so many are asked for. `version`: the command
    that prints its version.
    """

    name: str
    programs: tuple[str, ...]
    pins: bool
    client: Callable[[Job], list[str]]
    rate: Callable[[str, Job], float]
    server: Callable[[Job], list[str]] | None = None
    prepare: Callable[[], None] = lambda: None
    measures: Callable[[float], float] = float
    version: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Which program is not on PATH; None if all are."""
        absent = [name for name in self.programs if shutil.which(name) is None]
        return f"{absent[0]} is not installed" if absent else None

    def named(self) -> str:
        """Its name with its version, `iperf3 3.12`; the name alone where it tells none."""
        if not self.version:
            return self.name
        done = subprocess.run(self.version, capture_output=True, text=True, errors="replace")
        found = VERSION.search(done.stdout + done.stderr)
        return f"{self.name} {found[0]}" if found else self.name

    def run(self, job: Job) -> float:
        """The rate of one run; Broken where there is none."""
        with contextlib.ExitStack() as stack:
            if self.server is not None:
                server = self.server(job)
                stack.enter_context(server_started(server, job.server_cpu, job.ports[0]))
            return self.rate(client_run(self.client(job), job, job.client_cpu), job)


def ports_free() -> tuple[int, int]:
    """Two ports on which no program listens now."""
    with socket.create_server((ADDRESS, 0)) as one, socket.create_server((ADDRESS, 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def pinned(cpu: int | None) -> Callable[[], None] | None:
    """What a child does before it becomes a program."""
    return None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})


def listens(port: int) -> bool:
    """Whether a program listens on the port: asked of the system, for a connection would count."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    return True
    return False


def is_ready(where: int | Path) -> bool:
    """Whether a program listens on a port, or on a Unix socket, where a connection may come."""
    if isinstance(where, int):
        return listens(where)
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(where)) == 0


@contextlib.contextmanager
def server_started(command: Sequence[str], cpu: int, where: int | Path) -> Iterator[None]:
    """A server that listens; ended, with the children it has, when it is no longer needed."""
    name = Path(command[0]).name
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, process_group=0, preexec_fn=pinned(cpu))
    try:
        until = time.monotonic() + READY_SECONDS
        while not is_ready(where):
            if child.poll() is not None:
                raise Broken(f"the server {name} {exit_text(child.returncode)}")
            if time.monotonic() > until:
                raise Broken(f"the server {name} did not listen within {READY_SECONDS} s")
            time.sleep(0.01)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def client_run(command: Sequence[str], job: Job, cpu: int | None,
               descriptors: Sequence[int] = ()) -> str:
    """The standard output of a client that ended well; cpu None: it pins itself."""
    seconds = 2 * (job.seconds + job.warmup) + SPARE_SECONDS
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=seconds, process_group=0,
                              pass_fds=descriptors, preexec_fn=pinned(cpu))
    except subprocess.TimeoutExpired:
        raise Broken(f"{Path(command[0]).name} did not end within {seconds:.0f} s") from None
    except OSError as error:
        raise Broken(f"{Path(command[0]).name} does not start: {error.strerror}") from None
    if done.returncode != 0:
        told = complaint_text(done.stderr) or complaint_text(done.stdout)
        raise Broken(f"{Path(command[0]).name} {exit_text(done.returncode)}: {told or 'no output'}")
    return done.stdout


def whole_seconds(seconds: float) -> int:
    """For tools that count whole seconds: rounded up."""
    return max(1, math.ceil(round(seconds, 6)))
