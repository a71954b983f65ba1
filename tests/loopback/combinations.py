# SPDX-License-Identifier: MIT
"""Cells of the loopback tests: which values words take, which go together, and what a record of one
must say."""

from __future__ import annotations

from typing import TypeVar

from programs import BIN, SANITIZED, batch_run_again, client_json, record_sum

Item = TypeVar("Item")
VOCABULARY = client_json("--list=json")[0]
LIBRARIES = [layer["name"] for layer in VOCABULARY["variants"]["security"]
             if layer["name"] in ("gnutls", "openssl") and "tcp" not in layer["unsupported"]]
MESSAGES = 3
COMMON = {"messages": str(MESSAGES), "place": "free"}
# how often every row of the other words is used, each time with other neighbours
ROUNDS = 1 if SANITIZED else 2

OTHERS = {
    "message": ["1", "15x2", "16+4K", "32/2x4K/2x4K", "3000x1", "1M"],
    "reply": ["1", "16+4K", "5/3x700"],
    "chunk": ["64K", "7", "1M"],
    "sndbuf": ["default", "4K"],
    "rcvbuf": ["default", "4K"],
    "quickack": ["default", "once", "rearm"],
    "notsent_lowat": ["default", "16K"],
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


# Of what is lent every fragment arrives on pages of its own; TCP drops what does not fit, and waits
# to send it again.
NEEDS_ROOM_TO_RECEIVE = ["zerocopy", "uring-zc"]

# With small buffers it goes on by timers: 8 KiB in 16 ms, and what is corked there stops (Linux
# 6.18).
SLOW_IN_SMALL_BUFFERS = ["mptcp"]

# Of these the length is checked, and nothing else can be.
READS_WITHOUT_BYTES = [read["name"] for read in VOCABULARY["variants"]["reading"]
                       if not read["delivers"]]


def names(axis: str) -> list[str]:
    return [variant["name"] for variant in VOCABULARY["variants"][axis]]


def strategies() -> list[str]:
    """All of them; where threads are watched one of each kind, for a connection and its strategy
    have one thread."""
    return ["nodelay", "uv", "uring-send", "uring-bundle", "uring-zc",
            "zerocopy"] if "tsan" in BIN.parts else names("strategy")


def fifth(items: list[Item], begin: int) -> list[Item]:
    """Every fifth: of a product of words with 2, 3 or 4 values each has its values in turn."""
    return items[begin % 5::5]


def thinned(items: list[Item], begin: int = 0) -> list[Item]:
    """All of them; a fifth under a sanitizer, which is slow: another build proves all."""
    return fifth(items, begin) if SANITIZED else items


def choices(key: str) -> list[str]:
    return next(word["choices"] for word in VOCABULARY["words"] if word["key"] == key)


def shapes() -> list[dict[str, str]]:
    """Workload with what only it knows: a direction, or the strategy of the reply."""
    rows = []
    for workload in names("workload"):
        if workload in ("stream", "proxy"):
            rows += [{"workload": workload, "direction": direction}
                     for direction in choices("direction")]
        elif workload == "command":
            continue  # it has neither: test_command.py
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
    if words["chunk"] == "7" and "1M" in words["message"]:
        words["chunk"] = "4099"  # 150 000 receives a message would only take time
    if words["chunk"] == "7" and words["workload"] == "proxy":
        words["chunk"] = "99"  # and so would 10 000 of them, or as many records
    if words["write"] in NEEDS_ROOM_TO_RECEIVE:
        words.pop("rcvbuf")
    if words["transport"] in SLOW_IN_SMALL_BUFFERS:
        words["sndbuf"] = words["rcvbuf"] = "default"
        words.pop("quickack")  # its sockets do not know it
    return words


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
        assert (
            record_sum(proxy, "bytes_received") == record_sum(proxy, "bytes_sent") == all_bytes
        ), text
        assert record_sum(proxy, "chunks_sent") >= record_sum(proxy, "groups_sent") > 0, text


def cells_run(planned: list[dict[str, str]], tally) -> list[dict[str, str]]:
    """Runs those that this machine can, and checks what came of them; of the others it has to say
    why not. Returns those that were run."""
    checked = client_json("--check", "-", stdin="\n".join(map(line, planned)) + "\n")[:-1]
    lines, ran = [], []
    for words, check in zip(planned, checked, strict=True):
        if "unsupported" in check:
            tally.skip(check["unsupported"])
        else:
            lines.append(line(without_unused(words, check["unused"])))
            ran.append(words)
    for text, record in zip(lines, batch_run_again(lines, tally.again), strict=True):
        check_record(text, record)
        tally.run()
    return ran
