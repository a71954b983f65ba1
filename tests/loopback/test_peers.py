# SPDX-License-Identifier: MIT
"""peer=HOST:PORT control=none: the client against servers that know nothing of uncork."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

import pytest

from foreign import foreign_names, foreign_started
from programs import batch_run, client_run, port_free, record_ok, record_sum, server_started

ECHO = ["message=64 write=nodelay", "message=15x2 write=cork", "message=16+4K write=writev depth=8",
        "message=100K write=coalesce connections=5",
        "message=64 connections=3 rate=2000 arrival=poisson"]
DISCARD = ["message=64", "message=64K connections=3", "message=15x2 write=more engine=poll"]
CHARGEN = ["message=64", "message=64K connections=3 threads=2", "message=1K engine=poll",
           "message=1K read=msgtrunc"]


def run(port: int, words: str) -> dict:
    record = record_ok(f"peer=127.0.0.1:{port} control=none place=free warmup=20ms {words}")
    assert record["peer"] == f"127.0.0.1:{port}"
    assert "server" not in record, "a foreign peer reports nothing"
    return record


def check_echo(port: int) -> None:
    for words in ECHO:
        record = run(port, f"verify=on messages=60 {words}")
        client = record["client"]
        assert record_sum(client, "messages_sent") == record_sum(client, "messages_received") == 60
        assert (
            record_sum(client, "bytes_received")
            == record_sum(client, "bytes_sent")
            == 60 * client["message_bytes"]
        )
        assert sum(thread["latency"]["count"] for thread in client["threads"]) == 60


def check_discard(port: int) -> None:
    for words in DISCARD:
        client = run(port, f"workload=stream messages=300 {words}")["client"]
        assert record_sum(client, "messages_sent") == 300
        assert all(thread["elapsed_ns"] > 0 and "messages_received" not in thread
                   for thread in client["threads"])


def check_chargen(port: int) -> None:
    for words in CHARGEN:
        client = run(port, f"workload=stream direction=receive messages=300 {words}")["client"]
        assert client["drives"] and "write" not in client
        assert record_sum(client, "messages_received") >= 300
        assert all("messages_sent" not in thread for thread in client["threads"])


CHECKS = {"echo": check_echo, "discard": check_discard, "chargen": check_chargen}


@pytest.mark.parametrize("does", CHECKS)
@pytest.mark.parametrize("listen", ["127.0.0.1:0"])
def test_our_own_plain_server_is_a_peer(does: str, listen: str) -> None:
    with server_started(listen, "--plain", does) as server:
        CHECKS[does](int(server.address.rpartition(":")[2]))


@pytest.mark.parametrize("name", [name for does in CHECKS for name in foreign_names(does)])
def test_a_server_of_others_is_a_peer(name: str) -> None:
    does = next(does for does in CHECKS if name in foreign_names(does))
    with foreign_started(name) as port:
        CHECKS[does](port)


def test_a_unix_socket_is_a_peer(tmp_path) -> None:
    with server_started(f"unix:{tmp_path}/echo", "--plain", "echo"):
        (record,) = batch_run([f"transport=unix peer=unix:{tmp_path}/echo control=none verify=on "
                               "messages=50 depth=4 place=free"])
    assert record["status"] == "ok" and record_sum(record["client"], "messages_received") == 50


def test_a_timed_run_against_a_peer_ends_when_its_time_is_over() -> None:
    """A thread of a busy machine may begin late and take its last bytes early: only the whole run
    lasts as long as that at least."""
    for does, words in (("echo", ""), ("discard", "workload=stream"),
                        ("chargen", "workload=stream direction=receive")):
        with server_started("127.0.0.1:0", "--plain", does) as server:
            (record,) = batch_run([f"peer={server.address} control=none {words} "
                                   "duration=500ms warmup=0s place=free"])
        assert record["status"] == "ok", record["reason"]
        assert 500_000_000 <= record["wall_ns"] < 5_000_000_000


def test_a_peer_that_sends_back_something_else_is_found_out() -> None:
    """discard answers nothing: within the patience with a stuck run that is said; chargen sends
    what was not sent."""
    with server_started("127.0.0.1:0", "--plain", "chargen") as server:
        (record,) = batch_run(
            [f"peer={server.address} control=none verify=on messages=5 place=free"])
    assert record["status"] == "failed"
    assert "wrong content" in record["reason"] or "bytes of replies came" in record["reason"]


def test_a_peer_that_is_not_there_is_named() -> None:
    port = port_free()
    done = client_run(f"peer=127.0.0.1:{port}", "control=none", "messages=5", "place=free")
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("engine", ["block", "poll"])
def test_the_time_with_a_peer_that_sends_slowly_is_over_in_the_middle_of_a_message(
        engine: str) -> None:
    def send_slowly(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            while True:
                connection.sendall(b"x" * 100)
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=send_slowly, args=(listener,), daemon=True).start()
        (record,) = batch_run([f"peer=127.0.0.1:{listener.getsockname()[1]} control=none "
                               "workload=stream direction=receive message=1M duration=300ms "
                               f"warmup=100ms engine={engine} place=free"], within_s=20)
    assert record["status"] == "ok", record.get("reason")
    assert record_sum(record["client"], "bytes_received") > 0
