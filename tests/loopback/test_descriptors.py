# SPDX-License-Identifier: MIT
"""Descriptors: each is closed in time, also those that a data thread has in a table of its own."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from control import Channel, connect, data_join, plan_send
from programs import (
    BIN,
    CLIENT,
    TRACED,
    Server,
    busy,
    client_json,
    client_start,
    open_files,
    server_started,
    settled,
    strace_trouble,
)

VERSION = client_json("--list=json")[0]["uncork"]
TSAN = "tsan" in BIN.parts  # ThreadSanitizer does not know of tables: base/threads.c
CLOSE_RANGE = 436  # Linux 5.9; the same number on every processor but Alpha
SHORT = ["messages=50", "warmup=0s", "place=free"]
OWNING = ["workload=request", "engine=block", "server.engine=block"]
KINDS = {
    "a thread for each connection": [*OWNING, "connections=3"],
    "counters and a file": [*OWNING, "perf=on", "write=sendfile", "message=8+4K"],
    "a stream with a warm-up": ["workload=stream", "engine=block", "warmup=20ms"],
    "a sender thread": [*OWNING, "handoff=thread"],
    "an event loop": ["workload=request", "engine=poll", "connections=3"],
    "a connection for each request": ["workload=connect", "engine=poll"],
    "a Unix socket": [*OWNING, "transport=unix"],
}


def words(kind: list[str]) -> list[str]:
    """Short; a word of the kind counts, not the one that is here for all."""
    keys = {word.split("=")[0] for word in kind}
    return [*(word for word in SHORT if word.split("=")[0] not in keys), *kind]


def files_after_a_run(server: Server) -> int:
    """The first run may leave descriptors that are kept for later ones."""
    client_json("--json", f"server={server.address}", *words(KINDS["an event loop"]))
    return open_files(server.pid)


def blocked_in(task: Path) -> bool:
    """Whether the thread blocks SIGTERM."""
    (mask,) = re.findall(r"^SigBlk:\s+(\w+)", (task / "status").read_text(), re.M)
    return bool(int(mask, 16) & 1 << signal.SIGTERM - 1)


@pytest.mark.skipif(TSAN, reason="ThreadSanitizer gives no thread a table")
def test_a_thread_with_a_table_of_its_own_leaves_signals_to_the_control_thread() -> None:
    """In its table the handler of SIGTERM would find no pipe to write to."""
    with server_started() as server:
        client = client_start(f"server={server.address}", *OWNING, "duration=60s", "warmup=0s",
                              "place=free")
        busy(server.pid)
        shared = len(os.listdir(f"/proc/{server.pid}/fd"))
        owns, blocks = zip(*((len(os.listdir(task / "fd")) < shared, blocked_in(task))
                             for task in Path(f"/proc/{server.pid}/task").iterdir()), strict=True)
        assert server.ended() == 0
        client.communicate(timeout=20)
    assert owns.count(True) == 1
    assert owns == blocks


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_server_has_as_many_descriptors_after_a_run_as_before(kind: list[str]) -> None:
    with server_started("127.0.0.1:0", "--allow-word", "perf") as server:
        before = files_after_a_run(server)
        for _ in range(3):
            client_json("--json", f"server={server.address}", *words(kind))
        settled(server.pid, before)


def test_a_server_closes_what_a_failed_run_had() -> None:
    with server_started() as server:
        before = files_after_a_run(server)
        client = client_start("--json", f"server={server.address}", *OWNING, "duration=60s")
        busy(server.pid)
        client.kill()
        client.communicate()
        settled(server.pid, before)


def test_a_refused_connection_is_closed_while_a_run_with_tables_of_their_own_lasts() -> None:
    with server_started() as server:
        strangers = [connect(server.address) for _ in range(3)]
        client = client_start("--json", f"server={server.address}", *OWNING, "duration=60s",
                              "connections=2")
        busy(server.pid)
        for stranger in strangers:
            stranger.settimeout(5)
            stranger.sendall(b"no such protocol\n" * 100)
            while stranger.recv(4096):
                pass
        client.kill()
        client.communicate()


def test_a_thread_that_fails_ends_the_threads_of_all_other_connections() -> None:
    """They wait in calls, on sockets that the failed thread may not have."""
    with server_started() as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, *OWNING, "connections=2", "verify=on", "message=4",
                          "reply=2", "duration=60s", "warmup=0s", "place=free")
        first, second = data_join(ready), data_join(ready, 1)
        for answer in ("joined", "marked"):
            assert channel.receive()["type"] == answer
        began = time.monotonic()
        first.sendall(b"no pattern")
        assert second.recv(1) == b""
        answer = channel.receive()
        assert answer["type"] == "failed" and "wrong content" in answer["text"]
        assert time.monotonic() - began < 3  # before the watch of the server ends a silent run


@pytest.mark.parametrize(("kind", "own"), [
    (OWNING, True), ([*OWNING, "handoff=thread"], False),
    (["workload=request", "engine=poll", "server.engine=poll"], False)])
def test_a_record_says_whether_a_thread_has_its_own_table(kind: list[str], own: bool) -> None:
    [record] = client_json("--json", *words(kind))
    able = ctypes.CDLL(None).syscall(CLOSE_RANGE, 2**32 - 1, 2**32 - 1, 0) == 0
    assert record["client"]["threads"][0]["own_descriptors"] is (own and able and not TSAN)


def test_without_a_table_of_its_own_a_run_is_the_same() -> None:
    """As under a filter that forbids close_range(2): strace answers in place of the kernel."""
    if why := strace_trouble():
        pytest.skip(why)
    done = subprocess.run(
        ["strace", "--follow-forks", "--quiet=all", "--trace=close_range", "--output=/dev/null",
         "--inject=close_range:error=EPERM", str(CLIENT), "--json", *words(OWNING)],
        capture_output=True, text=True, timeout=120, env=TRACED)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["status"] == "ok"
    assert record["server"]["threads"][0]["own_descriptors"] is False
