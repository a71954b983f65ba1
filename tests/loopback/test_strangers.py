# SPDX-License-Identifier: MIT
"""Clients that connect and say nothing, or nothing whole: they keep no other client out."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from control import Channel, connect, plan_send
from programs import (
    SANITIZED,
    Server,
    client_json,
    client_run,
    client_start,
    log_of,
    server_started,
)

VERSION = client_json("--list=json")[0]["uncork"]
ONE = ["message=4", "reply=2", "messages=1", "warmup=0s", "place=free"]
KEY = bytes(range(32)).hex()
MIB = 1 << 20
SPEAKS = {"nothing": b"", "half a message": b"\0\0", "half a ClientHello": bytes.fromhex(
    "16030100c8010000c40303")}

_tried = client_run("--psk", "/dev/null", "server=127.0.0.1:1")
KEYED = [False] if "no GnuTLS" in _tried.stderr else [False, True]


def resident(server: Server) -> int:
    """Bytes of memory that the server has now."""
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * 4096


@contextlib.contextmanager
def strangers(address: str, count: int, says: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that send this and then nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + 200), hard), hard))
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect(address)) for _ in range(count)]
        for one in sockets:
            with contextlib.suppress(ConnectionError):  # it had to make room for others
                one.sendall(says)
        yield sockets


@pytest.mark.parametrize("says", SPEAKS)
@pytest.mark.parametrize("keyed", KEYED)
def test_strangers_keep_no_client_out(keyed: bool, says: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.touch(0o600)
    keys.write_text(f"alice:{KEY}\n")
    psk = ["--psk", str(keys)] if keyed else []
    with server_started("127.0.0.1:0", *psk) as server:
        one = [*psk, f"server={server.address}", *ONE]
        assert client_run(*one).returncode == 0
        before = resident(server)
        with strangers(server.address, 300, SPEAKS[says]):
            for _ in range(5):
                done = client_run(*one)
                assert (done.returncode, done.stderr) == (0, "")
        assert client_run(*one).returncode == 0
        for _ in range(0 if SANITIZED else 100):  # until the server has noticed that they are gone
            if (grown := resident(server) - before) < 10 * MIB:
                break
            time.sleep(0.1)
        assert SANITIZED or grown < 10 * MIB
        error = log_of(server)
        assert says != "nothing" or re.search(
            r"rejected a client at 127.0.0.1:\d+ \(to make room: strangers of its host "
            r"\(--max-strangers-per-source\) are at most 64\)", error)


def test_a_running_session_and_those_that_wait_are_no_strangers() -> None:
    with server_started() as server:
        running, waiting = Channel(server.address), Channel(server.address)
        assert plan_send(running, VERSION, *ONE)["type"] == "ready"
        assert plan_send(waiting, VERSION, *ONE)["type"] == "wait"
        with strangers(server.address, 300):
            running.close()
            assert waiting.receive()["type"] == "ready"


@pytest.mark.parametrize("keyed", KEYED)
def test_a_client_that_makes_room_learns_why(keyed: bool, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.touch(0o600)
    keys.write_text(f"alice:{KEY}\n")
    psk = ["--psk", str(keys)] if keyed else []
    with server_started("127.0.0.1:0", "--max-strangers", "1", *psk) as server:
        first, second = Channel(server.address), connect(server.address)
        if keyed:
            assert first.socket.recv(100) == bytes((21, 3, 3, 0, 2, 2, 80))
        else:
            assert first.receive() == {"type": "refused", "kind": "failed",
                                       "text": "this server has no room for one more client"}
        second.close()


@pytest.mark.skipif(KEYED == [False], reason="this build has no GnuTLS")
def test_a_client_with_a_key_says_that_there_is_no_room(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.touch(0o600)
    keys.write_text(f"alice:{KEY}\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = client_start("--psk", str(keys), f"server=127.0.0.1:{listener.getsockname()[1]}")
        with listener.accept()[0] as connection:
            assert connection.recv(4096)
            connection.sendall(bytes((21, 3, 3, 0, 2, 2, 80)))
        assert client.communicate(timeout=20)[1].endswith(" has no room for one more client\n")


def test_a_silent_stranger_is_closed_after_3_s() -> None:
    with server_started() as server, strangers(server.address, 1) as (stranger,):
        began = time.monotonic()
        stranger.settimeout(30)
        assert stranger.recv(1) == b"" and time.monotonic() - began > 2.5
        assert "it sent no valid message within 3 s" in log_of(server)


def test_a_client_beyond_the_last_session_is_told_so_and_the_next_is_served() -> None:
    with server_started("127.0.0.1:0", "--max-sessions", "3") as server:
        known = [Channel(server.address) for _ in range(3)]
        answers = [plan_send(channel, VERSION, *ONE)["type"] for channel in known]
        assert answers == ["ready", "wait", "wait"]
        answer = plan_send(Channel(server.address), VERSION, *ONE)
        assert answer["type"] == "refused" and answer["text"] == (
            "this server has 3 sessions already, as many as --max-sessions allows")
        for channel in known:
            channel.close()
        for _ in range(100):  # the server notices each by itself
            if client_run(f"server={server.address}", *ONE).returncode == 0:
                return
        raise AssertionError("the places were not given back")


def test_a_plan_that_takes_longer_than_the_server_allows_is_refused() -> None:
    with server_started("127.0.0.1:0", "--max-time", "2s") as server:
        done = client_run(f"server={server.address}", "duration=2001ms", "place=free")
        assert done.returncode == 1 and done.stderr == (
            "uncork-client: failed: duration=2001ms: this server allows 2s (--max-time)\n")
        assert client_run(f"server={server.address}", "duration=10ms", "warmup=10ms",
                          "place=free").returncode == 0
    with server_started("127.0.0.1:0", "--max-threads", "2") as server:
        done = client_run(f"server={server.address}", "connections=3", "engine=block", *ONE)
        assert done.returncode == 1 and "at most 2 threads a run (--max-threads)" in done.stderr


ASKS = {"http": b"GET /k HTTP/1.1\r\nHost: a\r\n\r\n", "memcached": b"get k\r\n",
        "resp": b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "nbd": b""}


@pytest.mark.parametrize("protocol", ASKS)
def test_a_served_client_is_answered_beside_strangers(protocol: str) -> None:
    with server_started("127.0.0.1:0", "--serve", protocol, "--max-strangers-per-source",
                        "8") as server, strangers(server.address, 100):
        for _ in range(5):
            with connect(server.address) as client:
                client.settimeout(10)
                client.sendall(ASKS[protocol])
                assert client.recv(1)
        assert "(--max-strangers-per-source) are at most 8" in log_of(server)


def test_a_client_that_was_answered_is_no_stranger() -> None:
    with server_started("127.0.0.1:0", "--serve", "http", "--max-strangers",
                        "4") as server, connect(server.address) as client:
        client.settimeout(10)
        client.sendall(ASKS["http"])
        assert client.recv(1 << 16)
        with strangers(server.address, 50):
            client.sendall(ASKS["http"])
            assert client.recv(1)


@pytest.mark.parametrize("protocol", ASKS)
def test_clients_without_a_whole_request_leave_their_places_to_others(protocol: str) -> None:
    ask = ASKS[protocol]
    with server_started("127.0.0.1:0", "--serve", protocol, "--max-clients",
                        "3") as server, strangers(server.address, 3, ask[:1]):
        # A fourth may be refused: the server learns late that the first ones have left.
        for _ in range(3):
            with connect(server.address) as client:
                client.settimeout(10)
                client.sendall(ask)
                assert client.recv(1)
        assert "to make room: all places are taken" in log_of(server)


def test_clients_that_ask_for_facts_leave_their_places_to_others() -> None:
    with server_started("127.0.0.1:0", "--max-sessions", "1") as server:
        asking = [Channel(server.address) for _ in range(300)]
        for channel in asking:
            with contextlib.suppress(ConnectionError):
                channel.send("ask", version=VERSION)
        assert client_run(f"server={server.address}", *ONE).returncode == 0
        for channel in asking:
            channel.close()


def test_strangers_of_many_hosts_have_a_limit_too_and_are_counted() -> None:
    with server_started("127.0.0.1:0", "--max-strangers", "8") as server, contextlib.ExitStack(
    ) as stack:
        host, port = server.address.rsplit(":", 1)
        for last in range(2, 42):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=10,
                                                         source_address=(f"127.0.0.{last}", 0)))
        (record,) = client_json("--json", f"server={server.address}", *ONE)
        assert record["status"] == "ok" and record["server"]["turned_away"] >= 32
        assert "strangers (--max-strangers) are at most 8" in log_of(server)


@pytest.mark.parametrize("flags", ["", "--proxy", "--serve http", "--serve nbd"])
def test_a_server_with_strangers_ends_when_it_is_told_to(flags: str) -> None:
    with server_started("127.0.0.1:0", *flags.split()) as server, strangers(server.address, 20):
        assert server.ended() == 0


@pytest.mark.parametrize("mode", ["--serve http", "--plain echo"])
def test_the_last_client_that_may_connect_is_served_and_the_next_is_closed(mode: str) -> None:
    with server_started("127.0.0.1:0", *mode.split(), "--max-clients", "2") as server:
        ask = ASKS["http"]
        with connect(server.address) as one, connect(server.address) as two:
            for client in (one, two):
                client.settimeout(10)
                client.sendall(ask)
                assert client.recv(1)
            with contextlib.suppress(ConnectionError), connect(server.address) as three:
                three.settimeout(10)
                three.sendall(ask)
                assert three.recv(1) == b""
        assert "--max-clients" in log_of(server)
