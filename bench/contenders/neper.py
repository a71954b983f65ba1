# SPDX-License-Identifier: MIT
"""neper tcp_rr: a thread a side, epoll; no warm-up, its clock starts at the first reply."""

from __future__ import annotations

import re

from bench.contenders.contender import ADDRESS, CONGESTION, Broken, Contender, Job, whole_seconds

THROUGHPUT = re.compile(r"^throughput=([\d.]+)$", re.MULTILINE)


def both(job: Job) -> list[str]:
    return ["tcp_rr", "--nolog", "--no-delay", "--congestion-control", CONGESTION,
            "-T", "1", "-F", str(job.number("connections", "1")), "-C", str(job.ports[0]),
            "-P", str(job.ports[1]), "-l", str(whole_seconds(job.seconds))]


def server(job: Job) -> list[str]:
    return both(job)


def client(job: Job) -> list[str]:
    return [*both(job), "-c", "-H", ADDRESS, "-Q", str(job.number("message", "64")),
            "-R", str(job.number("reply", "1"))]


def rate(output: str, job: Job) -> float:
    """Transactions per second of all flows."""
    found = THROUGHPUT.search(output)
    if found is None or not float(found[1]):
        raise Broken("tcp_rr printed no throughput")
    return float(found[1])


CONTENDER = Contender("neper", ("tcp_rr",), True, client, rate, server, measures=whole_seconds,
                      version=("tcp_rr", "--nolog", "--version"))
