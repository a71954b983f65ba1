# SPDX-License-Identifier: MIT
"""sockperf ping-pong over TCP: it leaves out a warm-up of 0.4 s and the last 0.05 s by itself."""

from __future__ import annotations

import re

from bench.contenders.contender import ADDRESS, Broken, Contender, Job, whole_seconds

LEFT_OUT_SECONDS = 0.45
VALID = re.compile(r"\[Valid Duration\] RunTime=([\d.]+) sec; "
                   r"SentMessages=(\d+); ReceivedMessages=(\d+)")


def server(job: Job) -> list[str]:
    return ["sockperf", "server", "--tcp", "-i", ADDRESS, "-p", str(job.ports[0])]


def client(job: Job) -> list[str]:
    """A message is at least 14 bytes; the reply is as long."""
    return ["sockperf", "ping-pong", "--tcp", "-i", ADDRESS, "-p", str(job.ports[0]),
            "-m", str(job.number("message", "64")),
            "-t", str(whole_seconds(job.seconds + LEFT_OUT_SECONDS))]


def measured(seconds: float) -> float:
    return whole_seconds(seconds + LEFT_OUT_SECONDS) - LEFT_OUT_SECONDS


def rate(output: str, job: Job) -> float:
    """Round trips per second of what it calls the valid duration."""
    found = VALID.search(output)
    if found is None or not float(found[1]) or not int(found[3]):
        raise Broken("sockperf printed no valid duration")
    return int(found[3]) / float(found[1])


CONTENDER = Contender("sockperf", ("sockperf",), False, client, rate, server,
                      measures=measured, version=("sockperf", "--version"))
