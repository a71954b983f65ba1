# SPDX-License-Identifier: MIT
"""The floor: bench/floor.c, compiled when it is needed.

Its stream is also the source and the sink of every proxy, ours included.
"""

from __future__ import annotations

import functools
import json
import socket

from bench.contenders.compiled import compile_if_newer, compiled
from bench.contenders.contender import CONGESTION, Broken, Contender, Job, client_run
from suite.base.units import size_parse

NAME = "floor"
THROUGH = "65536"  # bytes of a send of the source and of a receive of the sink of a proxy


def times(job: Job) -> list[str]:
    """Warm-up and measured time in ms."""
    return [f"{1000 * job.warmup:.0f}", f"{1000 * job.seconds:.0f}"]


def command(job: Job) -> list[str]:
    """Both ends: it forks, and pins each itself."""
    polls = "poll" in (job.words.get("engine"), job.words.get("server.engine"))
    fragments = [int(size_parse(size) or 0) for size in job.words["message"].split("+")]
    if len(fragments) > 2:
        raise Broken(f"message={job.words['message']}: the loop sends two fragments at most")
    return [str(compiled(NAME)), f"{job.words['workload']}{'-poll' if polls else ''}",
            str(sum(fragments)), str(job.number("reply", "1")),
            str(job.number("chunk", "64K")), str(job.number("rcvbuf", "0")), str(job.client_cpu),
            str(job.server_cpu), CONGESTION, *times(job), job.words.get("write", "nodelay"),
            str(fragments[0] if len(fragments) == 2 else 0)]


def through_run(job: Job, source: socket.socket, sink: socket.socket) -> float:
    """The rate of a stream through a proxy whose two connections are open.

    Source and sink share the CPU that the proxy does not have.
    """
    for end in (source, sink):
        end.setblocking(True)
    descriptors = [source.fileno(), sink.fileno()]
    told = [str(compiled(NAME)), "stream", THROUGH, "1", THROUGH, "0", str(job.client_cpu),
            str(job.client_cpu), CONGESTION, *times(job), "nodelay", "0", *map(str, descriptors)]
    return rate(client_run(told, job, None, descriptors), job)


def rate(output: str, job: Job) -> float:
    """From its one line of JSON."""
    figures = json.loads(output)
    if figures["congestion"] != CONGESTION:
        raise Broken(f"the loop ran with {figures['congestion']}, not {CONGESTION}")
    work = 8 * figures["bytes"] if job.metric == "bandwidth" else figures["messages"]
    return work / (figures["elapsed_ns"] / 1e9)


CONTENDER = Contender(NAME, (), True, command, rate,
                      prepare=functools.partial(compile_if_newer, NAME))
