# SPDX-License-Identifier: MIT
"""protocol=memcached and protocol=resp: what their requests and replies are, byte by byte, real
servers, and servers that lie."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from programs import client_run, pattern, port_free, received, records_ok
from test_protocols import lie_told, server

KEYS = 16  # of values up to 64K
KEY = b"uncork-00000100-%02d"
VALUE = [pattern()[number * 100:number * 100 + 100] for number in range(KEYS)]


class Memcached:
    """What the ends say of a value of 100 bytes."""
    name = "memcached"
    stored, end, missing = b"STORED\r\n", b"\r\nEND\r\n", b"END\r\n"

    @staticmethod
    def get(number: int) -> bytes:
        return b"get " + KEY % number + b"\r\n"

    @staticmethod
    def set(number: int) -> bytes:
        return b"set " + KEY % number + b" 0 0 100\r\n" + VALUE[number] + b"\r\n"

    @staticmethod
    def head(number: int) -> bytes:
        return b"VALUE " + KEY % number + b" 0 100\r\n"


class Resp:
    """The same in RESP2."""
    name = "resp"
    stored, end, missing = b"+OK\r\n", b"\r\n", b"$-1\r\n"

    @staticmethod
    def get(number: int) -> bytes:
        return b"*2\r\n$3\r\nGET\r\n$18\r\n" + KEY % number + b"\r\n"

    @staticmethod
    def set(number: int) -> bytes:
        return (b"*3\r\n$3\r\nSET\r\n$18\r\n" + KEY % number + b"\r\n$100\r\n" + VALUE[number]
                + b"\r\n")

    @staticmethod
    def head(number: int) -> bytes:
        return b"$100\r\n"


Protocol = type[Memcached] | type[Resp]
both = pytest.mark.parametrize("protocol", [Memcached, Resp])


def filled(peer: socket.socket, protocol: Protocol) -> None:
    """Takes the values that the client stores before its first get."""
    for number in range(KEYS):
        wanted = protocol.set(number)
        assert received(peer, len(wanted)) == wanted
        peer.sendall(protocol.stored)


def run(protocol: Protocol, port: int, *words: str) -> subprocess.CompletedProcess[str]:
    return client_run(f"protocol={protocol.name}", "op=get:100", f"peer=127.0.0.1:{port}",
                      "control=none", "place=free", "warmup=0s", *words)


# ---- what is said ----

@both
def test_requests_are_those_of_the_protocol_and_values_are_stored_first(protocol: Protocol) -> None:
    seen = []

    def serve(peer: socket.socket) -> None:
        filled(peer, protocol)
        for number in range(2 * KEYS):
            seen.append(received(peer, len(protocol.get(0))))
            peer.sendall(protocol.head(number % KEYS) + VALUE[number % KEYS] + protocol.end)

    with server(serve) as port:
        done = run(protocol, port, f"messages={2 * KEYS}", "verify=on")
    assert done.returncode == 0, done.stderr
    assert seen == [protocol.get(number % KEYS) for number in range(2 * KEYS)]


# ---- lies ----

def lie(protocol: Protocol, reply: bytes, ends: bool = False) -> Callable[[socket.socket], None]:
    """A server that answers the first get by `reply`."""
    def serve(peer: socket.socket) -> None:
        filled(peer, protocol)
        received(peer, len(protocol.get(0)))
        peer.sendall(reply)
        if ends:
            peer.shutdown(socket.SHUT_WR)
    return serve


def lies(protocol: Protocol) -> dict[str, tuple[Callable[[socket.socket], None], str]]:
    """What a server does, and what the client must say."""
    head, end = protocol.head(0), protocol.end
    shown = end.decode().replace("\r", r"\r").replace("\n", r"\n")
    found = {
        "a missing value": (lie(protocol, protocol.missing), "no longer has a value"),
        "another size": (lie(protocol, head.replace(b"100\r", b"99\r") + bytes(99) + end),
                         r'99\r\n" to a get of 100 bytes; "'),
        "a size of 20 digits": (lie(protocol, head.replace(b"100\r", b"9" * 20 + b"\r")), "9" * 20),
        "a negative size": (lie(protocol, head.replace(b"100\r", b"-100\r")), r"-100\r\n"),
        "no end of the value": (lie(protocol, head + VALUE[0] + b"x" * 20 + b"\r\n"),
                                f'xx\\r\\n" to a get of 100 bytes; "{shown}" would be right'),
        "wrong content": (lie(protocol, head + bytes(100) + end), "wrong content at byte 0 of a"),
        "garbage": (lie(protocol, b"\0\xff" * 5000), r'"\x00\xff'),
        "a line without an end": (lie(protocol, head[:1] + b"x" * 5000), '"' + head[:1].decode()),
        "two replies": (lie(protocol, 2 * (head + VALUE[0] + end)), "for which no request waits"),
        "the end in a head": (lie(protocol, head[:3], True), "closed its connection before"),
        "the end in a value": (lie(protocol, head + VALUE[0][:50], True), "closed its connection"),
        "the end in the last line": (lie(protocol, head + VALUE[0] + b"\r", True),
                                     "closed its connection before"),
        "the end at once": (lambda peer: peer.shutdown(socket.SHUT_WR), "ended the connection"),
        "silence": (lambda peer: None, "was silent for 5 s"),
        "no room": (lambda peer: peer.sendall(b"-OOM no memory\r\n"),
                    r'"-OOM no memory\r\n" to a set of 100 bytes'),
    }
    if protocol is Memcached:
        found |= {
            "other flags": (lie(protocol, head.replace(b" 0 ", b" 7 ")), r" 7 100\r\n"),
            "another key": (lie(protocol, protocol.head(1)), "-01 0 100"),
            "an error": (lie(protocol, b"SERVER_ERROR out of memory\r\n"), "out of memory"),
        }
    else:
        found |= {"an error": (lie(protocol, b"-ERR unknown\r\n"), r'"-ERR unknown\r\n" to a get'),
                  "another type": (lie(protocol, b":100\r\n"), r'":100\r\n"')}
    return found


@pytest.mark.parametrize(("protocol", "which"), [
    (protocol, which) for protocol in (Memcached, Resp) for which in lies(protocol)])
def test_a_server_that_lies_gets_one_clear_line(protocol: Protocol, which: str) -> None:
    told = lie_told(*lies(protocol)[which],
                    lambda port: run(protocol, port, "messages=100", "verify=on"))
    assert f"protocol={protocol.name}: the peer " in told or "closed its" in told


@both
def test_replies_in_pieces_of_any_size_are_read(protocol: Protocol) -> None:
    def serve(peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        filled(peer, protocol)
        for number in range(KEYS):
            received(peer, len(protocol.get(0)))
            reply = protocol.head(number) + VALUE[number] + protocol.end
            for at in range(0, len(reply), 1 + number):
                peer.sendall(reply[at:at + 1 + number])

    with server(serve) as port:
        done = run(protocol, port, f"messages={KEYS}", "verify=on", "chunk=3")
    assert done.returncode == 0, done.stderr


# ---- real servers ----

@contextmanager
def real(protocol: Protocol, transport: str, folder: Path) -> Iterator[str]:
    """A server of the protocol; gives its address."""
    path, port = folder / "socket", port_free()
    unix = transport == "unix"
    command = {
        Memcached: ["memcached", "-u", "root", "-t", "1", *(
            ("-s", path) if unix else ("-l", "127.0.0.1", "-p", port, "-U", "0"))],
        Resp: ["redis-server", "--save", "", "--dir", folder, *(
            ("--port", "0", "--unixsocket", path) if unix
            else ("--bind", "127.0.0.1", "--port", port))],
    }[protocol]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    running = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while True:
            with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as probe:
                if probe.connect_ex(str(path) if unix else ("127.0.0.1", port)) == 0:
                    break
            assert running.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        yield f"unix:{path}" if unix else f"127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(10)


@both
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_server_of_others_keeps_what_is_set_and_gives_it_back(protocol: Protocol, transport: str,
                                                                tmp_path: Path) -> None:
    with real(protocol, transport, tmp_path) as address:
        to = (f"transport={transport} peer={address} control=none protocol={protocol.name} "
              "verify=on place=free warmup=0s")
        records_ok([
            f"{to} op=get:100 messages=200", f"{to} op=set:4K messages=200 depth=4",
            f"{to} op=get:100*9+set:100+get:100K depth=16 messages=400 connections=3",
            f"{to} op=get:900K messages=20",
            f"{to} op=get:1 depth=64 messages=4000 write=coalesce window=64"])


def test_a_value_that_memcached_has_no_room_for_fails_the_run(tmp_path: Path) -> None:
    with real(Memcached, "tcp", tmp_path) as address:
        done = client_run("protocol=memcached", "op=get:2M", f"peer={address}", "control=none")
    assert done.returncode == 1
    assert "SERVER_ERROR object too large for cache" in done.stderr
    assert done.stderr.count("\n") == 1
