# SPDX-License-Identifier: MIT
"""Every legal combination of transport, workload, direction, strategy and reading carries its bytes whole.

The full product of these, and with each the other words so that every two of their values meet. Content is verified
byte by byte where the reading delivers any; what is sent must be received; what a machine cannot do must say why.
"""

from __future__ import annotations

from itertools import cycle, islice, product

import pytest
from pairwise import pairwise_rows
from programs import BIN, SANITIZED, batch_run, client_json, record_sum

VOCABULARY = client_json("--list=json")[0]
MESSAGES = 3
ROUNDS = 1 if SANITIZED else 2  # how often every row of the other words is used, each time with other neighbours

OTHERS = {
    "message": ["1", "15x2", "16+4K", "32/2x4K/2x4K", "3000x1", "1M"],
    "reply": ["1", "16+4K", "5/3x700"],
    "chunk": ["64K", "7", "1M"],
    "sndbuf": ["default", "4K"],
    "rcvbuf": ["default", "4K"],
    "connections": ["1", "3"],
    "touch": ["none", "checksum"],
    "source": ["hot", "cold:1M"],
    "warmup": ["0s", "3ms"],
    "engine": ["auto", "poll", "block", "ring"],
    "threads": ["1", "2"],
    "depth": ["1", "16"],
    "window": ["1", "3"],
    "rate": ["closed", "3000"],
    "arrival": ["even", "poisson"],
    "pace": ["sleep", "spin"],
    "defer_taskrun": ["on", "off"],
    "fixed_files": ["on", "off"],
    "registered_ring": ["on", "off"],
}


# Of what is lent every fragment arrives on pages of its own; TCP drops what does not fit, and waits to send it again.
NEEDS_ROOM_TO_RECEIVE = ["uring-zc"]

# Of these the length is checked, and nothing else can be.
READS_WITHOUT_BYTES = [read["name"] for read in VOCABULARY["variants"]["reading"] if not read["delivers"]]


def names(axis: str) -> list[str]:
    return [variant["name"] for variant in VOCABULARY["variants"][axis]]


def strategies() -> list[str]:
    """All of them; where threads are watched one of each kind, for a connection and its strategy have one thread."""
    return ["nodelay", "uv", "uring-send", "uring-bundle", "uring-zc"] if "tsan" in BIN.parts else names("strategy")


def choices(key: str) -> list[str]:
    return next(word["choices"] for word in VOCABULARY["words"] if word["key"] == key)


def shapes() -> list[dict[str, str]]:
    """Workload with what only it knows: a direction, or the strategy of the reply."""
    rows = []
    for workload in names("workload"):
        if workload in ("stream", "proxy"):
            rows += [{"workload": workload, "direction": direction} for direction in choices("direction")]
        elif workload == "request":
            rows += [{"workload": workload, "reply_write": write} for write in strategies()]
        else:
            rows.append({"workload": workload})
    return rows


def agreeing(words: dict[str, str]) -> dict[str, str]:
    """Without the words that contradict the others; those that are only not used go later."""
    words = dict(words)
    if words["workload"] == "proxy" and words["read"] in READS_WITHOUT_BYTES:
        words["read"] = "recv"
    if words["read"] in READS_WITHOUT_BYTES:
        words.pop("touch")
    else:
        words["verify"] = "on"
    if words["chunk"] == "7" and words["message"] == "1M":
        words["chunk"] = "4099"  # 150 000 receives a message would only take time
    if words["write"] in NEEDS_ROOM_TO_RECEIVE:
        words.pop("rcvbuf")
    return words


def cells(transport: str, write: str) -> list[dict[str, str]]:
    rows = pairwise_rows(OTHERS)
    bases = [shape | {"read": read} for shape, read in product(shapes(), names("reading"))]
    count = max(ROUNDS * len(rows), len(bases))
    mixed = zip(islice(cycle(rows), count), islice(cycle(bases), count))
    common = {"transport": transport, "write": write, "messages": str(MESSAGES), "place": "free"}
    return [agreeing(common | row | base) for row, base in mixed]


def line(words: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in words.items())


def without_unused(words: dict[str, str], unused: list[str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if key not in unused}


def check_record(text: str, record: dict) -> None:
    assert record["status"] == "ok", f"{text}: {record['reason']}"
    client, server, proxy = record["client"], record.get("server"), record.get("proxy")
    driver, other = (client, server) if client["drives"] else (server, client)
    assert record_sum(driver, "messages_sent") == MESSAGES, text
    assert record_sum(driver, "bytes_sent") == MESSAGES * driver["message_bytes"], text
    if not other:
        return
    assert record_sum(other, "bytes_received") == record_sum(driver, "bytes_sent"), text
    assert record_sum(other, "messages_received") == MESSAGES, text
    if other["drives"]:
        assert record_sum(driver, "messages_received") == MESSAGES, text
    assert record_sum(driver, "bytes_received") == record_sum(other, "bytes_sent"), text
    if proxy:
        all_bytes = record_sum(driver, "bytes_sent") + record_sum(other, "bytes_sent")
        assert record_sum(proxy, "bytes_received") == record_sum(proxy, "bytes_sent") == all_bytes, text
        assert record_sum(proxy, "chunks_sent") >= record_sum(proxy, "groups_sent") > 0, text


@pytest.mark.parametrize("write", strategies())
@pytest.mark.parametrize("transport", names("transport"))
def test_every_combination_carries_its_bytes_whole(transport: str, write: str, tally) -> None:
    planned = cells(transport, write)
    checked = client_json("--check", "-", stdin="\n".join(map(line, planned)) + "\n")[:-1]
    lines = []
    for words, check in zip(planned, checked, strict=True):
        if "unsupported" in check:
            tally.skip(check["unsupported"])
        else:
            lines.append(line(without_unused(words, check["unused"])))
    for text, record in zip(lines, batch_run(lines), strict=True):
        check_record(text, record)
        tally.run()


SOCKETS = [name for name in names("transport") if name != "null"]


def small_buffers(write: str) -> str:
    return f"write={write} sndbuf=4K verify=on warmup=0s place=free" + (
        "" if write in NEEDS_ROOM_TO_RECEIVE else " rcvbuf=4K"
    )


def check_small(lines: list[str], least_bytes: int) -> None:
    for text, record in zip(lines, batch_run(lines), strict=True):
        assert record["status"] in ("ok", "unsupported"), f"{text}: {record['reason']}"
        if record["status"] == "ok":
            received = record_sum(record["server"], "bytes_received") + record_sum(record["client"], "bytes_received")
            assert received >= least_bytes


@pytest.mark.parametrize("transport", SOCKETS)
def test_a_mebibyte_goes_whole_through_the_smallest_buffers(transport: str) -> None:
    small = f"transport={transport} message=1M messages=2"
    check_small([f"{small} {small_buffers(write)} {rest}" for write in strategies() for rest in (
        "workload=request reply=1M", "workload=stream", "workload=stream direction=receive", "reply=300x3K/1")],
        2 << 20)


@pytest.mark.parametrize("engine", ["poll", "ring"])
@pytest.mark.parametrize("transport", SOCKETS)
def test_an_engine_sends_and_receives_mebibytes_at_once_through_the_smallest_buffers(
    transport: str, engine: str
) -> None:
    small = f"transport={transport} engine={engine} message=1M read={'recv' if engine == 'poll' else 'uring-multishot'}"
    check_small([f"{small} {small_buffers(write)} reply_write={write} {rest}" for write in strategies() for rest in (
        "messages=16 depth=16 reply=1M", "messages=20 depth=16 window=4 reply=300x3K/1 connections=2",
        "workload=stream direction=both messages=6", "workload=stream direction=both messages=8 connections=3 window=2")],
        6 << 20)


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_several_threads_a_side_send_both_ways_and_none_waits_for_another(transport: str) -> None:
    """A thread that has ended its warm-up takes what comes until the others have: the other end's may wait for it."""
    lines = [f"transport={transport} workload=stream direction=both message=64K connections=3 client.threads=2 "
             f"server.threads=3 messages=12 warmup=5ms verify=on place=free"] * (30 if SANITIZED else 100)
    for record in batch_run(lines):
        assert record["status"] == "ok", record["reason"]
        assert record_sum(record["server"], "bytes_received") == record_sum(record["client"], "bytes_received") == 12 << 16
