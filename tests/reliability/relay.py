# SPDX-License-Identifier: MIT
"""A relay between a client and another end that makes one fault in one phase of a session."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from control import connect, data_address

DATA_BYTES = 1 << 20  # of data before a fault in the phase data


def thread_start(does: Callable[..., None], *arguments: Any) -> None:
    """Runs it until one of its sockets is closed."""
    def run() -> None:
        with suppress(OSError, EOFError):
            does(*arguments)

    threading.Thread(target=run, daemon=True).start()


@dataclass
class Relay:
    """Passes everything on, and calls `act` once: when a connection comes (phase connect), before
    it passes a control message of that type (plan, ready, report), the first bytes of data (hello)
    or many bytes of data (data), or the end of a session (between). `act` says what becomes of the
    link: it passes, is cut or silent, or the next bytes are corrupted."""

    target: str
    phase: str
    act: Callable[[], str]
    fired: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._state, self._carried, self._began = "passes", 0, False
        self._lock, self._open = threading.Lock(), []
        listener = self._keep(socket.create_server(("127.0.0.1", 0)))
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        thread_start(self._accept, listener, self.target, self._pass_messages)

    def _keep(self, one: socket.socket) -> socket.socket:
        self._open.append(one)
        return one

    def fire(self) -> None:
        """Makes the fault; others wait until it is made."""
        with self._lock:
            if self._began:
                return
            self._began = True
            self._state = self.act()
            if self._state == "cut":
                self.close()
            self.fired.set()

    def close(self) -> None:
        """Resets all connections."""
        for one in self._open:
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, listener: socket.socket, target: str,
                passes: Callable[[socket.socket, socket.socket], None]) -> None:
        while True:
            client = self._keep(listener.accept()[0])
            if self.phase == "connect":
                self.fire()
            try:
                server = self._keep(connect(target))
            except ConnectionError:  # it was killed
                client.close()
                continue
            server.settimeout(None)
            thread_start(self._carry, passes, client, server)
            thread_start(self._carry, passes, server, client)

    def _carry(self, passes: Callable[[socket.socket, socket.socket], None], source: socket.socket,
               to: socket.socket) -> None:
        """Passes all on. If one side resets its connection, the other loses its own too."""
        try:
            passes(source, to)
        except OSError:
            for one in (source, to):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _pass(self, to: socket.socket, data: bytes, size: int, is_phase: bool) -> None:
        """Passes bytes on; those after `size` are what a fault corrupts."""
        if is_phase:
            self.fire()
        if self._state == "corrupted" and is_phase:
            data = data[:size] + bytes([data[size] ^ 0xFF]) + data[size + 1:]
            self._state = "passes"
        if self._state == "silent":
            raise EOFError
        to.sendall(data)

    def _pass_messages(self, source: socket.socket, to: socket.socket) -> None:
        while len(head := source.recv(4, socket.MSG_WAITALL)) == 4:
            message = json.loads(source.recv(*struct.unpack(">I", head), socket.MSG_WAITALL))
            if message["type"] == "ready":
                listener = self._keep(socket.create_server(("127.0.0.1", 0)))
                thread_start(self._accept, listener, data_address(message, self.target),
                             self._pass_bytes)
                message["port"] = listener.getsockname()[1]
            body = json.dumps(message).encode()
            self._pass(to, struct.pack(">I", len(body)) + body, 4, message["type"] == self.phase)
        if self.phase == "between":
            self.fire()
        self._end(to)

    def _pass_bytes(self, source: socket.socket, to: socket.socket) -> None:
        while data := source.recv(65536):
            self._carried += len(data)
            self._pass(to, data, 0, self.phase == "hello" or (
                self.phase == "data" and self._carried > DATA_BYTES))
        self._end(to)

    def _end(self, to: socket.socket) -> None:
        if self._state != "silent":
            to.shutdown(socket.SHUT_WR)
