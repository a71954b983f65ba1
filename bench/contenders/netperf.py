# SPDX-License-Identifier: MIT
"""netperf TCP_RR: two calls a side for each transaction; it has no warm-up."""

from __future__ import annotations

from bench.contenders.contender import ADDRESS, CONGESTION, Broken, Contender, Job, whole_seconds

KEYS = "THROUGHPUT,THROUGHPUT_UNITS,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL"


def server(job: Job) -> list[str]:
    """Runs until it is ended, in the foreground (-D)."""
    return ["netserver", "-D", "-4", "-L", ADDRESS, "-p", str(job.ports[0])]


def client(job: Job) -> list[str]:
    """-D after -- is TCP_NODELAY on both ends."""
    sizes = f"{job.number('message', '64')},{job.number('reply', '1')}"
    return ["netperf", "-4", "-H", ADDRESS, "-p", str(job.ports[0]), "-t", "TCP_RR", "-P", "0",
            "-l", str(whole_seconds(job.seconds)), "--", "-r", sizes, "-D", "-k", KEYS]


def rate(output: str, job: Job) -> float:
    """Transactions per second, from its lines KEY=value."""
    told = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    pinned = {told.get("LOCAL_CONG_CONTROL"), told.get("REMOTE_CONG_CONTROL")}
    try:
        rate = float(told["THROUGHPUT"])
    except (KeyError, ValueError):
        raise Broken("netperf printed no THROUGHPUT") from None
    if told.get("THROUGHPUT_UNITS") != "Trans/s":
        raise Broken(f"netperf counts in {told.get('THROUGHPUT_UNITS')}, not Trans/s")
    if pinned != {CONGESTION}:
        raise Broken(f"netperf ran with {' and '.join(sorted(map(str, pinned)))}, not {CONGESTION}")
    return rate


CONTENDER = Contender("netperf", ("netperf", "netserver"), False, client, rate, server,
                      measures=whole_seconds, version=("netperf", "-V"))
