# SPDX-License-Identifier: MIT
"""The control channel and the data hello, spoken by hand: docs/design/control-channel.md.

Written from the description and not from the C code, so that both can be wrong only in the same way
by accident.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any


def connect(address: str) -> socket.socket:
    if address.startswith("unix:"):
        channel = socket.socket(socket.AF_UNIX)
        channel.connect(address.removeprefix("unix:"))
        return channel
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout=10)


def message_pack(type_: str, **fields: Any) -> bytes:
    body = json.dumps({"type": type_, **fields}).encode()
    return struct.pack(">I", len(body)) + body


class Channel:
    """A control connection: length (4 bytes, big endian), then JSON."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = connect(address)
        self.socket.settimeout(10)

    def send(self, type_: str, **fields: Any) -> None:
        self.socket.sendall(message_pack(type_, **fields))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self) -> dict[str, Any]:
        """The next message that is no ping; EOFError when the server has closed."""
        while True:
            (size,) = struct.unpack(">I", self._exactly(4))
            message = json.loads(self._exactly(size))
            if message["type"] != "ping":
                return message

    def close(self) -> None:
        self.socket.close()


def data_address(ready: dict[str, Any], control: str) -> str:
    """Where data connections go, given the address of the control channel."""
    if ready["path"]:
        return f"unix:{ready['path']}"
    host = "127.0.0.1" if control.startswith("unix:") else control.rpartition(":")[0]
    return f"{host}:{ready['port']}"


def plan_send(channel: Channel, version: str, *words: str, end: str = "server") -> dict[str, Any]:
    """Sends a plan and returns the answer; a ready one gets the `address` of data connections."""
    channel.send("plan", version=version, end=end, host="a test", words=list(words))
    answer = channel.receive()
    if answer["type"] == "ready":
        answer["address"] = data_address(answer, channel.address)
    return answer


def data_join(ready: dict[str, Any], index: int = 0, token: str | None = None) -> socket.socket:
    """A data connection that shows its token."""
    data = connect(ready["address"])
    data.settimeout(10)
    data.sendall(bytes.fromhex(token or ready["token"]) + struct.pack(">I", index))
    return data


def sink_accept(connection: socket.socket, token: bytes, number: int = 0) -> None:
    """Plays the sink's part of the hello of a proxy: docs/design/proxy.md."""
    connection.sendall(b"\0uncork\xff" + token[:8])
    asked = connection.recv(36, socket.MSG_WAITALL)
    mask, masked = asked[:16], asked[16:]
    hello = bytes(byte ^ mask[i % 16] for i, byte in enumerate(masked))
    assert hello == token + number.to_bytes(4, "big")
    connection.sendall(bytes(255 - byte for byte in mask))


def long_value_receive(channel: Channel, type_: str) -> dict[str, Any]:
    """The value of a report or of facts."""
    answer = channel.receive()
    assert answer["type"] == type_, answer
    value: dict[str, Any] = answer["value"]
    return value
