# SPDX-License-Identifier: MIT
"""The example proxy that comes with liburing's source, where $UNCORK_LIBURING_PROXY names it.

It listens for a connection, opens one to a fixed address for it, and stays until it is ended.
"""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass

from bench.contenders import floor
from bench.contenders.contender import (
    ADDRESS,
    READY_SECONDS,
    Broken,
    Contender,
    Job,
    server_started,
)

NAMED_BY = "UNCORK_LIBURING_PROXY"
BUILD_HINT = ("unpack the source of liburing, run ./configure && make there, and give "
              "the path of examples/proxy")
WRITES = {
    "uring-send": ("-u0", "-C0", "-M0"),
    "uring-sendmsg": ("-u0", "-C0", "-M1"),
    "uring-ring": ("-u1", "-C0", "-M0"),
    "uring-bundle": ("-u1", "-C1", "-M0"),
}
READS = {"uring-multishot": ("-m1", "-c0"), "uring-bundle": ("-m1", "-c1")}
SETUP = ("-d1", "-f1", "-S0", "-B0")  # defer_taskrun, fixed files; no polling thread, one way


def command(job: Job) -> list[str]:
    """The words in its letters; as many buffers as uncork's proxy has on a ring, a window."""
    return [os.environ.get(NAMED_BY, "proxy"), *SETUP, *READS[job.words["read"]],
            *WRITES[job.words["write"]], "-b", str(job.number("chunk", "64K")),
            "-n", str(job.number("window", "1")), "-H", ADDRESS,
            "-r", str(job.ports[0]), "-p", str(job.ports[1])]


@dataclass(frozen=True)
class Proxy(Contender):
    """A proxy between the floor's source and sink."""

    def missing(self) -> str | None:
        """What is to be done where no program is named."""
        if NAMED_BY not in os.environ:
            return f"{NAMED_BY} names no program: {BUILD_HINT}"
        if shutil.which(os.environ[NAMED_BY]) is None:
            return f"{NAMED_BY}={os.environ[NAMED_BY]} is no program: {BUILD_HINT}"
        return None

    def run(self, job: Job) -> float:
        """The rate of one run; Broken where there is none."""
        with (socket.create_server((ADDRESS, job.ports[1])) as listener,
              server_started(self.client(job), job.server_cpu, job.ports[0]),
              socket.create_connection((ADDRESS, job.ports[0])) as source):
            listener.settimeout(READY_SECONDS)
            try:
                sink, _ = listener.accept()
            except TimeoutError:
                raise Broken("the proxy opened no connection to its sink") from None
            with sink:
                return floor.through_run(job, source, sink)


CONTENDER = Proxy("liburing", (), False, command, floor.rate)
