# SPDX-License-Identifier: MIT
"""What clients of uncork-server --serve say and get, for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from control import connect
from programs import Server, pattern, received

MIB = 1 << 20
EXPORT = 4 * MIB
REQUEST = b"\x25\x60\x95\x13"
LISTENS = ("127.0.0.1:0", "unix:{path}/socket")
CONTENT = pattern()
TEN = CONTENT[:10]
FIRST = {"http": (b"GET /10 HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n\r\n" + TEN),
         "memcached": (b"get a\r\n", b"VALUE a 0 10\r\n%b\r\nEND\r\n" % TEN),
         "resp": (b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", b"$10\r\n%b\r\n" % TEN)}
GO = b"\0\0\0\3IHAVEOPT\0\0\0\7\0\0\0\6\0\0\0\0\0\0"


def needed(program: str) -> str:
    """The path of a real client; the test is skipped without it."""
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


def content(size: int) -> bytes:
    return (CONTENT * (size // len(CONTENT) + 1))[:size]


def run(*arguments: str | Path, **options) -> str:
    """What a client says on both outputs; it must end well."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def uri(server: Server, keys: Path | None = None) -> str:
    if server.address.startswith("unix:"):
        return f"nbd+unix:///?socket={server.address.removeprefix('unix:')}"
    if not keys:
        return f"nbd://{server.address}"
    return f"nbds://alice@{server.address}/?tls-psk-file={keys}"


def said_to(server: Server, *messages: bytes, pause: float = 0.01) -> bytes:
    """What a server answers until it closes the connection, or this end has half-closed it."""
    with connect(server.address) as client:
        client.settimeout(30)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for message in messages:
            client.sendall(message)
            time.sleep(pause)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(MIB), b""))


def greeted(server: Server) -> socket.socket:
    """A client of nbd that may ask now."""
    client = connect(server.address)
    client.settimeout(30)
    client.sendall(GO)
    received(client, 18 + 20 + 12 + 20)
    return client


def read_of(offset: int, size: int, kind: int = 0, flags: int = 0) -> bytes:
    return REQUEST + b"".join(number.to_bytes(size_of, "big") for number, size_of in (
        (flags, 2), (kind, 2), (7, 8), (offset, 8), (size, 4)))
