# SPDX-License-Identifier: MIT
"""The floor: tests/bench/floor.c, compiled when it is needed.

Its stream is also the source and the sink of every proxy, ours included.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

from bench.contenders.contender import CONGESTION, Broken, Contender, Job, client_run
from suite.base.client import ROOT
from suite.base.errors import Failure

SOURCE = Path(__file__).resolve().parents[1] / "floor.c"
PROGRAM = ROOT / "build" / "bench" / "floor"
THROUGH = "65536"  # bytes of a send of the source and of a receive of the sink of a proxy
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow")


def prepare() -> None:
    """Compiles the loops, unless what is there is newer than their source.

    The program gets its name when it is whole: other tests may compile or start it meanwhile.
    """
    if PROGRAM.exists() and PROGRAM.stat().st_mtime_ns > SOURCE.stat().st_mtime_ns:
        return
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc").split()
    unnamed = PROGRAM.with_name(f"{PROGRAM.name}.{os.getpid()}")
    try:
        done = subprocess.run([*compiler, *OPTIONS, "-o", unnamed, SOURCE],
                              capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise Failure(f"{compiler[0]} does not start: {error.strerror}: "
                      "scripts/demo installs a compiler") from None
    if done.returncode != 0:
        wrong = next((line for line in done.stderr.splitlines() if "error" in line), "no reason")
        raise Failure(f"{SOURCE} does not compile: {wrong}")
    unnamed.replace(PROGRAM)


def times(job: Job) -> list[str]:
    """Warm-up and measured time in ms."""
    return [f"{1000 * job.warmup:.0f}", f"{1000 * job.seconds:.0f}"]


def command(job: Job) -> list[str]:
    """Both ends: it forks, and pins each itself."""
    return [str(PROGRAM), job.words["workload"], str(job.number("message", "64")),
            str(job.number("reply", "1")), str(job.number("chunk", "64K")),
            str(job.number("rcvbuf", "0")), str(job.client_cpu), str(job.server_cpu), CONGESTION,
            *times(job)]


def through_run(job: Job, source: socket.socket, sink: socket.socket) -> float:
    """The rate of a stream through a proxy whose two connections are open.

    Source and sink share the CPU that the proxy does not have.
    """
    for end in (source, sink):
        end.setblocking(True)
    descriptors = [source.fileno(), sink.fileno()]
    told = [str(PROGRAM), "stream", THROUGH, "1", THROUGH, "0", str(job.client_cpu),
            str(job.client_cpu), CONGESTION, *times(job), *map(str, descriptors)]
    return rate(client_run(told, job, None, descriptors), job)


def rate(output: str, job: Job) -> float:
    """From its one line of JSON."""
    figures = json.loads(output)
    if figures["congestion"] != CONGESTION:
        raise Broken(f"the floor ran with {figures['congestion']}, not {CONGESTION}")
    work = 8 * figures["bytes"] if job.metric == "bandwidth" else figures["messages"]
    return work / (figures["elapsed_ns"] / 1e9)


CONTENDER = Contender("floor", (), True, command, rate, prepare=prepare)
