# SPDX-License-Identifier: MIT
"""handoff=thread: what a data thread makes a second one sends, by every strategy that a blocking
thread can carry."""

from __future__ import annotations

import os
from typing import Any

import pytest

from combinations import SLOW_IN_SMALL_BUFFERS, cells_run, names, strategies
from programs import (
    batch_run,
    client_json,
    client_run,
    record_ok,
    record_sum,
    records_ok,
    server_started,
    trouble,
)

HANDED = "handoff=thread place=free"
SHORT = f"{HANDED} warmup=0s"


def threads(record: dict[str, Any]) -> list[dict[str, Any]]:
    return record["client"]["threads"]


@pytest.mark.parametrize("transport", [name for name in names("transport") if name != "null"])
def test_every_strategy_of_a_blocking_thread_sends_what_was_handed_over(
    transport: str, tally
) -> None:
    small = "default" if transport in SLOW_IN_SMALL_BUFFERS else "4K"
    carried = [write for write in strategies()
               if write not in ("uv", "zerocopy") and not write.startswith("uring-")]
    planned = [{"workload": "request", "transport": transport, "write": write, "message": message,
                "reply": "5/3x700",
                "handoff": "thread", "verify": "on", "connections": "3", "warmup": warmup,
                "messages": "3",
                "sndbuf": sndbuf, "place": "free"}
               for write in carried
               for message, warmup, sndbuf in [("32+4K", "3ms", "default"),
                                               ("32/2x4K/2x4K", "0s", small), ("1M", "0s", small)]]
    assert len(cells_run(planned, tally)) >= 3


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_every_reading_of_a_blocking_thread_takes_the_replies_of_a_hundred_requests(
        transport: str) -> None:
    """More than there can be groups in the queue at once, and readings whose call never waits."""
    lines = [f"{SHORT} transport={transport} client.read={read} reply=32/64K messages=100"
             for read in names("reading") if not read.startswith("uring-")]
    for text, record in zip(lines, batch_run(lines), strict=True):
        if record["status"] == "unsupported":
            continue
        assert record["status"] == "ok", f"{text}: {record['reason']}"
        assert record_sum(record["client"], "messages_received") == 100, text


@pytest.mark.parametrize("words", ["workload=stream", "workload=connect", "workload=proxy"])
def test_where_nothing_is_asked_the_word_is_not_used(words: str) -> None:
    (check,) = client_json("--check", "-", stdin=f"{words} {HANDED}\n")[:-1]
    assert check["unused"] == ["handoff"] and "unsupported" not in check


def test_the_server_may_have_any_engine() -> None:
    for record in records_ok([f"{SHORT} server.engine={engine} messages=20"
                              for engine in ("block", "poll")]):
        assert record["client"]["engine"] == "block"
        assert all("handover" not in thread for thread in record["server"]["threads"])


def test_every_request_has_its_delay_and_the_senders_figures_stand_beside() -> None:
    record = record_ok(f"{HANDED} connections=2 messages=400 warmup=5ms")
    for thread in threads(record):
        assert thread["handover"]["count"] == thread["latency"][
            "count"] == thread["messages_sent"] == 200
        assert 0 < thread["handover"]["sum"] < thread["latency"]["sum"]
        assert thread["sender"]["sched"] == "other"
        for key in ("user_ns", "system_ns", "voluntary_switches"):
            assert thread["cpu"][key] >= thread["sender"]["cpu"][key], key
        assert thread["sender"]["cpu"]["voluntary_switches"] > 0


def test_what_is_sent_inline_has_no_delay_and_no_sender() -> None:
    record = record_ok("handoff=inline messages=20 place=free warmup=0s")
    assert all("handover" not in thread and "sender" not in thread for thread in threads(record))


def test_senders_run_on_the_cpus_that_follow_those_of_the_data_threads() -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("this process may use only one CPU")
    record = record_ok(f"handoff=thread place={cpus[0]}.{cpus[1]}/{cpus[0]} messages=20 warmup=0s")
    assert [(thread["cpus"]["asked"], thread["sender"]["cpus"]["asked"])
            for thread in threads(record)] == [
        ([cpus[0]], [cpus[1]])]
    together = record_ok("handoff=thread place=together connections=2 messages=20 warmup=0s")
    assert {cpu for thread in threads(together)
            for cpu in thread["cpus"]["asked"] + thread["sender"]["cpus"]["asked"]} == {cpus[0]}


def test_a_sender_has_the_class_of_its_data_thread() -> None:
    if why := trouble("sched=rr:2"):
        pytest.skip(why)
    record = record_ok(f"{SHORT} client.sched=rr:2 messages=20")
    assert [(thread["sched"], thread["sender"]["sched"])
            for thread in threads(record)] == [("rr:2", "rr:2")]


@pytest.mark.parametrize("pace", ["sleep", "spin"])
def test_an_open_loop_hands_over_what_is_due(pace: str) -> None:
    record = record_ok(f"{HANDED} rate=2000 pace={pace} duration=100ms warmup=10ms connections=2")
    assert record_sum(record["client"], "due") == 200
    for thread in threads(record):
        assert thread["handover"]["count"] == thread["messages_sent"]


def test_an_echo_is_handed_over_and_verified() -> None:
    with server_started("127.0.0.1:0", "--plain", "echo") as server:
        (record,) = batch_run(
            [f"peer={server.address} control=none {SHORT} message=300K verify=on messages=5"])
    assert record["status"] == "ok", record["reason"]
    assert record_sum(record["client"], "bytes_received") == 5 * 300 * 1024


def test_the_answer_shows_the_delay() -> None:
    done = client_run(*SHORT.split(), "messages=200")
    assert done.returncode == 0 and "  hand-over to the sender p50 " in done.stdout
