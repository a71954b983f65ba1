# SPDX-License-Identifier: MIT
"""Programs under uncork-exec, and a client that counts the segments of their replies."""

from __future__ import annotations

import json
import operator
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from programs import BIN, received

EXEC = BIN / "uncork-exec"
TCP_INFO_BYTES, DATA_SEGMENTS_IN = 232, 152  # struct tcp_info of linux/tcp.h (4.6 and newer)
REQUEST = b"q" * 28
# of 1000 replies: on a busy machine TCP merges two sends, or repeats one whose acknowledgement is
# late (tail loss probe)
REPEATED = 5
MERGED = 0.05  # the same, of a mean of some 50 replies
STALL_MS = 35  # less than the wait for a delayed acknowledgement

# Accepts a connection, or two where it has threads or children, and answers each request by pieces.
SENDER = r"""
import json, os, select, socket, sys, threading
o = json.loads(sys.argv[1])
unix = "path" in o
s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
s.bind(o["path"] if unix else ("127.0.0.1", 0))
s.listen()
print(0 if unix else s.getsockname()[1], flush=True)
answer = bytes(range(256)) * 64

def serve(c):
    if o.get("nodelay"):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    poller = None
    if o.get("epoll"):
        c.setblocking(False)
        poller = select.epoll()
        poller.register(c, select.EPOLLIN)
    while True:
        if poller:
            poller.poll()
        got = c.recv(28)
        if not got:
            return
        assert len(got) == 28
        if o.get("cork"):
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for number, size in enumerate(o["pieces"]):
            last = number + 1 == len(o["pieces"])
            flags = socket.MSG_MORE if o.get("more") and not last else 0
            if o.get("write"):
                assert os.write(c.fileno(), answer[:size]) == size
            else:
                assert c.send(answer[:size], flags) == size
        if o.get("cork"):
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

for _ in range(o.get("clients", 1)):
    c, _ = s.accept()
    if o.get("thread"):
        threading.Thread(target=serve, args=(c,)).start()
    elif o.get("fork"):
        if os.fork() == 0:
            serve(c)
            os._exit(0)
        c.close()
    else:
        serve(c)
for _ in range(o.get("clients", 1) if o.get("fork") else 0):
    os.wait()
"""


@dataclass
class Run:
    """A program under uncork-exec, and its report when it has ended."""

    process: subprocess.Popen[str]
    file: Path
    report: dict[str, Any] = field(default_factory=dict)
    stderr: str = ""

    def ended(self, number: int | None = None) -> int:
        """Ends it by a signal, or waits; reads the report. The status of subprocess."""
        if number:
            self.process.send_signal(number)
        _, self.stderr = self.process.communicate(timeout=30)
        self.report = json.loads(self.file.read_text() or "{}")
        return self.process.returncode

    def kind(self) -> dict[str, Any]:
        """The one kind of connection at which it sent anything."""
        (kind,) = [kind for kind in self.report["connections"] if kind["groups"]]
        return kind

    def shape(self) -> tuple[int, list[int]]:
        """Groups and sizes of the most frequent shape."""
        first = self.kind()["shapes"][0]
        return first["groups"], [fragment["bytes"] for fragment in first["fragments"]]


@contextmanager
def under(folder: Path, *command: str, override: str = "none", **options: Any) -> Iterator[Run]:
    """A command under uncork-exec; killed if it is still there."""
    file = folder / "report.json"
    file.touch()
    process = subprocess.Popen([EXEC, f"override={override}", "--json", str(file), "--", *command],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    run = Run(process, file)
    try:
        yield run
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


@dataclass(frozen=True)
class Replies:
    """What a client saw: bytes, data segments of each reply (none without TCP), median and largest
    time in ms."""

    data: bytes = field(repr=False)
    each: tuple[int, ...]
    median_ms: float
    largest_ms: float

    @property
    def segments(self) -> float:
        """Segments for each reply, as a mean."""
        return statistics.fmean(self.each)

    def came_as(self, segments: int) -> bool:
        """Whether a reply was so many segments, but for the few that TCP merges or repeats."""
        return abs(self.segments - segments) <= MERGED

    @property
    def stalled(self) -> bool:
        """Whether most replies waited for a delayed acknowledgement."""
        return self.median_ms > STALL_MS

    def different(self, other: Replies) -> int:
        """The number of replies that came as another number of segments."""
        return sum(map(operator.ne, self.each, other.each))


def segments_in(connection: socket.socket) -> int:
    """Data segments that have arrived."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
    return int(struct.unpack_from("I", info, DATA_SEGMENTS_IN)[0])


def asked(connection: socket.socket, count: int, size: int | Callable[[socket.socket], bytes],
          request: bytes = REQUEST) -> Replies:
    """Sends requests one after the other. size: of a reply, or what reads one."""
    tcp = connection.family != socket.AF_UNIX
    connection.settimeout(20)
    data, times, segments = [], [], [segments_in(connection)] if tcp else []
    for _ in range(count):
        began = time.monotonic()
        connection.sendall(request)
        data.append(size(connection) if callable(size) else received(connection, size))
        times.append((time.monotonic() - began) * 1e3)
        segments += [segments_in(connection)] if tcp else []
    return Replies(b"".join(data), tuple(after - before for before, after in pairwise(segments)),
                   statistics.median(times), max(times))


def connected(port: int, path: str | None = None, within_s: float = 20) -> socket.socket:
    """A connection to a program that is about to listen."""
    until = time.monotonic() + within_s
    while True:
        connection = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        try:
            connection.connect(path or ("127.0.0.1", port))
            break
        except OSError:
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    if not path:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def sender_command(**options: Any) -> tuple[str, ...]:
    return sys.executable, "-c", SENDER, json.dumps(options)


def sent(folder: Path, count: int, override: str = "none", **options: Any) -> tuple[Run, Replies]:
    """Requests to a sender of its own under uncork-exec."""
    with under(folder, *sender_command(**options), override=override) as run:
        assert run.process.stdout
        port = int(run.process.stdout.readline())
        clients = [connected(port, options.get("path")) for _ in range(options.get("clients", 1))]
        replies = [asked(client, count, sum(options["pieces"])) for client in clients]
        for client in clients:
            client.close()
        assert run.ended() == 0, run.stderr
    return run, replies[0]
