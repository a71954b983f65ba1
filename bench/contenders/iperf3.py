# SPDX-License-Identifier: MIT
"""iperf3: its own warm-up is left out (-O), the rate is the receiver's."""

from __future__ import annotations

import json

from bench.contenders.contender import ADDRESS, CONGESTION, Broken, Contender, Job, whole_seconds


def server(job: Job) -> list[str]:
    return ["iperf3", "--server", "--one-off", "--bind", ADDRESS, "--port", str(job.ports[0])]


def client(job: Job) -> list[str]:
    """--length is the size of a send and, on the other end, of a receive."""
    return ["iperf3", "--client", ADDRESS, "--port", str(job.ports[0]), "--json",
            "--length", str(job.number("message", "64")), "--no-delay",
            "--congestion", CONGESTION,
            "--omit", str(whole_seconds(job.warmup) if job.warmup else 0),
            "--time", str(whole_seconds(job.seconds))]


def rate(output: str, job: Job) -> float:
    """bit/s at the receiver; both ends must have run with the pinned congestion control."""
    try:
        end = json.loads(output)["end"]
        pinned = {end["sender_tcp_congestion"], end["receiver_tcp_congestion"]}
        bits = float(end["sum_received"]["bits_per_second"])
    except (ValueError, KeyError, TypeError):
        raise Broken("iperf3 printed no result that is known here") from None
    if pinned != {CONGESTION}:
        raise Broken(f"iperf3 ran with {' and '.join(sorted(pinned))}, not {CONGESTION}")
    return bits


CONTENDER = Contender("iperf3", ("iperf3",), True, client, rate, server, measures=whole_seconds,
                      version=("iperf3", "--version"))
