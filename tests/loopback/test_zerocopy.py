# SPDX-License-Identifier: MIT
"""Ways to send without a copy: what they put on the wire, what they call, and that memory that was
lent comes back."""

from __future__ import annotations

import re

import pytest

from programs import (
    LOOP_WAITS,
    batch_run,
    record_ok,
    record_sum,
    records_ok,
    strace_run,
    strace_trouble,
    trouble,
)

MESSAGES = 60
ENGINES = ["block", "poll", "ring"]


def supported(words: str) -> str:
    """The same words, or a skip with the reason."""
    if why := trouble(words):
        pytest.skip(why)
    return words


@pytest.mark.parametrize("write", ["sendfile", "zerocopy"])
@pytest.mark.parametrize("engine", ["block", "poll"])
def test_a_group_is_one_segment(engine: str, write: str) -> None:
    groups = {"16+4K": 1, "15x2": 1, "4K": 1, "16+3x4K": 1, "32/2x4K": 2}
    common = supported(
        f"write={write} engine={engine} messages={MESSAGES} warmup=0s place=free verify=on")
    for record in records_ok([f"message={message} {common}" for message in groups]):
        (thread,) = record["client"]["threads"]
        assert thread["tcp_info"]["data_segs_out"][
            "sum"] == MESSAGES * groups[record["words"]["message"]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("workload",
                         ["request reply=16+4K reply_write=zerocopy", "stream", "connect"])
def test_all_memory_that_was_lent_is_back_when_a_run_is_over(workload: str, engine: str) -> None:
    ours = "client." if workload == "connect" else ""
    record = record_ok(supported(f"workload={workload} write=zerocopy message=16+4K "
                                 f"messages={MESSAGES} connections=3 {ours}engine={engine} "
                                 "warmup=0s verify=on place=free"))
    for end in ("client", "server"):
        if record[end].get("write") == "zerocopy":
            assert record_sum(record[end], "lent") == MESSAGES
            assert record_sum(record[end], "copied") == MESSAGES  # over loopback, always


@pytest.mark.skipif(strace_trouble() is not None, reason=str(strace_trouble()))
@pytest.mark.parametrize("engine", ENGINES)
def test_calls_that_lend_and_take_back_are_those_that_strace_counts(engine: str) -> None:
    traces, record = strace_run(f"sendmsg,recvmsg,ppoll,{LOOP_WAITS},shutdown", *supported(
        f"workload=stream message=16+4K write=zerocopy messages={MESSAGES} warmup=0s place=free "
        f"engine={engine}").split())
    (trace,) = [trace for trace in traces if "MSG_ZEROCOPY" in trace]
    trace = trace[: trace.index("shutdown(")]
    (thread,) = record["client"]["threads"]
    patterns = {"sendmsg": r"^sendmsg\(.*MSG_ZEROCOPY", "recvmsg": r"^recvmsg\(.*MSG_ERRQUEUE",
                "ppoll": r"^ppoll\(", "epoll_wait": r"^epoll_wait\("}
    seen = {name: len(re.findall(pattern, trace, re.MULTILINE))
            for name, pattern in patterns.items()}
    assert {name: count for name, count in seen.items() if count} == {
        name: count for name, count in thread["calls"].items() if name in patterns}
    assert seen["sendmsg"] == MESSAGES
    assert 0 < seen["recvmsg"] <= 2 * MESSAGES


@pytest.mark.parametrize("engine", ENGINES)
def test_pages_that_were_lent_are_mapped_and_what_was_copied_is_not(engine: str) -> None:
    """A message arrives as one segment of 15 whole pages, because nothing else is under way. Only
    the first ones may be cut, while the window opens. A stream would not do: its segments end
    anywhere, and a short one may be joined with the next, none of whose pages are mapped then."""
    size = 15 << 12
    common = supported(f"message={size} reply=1 messages={MESSAGES} read=zerocopy engine={engine} "
                       "warmup=0s verify=on place=free")
    lent, copied = batch_run([f"write={write} {common}" for write in ("zerocopy", "nodelay")])
    for record in (lent, copied):
        assert record["status"] == "ok", record["reason"]
        both = record_sum(
            record["server"], "mapped_bytes") + record_sum(record["server"], "copied_bytes")
        assert both == record_sum(record["server"], "bytes_received") == MESSAGES * size
    assert record_sum(lent["server"], "mapped_bytes") >= (MESSAGES - 2) * size
    assert record_sum(copied["server"], "mapped_bytes") == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mebibyte_is_mapped_whole_in_every_way_that_it_is_sent(engine: str) -> None:
    common = f"message=1M engine={engine} read=zerocopy verify=on warmup=0s place=free"
    ways = ["messages=2 reply=1M reply_write={write}", "messages=2 workload=stream",
            "messages=2 workload=stream direction=receive",
            "messages=8 depth=4 reply=300x3K/1 reply_write={write} window=2 connections=2",
            "messages=6 workload=stream direction=both reply_write={write}"]
    buffers = {"zerocopy": "sndbuf=64K", "writev": "rcvbuf=4K", "sendfile": "sndbuf=64K"}
    lines = [f"{common} {size} write={write} {way.format(write=write)}"
             for write, size in buffers.items() for way in ways]
    records = batch_run(lines)
    for text, record in zip(lines, records, strict=True):
        assert record["status"] in ("ok", "unsupported"), f"{text}: {record['reason']}"
    if not any(record["status"] == "ok" for record in records):
        pytest.skip(records[0]["reason"])
