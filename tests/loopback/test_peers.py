# SPDX-License-Identifier: MIT
"""peer=HOST:PORT control=none: the client against servers that know nothing of uncork."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from foreign import foreign_names, foreign_started
from programs import (
    batch_run,
    client_run,
    port_free,
    preloaded,
    record_ok,
    record_sum,
    ring_trouble,
    server_started,
)

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


# ---- peers that keep a run waiting ----

@contextmanager
def trickling(every_s: float) -> Iterator[str]:
    """The address of a peer that sends a byte at such intervals, whatever it gets."""
    def trickle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while True:
                connection.sendall(b"x")
                time.sleep(every_s)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=trickle, args=listener.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def never_accepting(listener: socket.socket, address: str | tuple[str, int],
                    backlog: int) -> Iterator[socket.socket]:
    """A listener that accepts nothing. With a backlog of 0 it is full, and no connect(2) ends."""
    with listener:
        listener.bind(address)
        listener.listen(backlog)
        full = [socket.socket(listener.family) for _ in range(0 if backlog else 2)]
        for client in full:
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect(listener.getsockname())
        yield listener
        for client in full:
            client.close()


def reason_within_30_s(words: str) -> str:
    done = client_run(*words.split(), "control=none", "place=free", "duration=100ms", "warmup=0s",
                      within_s=30)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, (words, done)
    return done.stderr


def test_a_peer_that_does_not_answer_ends_every_run(tmp_path: Path) -> None:
    engines = ["block", "poll", *["ring"] * (ring_trouble() is None)]
    path = f"{tmp_path}/full"
    with (never_accepting(socket.socket(), ("127.0.0.1", 0), 128) as silent,
          never_accepting(socket.socket(), ("127.0.0.1", 0), 0) as full,
          never_accepting(socket.socket(socket.AF_UNIX), path, 0),
          trickling(2) as slow, ThreadPoolExecutor(24) as pool):
        silent_at, full_at = (f"peer=127.0.0.1:{one.getsockname()[1]}" for one in (silent, full))
        unix = f"transport=unix peer=unix:{path}"
        nothing = " s; it waits for the peer"
        says = {
            f"{silent_at} protocol=nbd op=read:4K": "was silent for 5 s while the connection began",
            f"peer={slow} protocol=nbd op=read:4K": "was too slow for 5 s",
        }
        for engine in engines:
            says |= {f"{silent_at} engine={engine}": nothing,
                     f"{silent_at} engine={engine} workload=connect": nothing,
                     f"{full_at} engine={engine}": "Connection timed out",
                     f"{full_at} engine={engine} workload=connect": nothing,
                     f"{unix} engine={engine}": "Connection timed out",
                     f"{unix} engine={engine} workload=connect connections=2": nothing}
        for words, reason in zip(says, pool.map(reason_within_30_s, says), strict=True):
            assert says[words] in reason, (words, reason)


# The watch of a run reads uv_now(). Two seconds after its first call the limit of the plan is over.
LATER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <uv.h>

uint64_t uv_now(const uv_loop_t *loop)
{
    static uint64_t first;
    uint64_t (*real)(const uv_loop_t *) = dlsym(RTLD_NEXT, "uv_now"), now = real(loop);

    first = first ? first : now;
    return now - first < 2000 ? now : now + 62000;
}
"""


def test_a_peer_that_sends_a_byte_now_and_then_ends_with_the_limit_of_the_plan(
        tmp_path: Path) -> None:
    environment = preloaded(tmp_path, LATER)
    with trickling(0.02) as address:
        done = client_run(f"peer={address}", "control=none", "place=free", "duration=100ms",
                          "warmup=0s", "message=64K", within_s=20,
                          env=environment)
    assert done.returncode == 1, done
    assert done.stderr == "uncork-client: failed: the peer did not finish the run within 60 s\n"


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
