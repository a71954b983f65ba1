# SPDX-License-Identifier: MIT
"""Our count of system calls is what strace counts."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from programs import (
    LOOP_CHANGES,
    LOOP_WAITS,
    calls_counted,
    server_started,
    strace_run,
    strace_trouble,
    trouble,
)

CALLS = ("sendto", "sendmsg", "sendfile", "recvmsg", "setsockopt", "recvfrom", "io_uring_enter")
PER_MESSAGE = {"nagle": 15, "nodelay": 15, "cork": 17, "more": 15, "writev": 1, "coalesce": 1,
               "sendfile": 17}
FEW, MANY = 20, 60
SMALL = ["message=15x2", "reply=2", "warmup=0s", "place=free"]


TROUBLE = strace_trouble()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))


def counted(words: list[str], messages: int) -> tuple[Counter[str], dict]:
    """What strace counted in the client's data thread, and the client's record. In the main thread
    libuv has a ring of its own and may enter it once more or less."""
    traces, record = strace_run(",".join(CALLS), f"messages={messages}", *words)
    # the data thread repeats a call for every message; the main thread has many calls of all kinds
    return max(map(calls_counted, traces),
               key=lambda calls: max(calls.values(), default=0)), record


@pytest.mark.parametrize("write", PER_MESSAGE)
def test_calls_of_a_message_are_those_that_strace_counts(write: str) -> None:
    with server_started() as server:
        words = [f"server={server.address}", *SMALL, f"write={write}"]
        few, _ = counted(words, FEW)
        many, record = counted(words, MANY)
    (thread,) = record["client"]["threads"]
    # what a run needs besides its messages is the same in both
    seen = {name: many[name] - few[name] for name in CALLS}
    ours = {name: thread["calls"].get(name, 0) * (MANY - FEW) / MANY for name in CALLS}
    assert seen == ours
    assert thread["write_calls"] == MANY * PER_MESSAGE[write]


BY_RING = {"uring-send": 1, "uring-sendmsg": 1, "uring-ring": 15, "uring-bundle": 1,
           "uring-zc": None}


@pytest.mark.parametrize("write", BY_RING)
def test_enters_of_a_message_are_those_that_strace_counts(write: str) -> None:
    words = [*SMALL, f"write={write}", "client.read=uring-multishot"]
    if why := trouble(" ".join(words)):
        pytest.skip(why)
    with server_started() as server:
        words.append(f"server={server.address}")
        few, _ = counted(words, FEW)
        many, record = counted(words, MANY)
    (thread,) = record["client"]["threads"]
    assert thread["calls"] == {"io_uring_enter": thread["enters"]}
    if BY_RING[write]:  # when lent memory comes back is the kernel's
        assert many["io_uring_enter"] - few["io_uring_enter"] == (MANY - FEW) * BY_RING[write]
        assert thread["enters"] == MANY * BY_RING[write]


def test_a_message_by_uv_is_one_writev_that_nobody_counts() -> None:
    with server_started() as server:
        traces, record = strace_run(
            f"write,writev,sendto,sendmsg,read,recvfrom,{LOOP_WAITS},shutdown", *SMALL, "write=uv",
            f"server={server.address}", f"messages={MANY}")
    (thread,) = record["client"]["threads"]
    whole = re.compile(r"^writev\(\d+, .*, 15\) += 30$", re.MULTILINE)
    (trace,) = filter(whole.search, traces)
    calls = calls_counted(trace)
    assert len(whole.findall(trace)) == calls["writev"] + calls["sendmsg"] == MANY
    assert calls["sendto"] == 1  # the token
    assert len(re.findall(r"^read\(\d+, .*, 65536\) += 2$", trace, re.MULTILINE)) == MANY
    assert calls["recvfrom"] == 0
    waits = calls_counted(trace[: trace.index("shutdown(")])["epoll_wait"]
    assert thread["calls"] == {"epoll_wait": waits}


CONNECTIONS, REQUESTS = 64, 3000
WORK = ["message=64", "reply=1", f"connections={CONNECTIONS}", "engine=poll", "place=together",
        "warmup=0s"]


def calls_in_interval(trace: str) -> dict[str, int]:
    """Of a data thread: from its first look at all of its connections to its first half-close,
    without the reads that found the end of a stream and the writes of the token."""
    text = trace[: trace.index("shutdown(")]
    counts = calls_counted(text)
    counts["recvfrom"] -= len(re.findall(r"^recvfrom\(.*= 0$", text, re.MULTILINE))
    counts["sendto"] -= len(re.findall(r"^sendto\(\d+, .*, 20, ", text, re.MULTILINE))
    return {name: counts[name] for name in ("sendto", "recvfrom", "epoll_wait")}


def test_the_poll_engine_counts_its_waits_as_strace_does_on_both_sides() -> None:
    traces, record = strace_run(f"sendto,recvfrom,{LOOP_WAITS},shutdown", f"messages={REQUESTS}",
                                *WORK)
    for end, size in (("client", 64), ("server", 1)):
        (thread,) = record[end]["threads"]
        (trace,) = [trace for trace in traces
                    if trace.count(f", {size}, MSG_NOSIGNAL") >= REQUESTS]
        assert calls_in_interval(trace) == thread["calls"], end
        assert thread["calls"]["sendto"] == thread["calls"]["recvfrom"] == REQUESTS, end
        assert thread["wait_calls"] == thread["calls"]["epoll_wait"], end


def test_the_poll_engine_changes_nothing_in_what_it_watches_while_it_runs() -> None:
    """What it watches changes when a connection begins and ends: in a long run as often as in a
    short one."""
    made = []
    for messages in (REQUESTS, 3 * REQUESTS):
        with server_started() as server:
            traces, _ = strace_run(LOOP_CHANGES, f"server={server.address}", f"messages={messages}",
                                   *WORK)
        made.append(calls_counted(*traces).total())
    assert abs(made[0] - made[1]) < CONNECTIONS / 4, made
