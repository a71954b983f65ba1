# SPDX-License-Identifier: MIT
"""Idle strangers at a server, with and without a key: whether a client gets through, what the rate
of a running session becomes, and what memory is left."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from control import connect
from ends import MIB, End, end_started, keys_write, next_session, place_of
from programs import client_run, record_sum
from result import Row, part_main

COUNTS = (64, 1024, 5000)
CLIENTS, CLIENTS_AT_ONCE = 30, 5  # those of one flood: its strangers have 3 s
WITHIN_S = 1.0
PAIRS = 10
LEAST_RATE = 0.95
MOST_GROWN_MIB = 10.0
SETTLES_S = 3.5  # a server gives free memory back after 1 s without a client


@contextmanager
def strangers(address: str, count: int) -> Iterator[None]:
    """Connections of one host that say nothing."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connect(address))
        yield


def rate_of(server: End) -> float:
    """Messages per second of a session."""
    done = client_run("--json", *place_of(server), "workload=request", "message=64", "reply=64",
                      "duration=1s", "warmup=100ms", "place=free")
    client = json.loads(done.stdout)["client"]
    return record_sum(client, "messages_sent") / client["threads"][0]["elapsed_ns"]


def ratio_of(server: End, count: int, pair: int) -> float:
    """The rate beside strangers / the rate without, one after the other in changing order."""
    rates = {}
    for beside in (True, False) if pair % 2 else (False, True):
        with strangers(server.address, count if beside else 0):
            rates[beside] = rate_of(server)
    return rates[True] / rates[False]


def row_make(count: int, keyed: bool, quick: bool) -> Row:
    with tempfile.TemporaryDirectory() as name:
        psk = keys_write(Path(name)) if keyed else ()
        with end_started(Path(name), "server", *psk, options=psk) as server:
            rate_of(server)
            time.sleep(SETTLES_S)
            before, took = server.use().resident, []
            for _ in range(CLIENTS // CLIENTS_AT_ONCE):
                with strangers(server.address, count):
                    for _ in range(CLIENTS_AT_ONCE):
                        said, seconds = next_session(server)
                        took.append(float("inf") if said else seconds)
            time.sleep(SETTLES_S)
            grown = (server.use().resident - before) / MIB
            ratios = [ratio_of(server, count, pair) for pair in range(0 if quick else PAIRS)]
            strange = server.strange_lines()
    through = sum(seconds <= WITHIN_S for seconds in took)
    ratio = statistics.median(ratios) if ratios else None
    wrong = [f"{through} of {len(took)} clients got through"] * (through < len(took))
    if ratio and ratio < LEAST_RATE:
        wrong.append(f"the session kept {ratio:.3f} of its rate")
    wrong += [f"{grown:.1f} MiB are left"] * (grown > MOST_GROWN_MIB) + strange
    return {"strangers": count, "key": keyed, "clients": len(took), "through": through,
            "slowest_s": round(max(took), 2), "rate": ratio and round(ratio, 3),
            "ratios": sorted(round(one, 3) for one in ratios), "grown_mib": round(grown, 1),
            "wrong": "; ".join(wrong)}


def rows_make(quick: bool) -> list[Row]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(COUNTS) + 200), hard))
    return [row_make(count, keyed, quick) for count in COUNTS for keyed in (False, True)]


if __name__ == "__main__":
    sys.exit(part_main("strangers", __doc__, rows_make,
                       lambda row: f"{row['strangers']} strangers, key: {row['key']}"))
