# SPDX-License-Identifier: MIT
"""Every supported combination of transport, workload, direction, strategy and reading carries its
bytes whole.

The full product of these, and with each the other words so that every two of their values meet.
Of strategies of replies by readings a fifth of the product, another fifth for each transport and
strategy of requests. Under a sanitizer that holds of all of it.
Content is verified byte by byte where the reading delivers any; what is sent must be received; what
a machine cannot do must say why.
"""

from __future__ import annotations

from itertools import cycle, islice, product

import pytest

from combinations import (
    COMMON,
    NEEDS_ROOM_TO_RECEIVE,
    OTHERS,
    ROUNDS,
    SLOW_IN_SMALL_BUFFERS,
    agreeing,
    cells_run,
    fifth,
    names,
    shapes,
    strategies,
    thinned,
)
from pairwise import pairwise_rows
from programs import SANITIZED, batch_run, record_sum, records_ok


def cells(transport: str, write: str) -> list[dict[str, str]]:
    rows = pairwise_rows(OTHERS)
    bases = [shape | {"read": read} for shape, read in product(shapes(), names("reading"))]
    begin = names("transport").index(transport) + strategies().index(write)
    bases = [*thinned([base for base in bases if "reply_write" not in base], begin),
             *fifth([base for base in bases if "reply_write" in base], begin)]
    count = max(ROUNDS * len(rows), len(bases))
    mixed = zip(islice(cycle(rows), count), islice(cycle(bases), count), strict=False)
    common = COMMON | {"transport": transport, "write": write}
    return [agreeing(common | row | base) for row, base in mixed]


@pytest.mark.parametrize("write", strategies())
@pytest.mark.parametrize("transport", names("transport"))
def test_every_combination_carries_its_bytes_whole(transport: str, write: str, tally) -> None:
    cells_run(cells(transport, write), tally)


SOCKETS = [name for name in names("transport") if name not in ["null", *SLOW_IN_SMALL_BUFFERS]]


def small_buffers(write: str) -> str:
    """Where the receiver has room, the smallest send buffer would only wait for one delayed
    acknowledgement after the other."""
    sizes = "sndbuf=64K" if write in NEEDS_ROOM_TO_RECEIVE else "sndbuf=4K rcvbuf=4K"
    return f"write={write} {sizes} verify=on warmup=0s place=free"


def check_small(lines: list[str], least_bytes: int) -> None:
    for text, record in zip(lines, batch_run(lines), strict=True):
        assert record["status"] in ("ok", "unsupported"), f"{text}: {record['reason']}"
        if record["status"] == "ok":
            received = record_sum(record["server"],
                                  "bytes_received") + record_sum(record["client"], "bytes_received")
            assert received >= least_bytes


@pytest.mark.parametrize("transport", SOCKETS)
def test_a_mebibyte_goes_whole_through_the_smallest_buffers(transport: str) -> None:
    small = f"transport={transport} message=1M messages=2"
    check_small(thinned(
        [f"{small} {small_buffers(write)} {rest}" for write in strategies() for rest in (
            "workload=request reply=1M", "workload=stream", "workload=stream direction=receive",
            "reply=300x3K/1")], SOCKETS.index(transport)),
        2 << 20)


@pytest.mark.parametrize("engine", ["poll", "ring"])
@pytest.mark.parametrize("transport", SOCKETS)
def test_an_engine_sends_and_receives_mebibytes_at_once_through_the_smallest_buffers(
    transport: str, engine: str
) -> None:
    small = (f"transport={transport} engine={engine} message=1M "
             f"read={'recv' if engine == 'poll' else 'uring-multishot'}")
    lines = [f"{small} {small_buffers(write)} reply_write={write} {rest}" for write in strategies()
             for rest in (
                "messages=16 depth=16 reply=1M",
                "messages=20 depth=16 window=4 reply=300x3K/1 connections=2",
                "workload=stream direction=both messages=6",
                "workload=stream direction=both messages=8 connections=3 window=2")]
    begin = SOCKETS.index(transport)
    # every third of four each: every strategy, and every rest with a third of them
    check_small(thinned(lines, begin) if SANITIZED else lines[begin % 3::3], 6 << 20)


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_several_threads_a_side_send_both_ways_and_none_waits_for_another(transport: str) -> None:
    """A thread that has ended its warm-up takes what comes until the others have: the other end's
    may wait for it."""
    lines = [
        f"transport={transport} workload=stream direction=both message=64K connections=3 "
        "client.threads=2 "
        f"server.threads=3 messages=12 warmup=5ms verify=on place=free"
    ] * (20 if SANITIZED else 100)
    for record in records_ok(lines):
        assert (
            record_sum(record["server"], "bytes_received")
            == record_sum(record["client"], "bytes_received")
            == 12 << 16
        )
