# SPDX-License-Identifier: MIT
"""workload=connect: a connection for every request."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from between import Fault, between
from combinations import LIBRARIES
from control import Channel, connect, data_join, plan_send
from foreign import foreign_names, foreign_started
from programs import (
    WITHIN_S,
    Server,
    batch_run,
    calls_counted,
    client_json,
    client_start,
    open_files,
    record_ok,
    record_sum,
    records_ok,
    ring_trouble,
    server_started,
    settled,
    strace_run,
    strace_trouble,
)

VERSION = client_json("--list=json")[0]["uncork"]
LOOPS = ["poll", "ring"] if ring_trouble() is None else ["poll"]  # of a server
SHAPES = ["message=64", "message=15x2 write=cork reply=2",
          "message=16+4K write=writev reply=16+4K reply_write=writev",
          "message=100K write=coalesce reply=300K", "message=32/2x4K write=more"]


@pytest.mark.parametrize("setting",
                         ["", "connections=5", "client.engine=poll",
                          "connections=4 client.engine=block",
                                     "transport=unix connections=3",
                                     "connections=7 rate=2000 arrival=poisson",
                                     "server.engine=ring connections=5"])
def test_every_connection_carries_one_request_and_its_reply_whole(setting: str) -> None:
    lines = [f"workload=connect {shape} {setting} messages=40 verify=on warmup={warmup} place=free"
             for shape in SHAPES for warmup in ("0s", "5ms")
             if "transport=unix" not in setting or ("cork" not in shape and "more" not in shape)]
    for text, record in zip(lines, records_ok(lines), strict=True):
        client, server = record["client"], record["server"]
        assert (
            record_sum(client, "messages_sent") == record_sum(server, "messages_received") == 40
        ), text
        assert (
            record_sum(client, "bytes_received")
            == record_sum(server, "bytes_sent")
            == 40 * server["message_bytes"]
        ), text
        calls = [thread["calls"] for thread in client["threads"]]
        assert all(sum(each.get(kind, 0) for each in calls) == 40
                   for kind in ("socket", "connect", "close")), text
        assert server["strangers"] == 0
        assert all("tcp_info" not in thread for end in (client, server)
                   for thread in end["threads"]), text


def test_a_connection_costs_the_calls_that_are_counted() -> None:
    record = record_ok("workload=connect messages=50 warmup=0s place=free")
    (thread,) = record["client"]["threads"]
    # the token, then the message; congestion control and TCP_NODELAY
    assert thread["calls"] == {"socket": 50, "setsockopt": 100, "connect": 50, "sendto": 100,
                               "recvfrom": 50, "close": 50}
    assert (thread["connect_calls"], thread["write_calls"], thread["read_calls"]) == (250, 100, 50)


@pytest.mark.skipif(strace_trouble() is not None, reason=str(strace_trouble()))
@pytest.mark.parametrize("engine", ["block", "poll"])
def test_the_calls_of_a_connection_are_those_that_strace_counts(engine: str) -> None:
    kinds = ("socket", "setsockopt", "connect", "sendto", "recvfrom", "close")
    seen, counted = [], []
    for messages in (20, 60):
        with server_started() as server:
            traces, record = strace_run(
                ",".join(kinds), f"server={server.address}", "workload=connect",
                f"messages={messages}", "warmup=0s", "place=free", f"client.engine={engine}")
        seen.append(calls_counted(*traces))
        counted.append(record["client"]["threads"][0]["calls"])
    for kind in kinds:
        assert seen[1][kind] - seen[0][kind] == counted[1][kind] - counted[0][kind], kind


@pytest.mark.parametrize("name", foreign_names("echo"))
def test_a_foreign_peer_gets_no_token(name: str) -> None:
    with foreign_started(name) as port:
        for engine in ("block", *LOOPS):
            record = record_ok(f"workload=connect peer=127.0.0.1:{port} control=none verify=on "
                               f"message=16+100 messages=20 engine={engine} place=free warmup=0s")
            assert record_sum(record["client"], "bytes_received") == 20 * 116
            assert record_sum(record["client"], "write_calls") == 40  # two fragments each


@pytest.mark.parametrize("security", ["plain", *LIBRARIES[:1]])
@pytest.mark.parametrize("engine", LOOPS)
def test_a_stranger_without_the_token_is_counted_and_ends_no_run(engine: str,
                                                                 security: str) -> None:
    with server_started() as server, between(server.address) as one:
        client = client_start("--json", f"server={one.address}", "workload=connect",
                              "duration=400ms", "warmup=0s", "connections=3", "place=free",
                              f"engine={engine}", f"security={security}")
        ready = one.first_ready()
        token = bytes.fromhex(ready["token"])
        too_long = bytes.fromhex("160303ffff") + bytes(64)  # a record of TLS
        said = [b"GET / HTTP/1.0\r\n\r\n" * 3, bytes(20) + too_long,
                token + bytes.fromhex("00000003") + too_long, b"\x16\x03\x01", token[:10]]
        for text in said:
            # it may have been rejected already
            with connect(ready["address"]) as stranger, suppress(OSError):
                stranger.sendall(text)
                stranger.shutdown(socket.SHUT_WR)
                assert stranger.recv(1) == b""
        record = json.loads(client.communicate(timeout=20)[0])
        assert record["status"] == "ok", record["reason"]
        assert record["server"]["strangers"] == len(said)


@pytest.mark.skipif(ring_trouble() is not None, reason=str(ring_trouble()))
def test_a_late_hello_changes_nothing_for_what_follows_it() -> None:
    with server_started() as server, between(server.address, Fault(late_s=0.05)) as one:
        record = record_ok(f"server={one.address} workload=connect server.engine=ring "
                           "reply_write=uring-send reply=8M messages=4 verify=on warmup=0s "
                           "place=free")
    assert record_sum(record["client"], "bytes_received") == 4 * (8 << 20)
    assert record["server"]["strangers"] == 0


def sockets_of(pid: int) -> dict[str, str]:
    """The number of the descriptor of each socket, by the name of the socket."""
    sockets = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            sockets[os.readlink(f"/proc/{pid}/fd/{name}")] = name
    return {name: fd for name, fd in sockets.items() if name.startswith("socket:")}


def new_socket(pid: int, before: dict[str, str]) -> Path:
    """What /proc says of the descriptor of the one socket that a process has got since."""
    for _ in range(int(WITHIN_S * 100)):
        for name, fd in sockets_of(pid).items():
            if name not in before:
                return Path(f"/proc/{pid}/fdinfo/{fd}")
        time.sleep(0.01)
    raise AssertionError("the server has accepted nothing")


def is_blocking(file: Path) -> bool:
    flags = re.search(r"^flags:\s+(\d+)", file.read_text(), re.MULTILINE)
    assert flags
    return not int(flags[1], 8) & os.O_NONBLOCK


@pytest.mark.parametrize("engine", LOOPS)
def test_a_late_hello_leaves_its_descriptor_as_the_engine_expects_it(engine: str) -> None:
    with server_started() as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, "workload=connect", "connections=1", "messages=1",
                          "warmup=0s", f"server.engine={engine}")
        assert channel.receive()["type"] == "joined"
        before = sockets_of(server.pid)
        with connect(ready["address"]) as data:
            file = new_socket(server.pid, before)
            time.sleep(0.1)  # the hello comes when the server has begun to wait for it
            data.sendall(bytes.fromhex(ready["token"]) + bytes(4) + bytes(64))
            assert len(data.recv(1)) == 1  # it has the reply: the engine has the descriptor
            assert is_blocking(file) == (engine == "ring")
        channel.close()


@contextmanager
def narrow_echo(path: Path) -> Iterator[str]:
    """An echo behind a Unix listener that has room for one more, and is in no hurry to begin."""
    def serve(listener: socket.socket) -> None:
        time.sleep(0.3)
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # shut down
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"unix:{path}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("workload", ["connect", "request"])
@pytest.mark.parametrize("engine", ["block", *LOOPS])
def test_a_unix_listener_without_room_is_waited_for(workload: str, engine: str,
                                                    tmp_path: Path) -> None:
    with narrow_echo(tmp_path / "echo") as address:
        (record,) = batch_run([f"workload={workload} peer={address} control=none transport=unix "
                               f"connections=20 messages=60 engine={engine} warmup=0s verify=on "
                               "place=free"])
    assert record["status"] == "ok", record.get("reason")
    assert record_sum(record["client"], "messages_sent") == 60


@pytest.mark.parametrize("engine", LOOPS)
def test_strangers_that_say_nothing_take_no_more_than_a_few_descriptors(engine: str) -> None:
    with server_started() as server, ExitStack() as stack:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, "workload=connect", "connections=1", "messages=1",
                          f"server.engine={engine}")
        files = open_files(server.pid)
        silent = [stack.enter_context(connect(ready["address"])) for _ in range(200)]
        for stranger in silent[:100]:
            stranger.settimeout(5)
            assert stranger.recv(1) == b""
        assert open_files(server.pid) < files + 100
        with data_join(ready) as known:
            known.sendall(b"x" * 64)
            assert len(known.recv(1)) == 1
        channel.close()


@pytest.mark.parametrize("engine", LOOPS)
def test_a_run_that_breaks_leaves_no_connection_that_was_about_to_take_its_place(
        engine: str) -> None:
    def break_run(server: Server) -> None:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, "workload=connect", "connections=3", "messages=9",
                          "verify=on", "warmup=0s", f"server.engine={engine}")
        while channel.receive()["type"] != "marked":  # then its thread waits for them
            pass
        os.kill(server.pid, signal.SIGSTOP)
        with data_join(ready, 0), data_join(ready, 0), data_join(ready, 1) as wrong:
            wrong.sendall(b"\xaa" * 64)
            os.kill(server.pid, signal.SIGCONT)
            assert channel.receive()["type"] == "failed"
        channel.close()

    with server_started() as server:
        break_run(server)
        files = open_files(server.pid)  # and what is not closed yet
        for _ in range(20):
            break_run(server)
        settled(server.pid, files)
