# SPDX-License-Identifier: MIT
"""uncork itself as one of the runs: `uncork-client --json` and the metrics, or its proxy."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

from bench.contenders import floor, libnbd, nbdkit
from bench.contenders.contender import (
    ADDRESS,
    CONGESTION,
    READY_SECONDS,
    Broken,
    Job,
    client_run,
    server_started,
)
from loopback.control import Channel, data_join, plan_send, sink_accept
from suite.base.client import Client, client_list
from suite.observe.metrics import metrics_compute
from suite.result.record import Record

TRIAL = ("message=1", "reply=1", "duration=10ms", "warmup=0s")
PING_SECONDS = 1.0
TOKEN = bytes(range(16))  # of the sink; no other program connects to it


def words(job: Job, place: str) -> list[str]:
    """The words of a run; a null transport has no congestion control to pin."""
    given = [f"{key}={value}" for key, value in job.words.items()]
    if job.words.get("transport") != "null":
        given.append(f"congestion={CONGESTION}")
    return [*given, f"place={place}", f"duration={1000 * job.seconds:.0f}ms"]


def command(client: Client, job: Job, place: str) -> list[str]:
    return [client.program, "--json", *words(job, place), f"warmup={1000 * job.warmup:.0f}ms"]


def record_parse(output: str) -> dict[str, float]:
    """The metrics that the record knows; Broken with its reason where it is not ok."""
    try:
        record = json.loads(output)
        status = record["status"]
    except (ValueError, KeyError, TypeError):
        raise Broken("uncork-client printed no record") from None
    if status != "ok":
        raise Broken(f"{status}: {record.get('reason', 'no reason')}")
    return {name: value for name, value in metrics_compute(Record(record)).items()
            if value is not None}


def run(client: Client, job: Job, place: str) -> dict[str, float]:
    """One run: all its metrics. uncork pins its own threads, among all CPUs that are allowed."""
    if job.words["workload"] == "proxy":
        return {job.metric: proxy_run(client, job)}
    if job.words["workload"] == "command":
        return {job.metric: nbdkit.served_rate(job, functools.partial(serving, client))}
    if "subject" in job.words:
        return foreign_run(client, job)
    return record_parse(client_run(command(client, job, place), job, None))


def serving(client: Client, job: Job, export: nbdkit.Export) -> list[str]:
    """Our server of real clients, as it is without words."""
    where = f"unix:{export.socket}" if export.socket else f"{ADDRESS}:{export.port}"
    return [str(client.folder / "uncork-server"), "--listen", where, "--serve", "nbd",
            "--size", f"{nbdkit.SIZE_MIB}M"]


def foreign_run(client: Client, job: Job) -> dict[str, float]:
    """One run against the server of a contender, placed as that contender's client is."""
    kept = {key: value for key, value in job.words.items() if key != "subject"}
    asked = kept | {"control": "none", "peer": f"{ADDRESS}:{job.ports[0]}"}
    if (why := libnbd.absent()) is not None:
        raise Broken(why)
    with nbdkit.served(job, nbdkit.server):
        return record_parse(client_run(command(client, replace(job, words=asked), "free"), job,
                                       job.client_cpu))


# ---- its proxy, between the floor's source and sink ----

@functools.cache
def version_of(client: Client) -> str:
    """What both sides of a control channel must have."""
    return client_list(client).document["uncork"]


def expect(answer: dict[str, object], type_: str) -> dict[str, object]:
    """The answer, if it is what comes next; else Broken with what the proxy said."""
    if answer["type"] != type_:
        raise Broken(f"the proxy {answer['type']}: {answer.get('text', 'no reason')}")
    return answer


@contextlib.contextmanager
def pinged(channel: Channel) -> Iterator[None]:
    """Meanwhile the proxy is shown that its client lives."""
    over = threading.Event()

    def ping() -> None:
        while not over.wait(PING_SECONDS):
            channel.send("ping")

    thread = threading.Thread(target=ping)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def proxy_run(client: Client, job: Job) -> float:
    """Plays client and sink by hand: the bytes are the floor's, as they are for other proxies.

    The proxy is told of no warm-up: the floor has one of its own.
    """
    here, there = (f"{ADDRESS}:{port}" for port in job.ports)
    proxy = [str(client.folder / "uncork-server"), "--listen", here, "--proxy",
             "--allow-word", "congestion"]
    with (contextlib.ExitStack() as stack,
          socket.create_server((ADDRESS, job.ports[1])) as listener,
          server_started(proxy, job.server_cpu, job.ports[0])):
        channel = Channel(here)
        stack.callback(channel.close)
        ready = expect(plan_send(channel, version_of(client), *words(job, "free"), "warmup=0s",
                                 end="proxy"), "ready")
        channel.send("sink", address=there, token=TOKEN.hex(), key="", host="bench")
        source = stack.enter_context(data_join(ready))
        listener.settimeout(READY_SECONDS)
        sink = stack.enter_context(listener.accept()[0])
        sink_accept(sink, TOKEN)
        for what in ("joined", "marked"):
            expect(channel.receive(), what)
        with pinged(channel):
            return floor.through_run(job, source, sink)


def cpus_ask(client: Client, place: str) -> tuple[int, int]:
    """(CPU of the client, CPU of the server) that uncork chooses for a place, as it tells them."""
    job = Job({}, "", 0, 0, 0.0, 0.0, (0, 0))
    output = client_run([client.program, "--json", *TRIAL, f"place={place}"], job, None)
    record_parse(output)
    record = json.loads(output)
    asked = [record[end]["threads"][0]["cpus"]["asked"][0] for end in ("client", "server")]
    return asked[0], asked[1]
