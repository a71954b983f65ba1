# SPDX-License-Identifier: MIT
"""nbdkit with its memory plugin, next to `uncork-server --serve nbd`, under the same real clients.

A client first fills either server with the same random bytes: memory in which nothing was written
is the same few pages of zeros again and again, which cost less to send. At the end it reads them
back, and a run with other bytes gives no figure. nbdkit has what uncork's server has: a thread for
a connection, one block of memory, simple replies, and no list of holes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.contenders.contender import ADDRESS, Broken, Contender, Job, client_run, server_started

MIB = 1 << 20
SIZE_MIB = 256  # of the export


@dataclass(frozen=True)
class Export:
    """Where a server listens, and how clients name it."""

    socket: Path | None
    port: int

    @property
    def uri(self) -> str:
        """What a client is told."""
        if self.socket is not None:
            return f"nbd+unix:///?socket={self.socket}"
        return f"nbd://{ADDRESS}:{self.port}"


Command = Callable[[Job, Export], list[str]]
COPY = ("nbdcopy", "--no-extents")
EQUAL = 'nbdcopy --no-extents "$1" - | cmp - "$2"'


@functools.cache
def content() -> IO[bytes]:
    """The random bytes, in a file that goes with this process."""
    file = tempfile.NamedTemporaryFile(prefix="unk-")  # noqa: SIM115
    generator = random.Random(SIZE_MIB)
    for _ in range(SIZE_MIB):
        file.write(generator.randbytes(MIB))
    file.flush()
    return file


def server(job: Job, export: Export) -> list[str]:
    """nbdkit: `-f` keeps it in the foreground."""
    where = (["-U", str(export.socket)] if export.socket is not None
             else ["-i", ADDRESS, "-p", str(job.ports[0])])
    return ["nbdkit", "-f", "--threads", "1", "--no-sr", *where, "memory", f"{SIZE_MIB}M",
            "allocator=malloc"]


def client(job: Job, export: Export) -> list[str]:
    """What the words of a load mean to its program. A job of fio that is a process makes a session
    of its own, which the scheduler of Linux weighs apart from that of its server: so a thread."""
    if job.words["load"] == "nbdcopy":
        return [*COPY, export.uri, "null:"]
    keys = (word for word in job.words if word.startswith("fio."))
    return ["fio", "--name=bench", "--ioengine=nbd", f"--uri={export.uri}",
            *(f"--{key.removeprefix('fio.')}={job.words[key]}" for key in keys),
            f"--size={SIZE_MIB}M", "--thread", "--time_based",
            f"--runtime={1000 * job.seconds:.0f}ms", f"--ramp_time={1000 * job.warmup:.0f}ms",
            "--output-format=json"]


def fio_rate(output: str, job: Job) -> float:
    """Reads per second: what comes before the braces are notes of fio."""
    try:
        read = json.loads(output[output.index("{"):])["jobs"][0]["read"]
    except (ValueError, LookupError):
        raise Broken("fio printed no figures") from None
    if not read["total_ios"]:
        raise Broken("fio read nothing")
    return float(read["iops"])


def copies_rate(job: Job, export: Export) -> float:
    """Bits per second of copies, one after another, until the time is over."""
    began, copies = time.monotonic(), 0
    while not copies or time.monotonic() < began + job.seconds:
        client_run(client(job, export), job, job.client_cpu)
        copies += 1
    return 8 * MIB * SIZE_MIB * copies / (time.monotonic() - began)


@contextlib.contextmanager
def served(job: Job, command: Command) -> Iterator[Export]:
    """A server whose export is filled; Broken where it has other bytes at the end."""
    with tempfile.TemporaryDirectory(prefix="unk-") as folder:
        socket = Path(folder) / "socket" if job.words.get("transport") == "unix" else None
        export = Export(socket, job.ports[0])
        with server_started(command(job, export), job.server_cpu, socket or job.ports[0]):
            client_run([*COPY, content().name, export.uri], job, None)
            yield export
            client_run(["sh", "-c", EQUAL, "sh", export.uri, content().name], job, None)


def served_rate(job: Job, command: Command) -> float:
    """What a real client makes of a server: in the metric of the job."""
    if (why := CONTENDER.missing()) is not None:
        raise Broken(why)
    with served(job, command) as export:
        if job.words["load"] == "nbdcopy":
            return copies_rate(job, export)
        return fio_rate(client_run(client(job, export), job, job.client_cpu), job)


@dataclass(frozen=True)
class Served(Contender):
    """A contender that is a server."""

    def run(self, job: Job) -> float:
        """The rate of one run; Broken where there is none."""
        return served_rate(job, server)


CONTENDER = Served("nbdkit", ("nbdkit", "nbdcopy", "fio"), False,
                   lambda job: client(job, Export(None, job.ports[0])), fio_rate,
                   version=("nbdkit", "--version"))
