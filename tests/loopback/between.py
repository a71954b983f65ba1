# SPDX-License-Identifier: MIT
"""A relay between a client and its server. It sees the control messages and can spoil the data."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from control import connect, data_address
from programs import WITHIN_S

EVERYTHING = 1 << 60


@dataclass(frozen=True)
class Fault:
    """What becomes of a session's data connections after so many bytes towards `end`, the hello
    included, and of the key that the server has sent. Nor does an end of such a session learn by
    control that the other has gone."""

    end: str = "server"
    after: int = EVERYTHING
    closes: bool = False
    says: bytes = b""  # instead of the rest; neither: it stalls
    wrong_key: bool = False
    late_s: float = 0.0  # what the end receives comes so long after its connection


@dataclass
class Between:
    """Listens as the server does. Each session has the next fault, or None, and none when there are
    no more."""

    server: str
    faults: Sequence[Fault | None] = ()
    full_for_s: float = 0.0  # so long there is no room at the listeners for data
    ready: list[dict[str, Any]] = field(default_factory=list)  # of each session
    # by session and the end that says so
    failures: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    carried: int = 0  # bytes, of data
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def address(self) -> str:
        return _address(self._listener)

    def failure(self, session: int, end: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """What this end has said when the session failed; it was not told so by the other."""
        _await(lambda: (session, end) in self.failures, within_s,
               f"the {end} to say that session {session} failed")
        return self.failures[session, end]

    def first_ready(self) -> dict[str, Any]:
        """What the server says of the first session."""
        _await(lambda: bool(self.ready), 10, "a session")
        return self.ready[0]

    def await_data(self, size: int) -> None:
        _await(lambda: self.carried >= size, 20, f"{size} bytes of data")

    def close(self) -> None:
        for one in [self._listener, *self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def serve(self) -> None:
        for session in range(EVERYTHING):
            client, server = self._take(self._listener, self.server)
            fault = self.faults[session] if session < len(self.faults) else None
            _start(self._pass_control, client, server, (session, "client"), fault)
            _start(self._pass_control, server, client, (session, "server"), fault)

    def _keep(self, one: socket.socket) -> socket.socket:
        self._open.append(one)
        return one

    def _take(self, listener: socket.socket, address: str) -> tuple[socket.socket, socket.socket]:
        """Whoever comes, and a connection to where it wanted to go."""
        came = self._keep(listener.accept()[0])
        target = self._keep(connect(address))
        target.settimeout(None)
        for one in (came, target):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return came, target

    def _pass_control(self, source: socket.socket, target: socket.socket, whose: tuple[int, str],
                      fault: Fault | None) -> None:
        while message := _message(source):
            if message["type"] == "failed":
                self.failures[whose] = message
                continue
            if message["type"] == "ready":
                self.ready.append(message | {"address": data_address(message, self.server)})
                message = self._changed(message, fault or Fault())
            body = json.dumps(message).encode()
            target.sendall(struct.pack(">I", len(body)) + body)
        if not fault:
            target.shutdown(socket.SHUT_RDWR)

    def _changed(self, ready: dict[str, Any], fault: Fault) -> dict[str, Any]:
        listener = self._keep(socket.create_server(("127.0.0.1", 0),
                                                   backlog=0 if self.full_for_s else 128))
        _start(self._pass_data, listener, data_address(ready, self.server), fault)
        other = "1" if ready["key"][:1] == "0" else "0"
        wrong = {"key": other + ready["key"][1:]} if fault.wrong_key else {}
        return ready | {"port": listener.getsockname()[1]} | wrong

    def _pass_data(self, listener: socket.socket, address: str, fault: Fault) -> None:
        if self.full_for_s:
            with connect(_address(listener)):
                time.sleep(self.full_for_s)
                listener.accept()[0].close()
        while True:
            client, server = self._take(listener, address)
            _start(self._pass_bytes, client, server, fault if fault.end == "server" else Fault())
            _start(self._pass_bytes, server, client, fault if fault.end == "client" else Fault())

    def _pass_bytes(self, source: socket.socket, target: socket.socket, fault: Fault) -> None:
        left = fault.after
        time.sleep(fault.late_s)
        while left and (data := source.recv(min(left, 65536))):
            target.sendall(data)
            left -= len(data)
            self.carried += len(data)
        if fault.closes:
            source.shutdown(socket.SHUT_RDWR)
        if fault.closes or left:
            target.shutdown(socket.SHUT_RDWR if fault.closes else socket.SHUT_WR)
        if fault.says and not left:
            target.sendall(fault.says)
            while source.recv(65536):
                pass
            target.shutdown(socket.SHUT_WR)


def _await(has_come: Callable[[], bool], within_s: float, what: str) -> None:
    until = time.monotonic() + within_s
    while not has_come():
        assert time.monotonic() < until, f"waited {within_s} s for {what}"
        time.sleep(0.005)


def _address(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def _start(function: Callable[..., None], *arguments: Any) -> None:
    """In a thread, until one of its sockets is closed."""

    def run() -> None:
        with suppress(OSError):
            function(*arguments)

    threading.Thread(target=run, daemon=True).start()


def _message(source: socket.socket) -> dict[str, Any] | None:
    """The next message of control, None at the end."""
    head = source.recv(4, socket.MSG_WAITALL)
    return json.loads(source.recv(*struct.unpack(">I", head),
                                  socket.MSG_WAITALL)) if len(head) == 4 else None


@contextmanager
def between(server: str, *faults: Fault | None, full_for_s: float = 0.0) -> Iterator[Between]:
    one = Between(server, faults, full_for_s)
    _start(one.serve)
    try:
        yield one
    finally:
        one.close()
