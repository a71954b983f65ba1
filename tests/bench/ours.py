# SPDX-License-Identifier: MIT
"""uncork itself as one of the runs: `uncork-client --json`, and the suite's own metrics."""

from __future__ import annotations

import json

from bench.contenders.contender import CONGESTION, Broken, Job, client_run
from suite.client import Client
from suite.metrics import metrics_compute

TRIAL = ("message=1", "reply=1", "duration=10ms", "warmup=0s")


def command(client: Client, job: Job, place: str) -> list[str]:
    """The whole command; a null transport has no congestion control to pin."""
    words = [f"{key}={value}" for key, value in job.words.items()]
    if job.words.get("transport") != "null":
        words.append(f"congestion={CONGESTION}")
    return [client.program, "--json", *words, f"place={place}",
            f"duration={1000 * job.seconds:.0f}ms", f"warmup={1000 * job.warmup:.0f}ms"]


def record_parse(output: str) -> dict[str, float]:
    """The metrics that the record knows; Broken with its reason where it is not ok."""
    try:
        record = json.loads(output)
        status = record["status"]
    except (ValueError, KeyError, TypeError):
        raise Broken("uncork-client printed no record") from None
    if status != "ok":
        raise Broken(f"{status}: {record.get('reason', 'no reason')}")
    return {name: value for name, value in metrics_compute(record).items() if value is not None}


def run(client: Client, job: Job, place: str) -> dict[str, float]:
    """One run: all its metrics. uncork pins its own threads, among all CPUs that are allowed."""
    return record_parse(client_run(command(client, job, place), job, None))


def cpus_ask(client: Client, place: str) -> tuple[int, int]:
    """(CPU of the client, CPU of the server) that uncork chooses for a place, as it tells them."""
    job = Job({}, "", 0, 0, 0.0, 0.0, (0, 0))
    output = client_run([client.program, "--json", *TRIAL, f"place={place}"], job, None)
    record_parse(output)
    record = json.loads(output)
    asked = [record[end]["threads"][0]["cpus"]["asked"][0] for end in ("client", "server")]
    return asked[0], asked[1]
