# SPDX-License-Identifier: MIT
"""Servers that know nothing of uncork: echo, discard and chargen of others, each as a context that
gives its port.

    with foreign_started("socat-cat") as port:
        ...

`foreign_names("echo")` lists those that echo. What is not installed skips the test with that
reason.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from programs import port_free

READY_WITHIN_S = 20
# an EXEC:cat that has lost its client is given as long to send what it still has
SOCAT = ["-d", "-d", "-t", "60"]
LINE = "0123456789" * 7 + "ab"  # what socat's chargen repeats: as long as a line of RFC 864


@dataclass(frozen=True)
class Foreign:
    """How to start one in a folder of its own, and to learn its port: None until it listens."""

    service: str
    program: str
    command: Callable[[Path], list[str]]
    port: Callable[[Path], int | None]


def _program_find(name: str) -> str | None:
    """On PATH, or where daemons are."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")


def _socat(service: str, *far_end: str) -> Foreign:
    """`far_end` is what each connection is joined to, and flags before it. socat writes its port
    into its log."""

    def command(folder: Path) -> list[str]:
        *flags, address = far_end
        listen = "TCP4-LISTEN:0,bind=127.0.0.1,fork,reuseaddr,backlog=512"
        return ["socat", *SOCAT, "-lf", str(folder / "log"), *flags, listen, address]

    def port(folder: Path) -> int | None:
        log = folder / "log"
        found = re.search(r"listening on .*:(\d+)\n", log.read_text()) if log.exists() else None
        return int(found[1]) if found else None

    return Foreign(service, "socat", command, port)


def _xinetd(service: str) -> Foreign:
    """The built-in services of an inetd; xinetd's is the one that gives them on any port. Each of
    its connections is a process."""

    def command(folder: Path) -> list[str]:
        (folder / "port").write_text(f"{port_free()}\n")
        settings = {
            "id": f"{service}-stream",
            "type": "INTERNAL UNLISTED",
            "bind": "127.0.0.1",
            "port": (folder / "port").read_text().strip(),
            "socket_type": "stream",
            "protocol": "tcp",
            "wait": "no",
            "instances": "UNLIMITED",
            "per_source": "UNLIMITED",
            "cps": "100000 1",
        }
        lines = "".join(f"    {key} = {value}\n" for key, value in settings.items())
        (folder / "conf").write_text(f"service {service}\n{{\n{lines}}}\n")
        program = _program_find("xinetd") or "xinetd"
        return [program, "-dontfork", "-f", f"{folder}/conf", "-pidfile", f"{folder}/pid"]

    def port(folder: Path) -> int | None:
        number = int((folder / "port").read_text())
        with socket.socket() as tried:
            return number if tried.connect_ex(("127.0.0.1", number)) == 0 else None

    return Foreign(service, "xinetd", command, port)


SERVERS = {
    "socat-pipe": _socat("echo", "PIPE"),
    "socat-cat": _socat("echo", "EXEC:cat"),
    "socat-null": _socat("discard", "-u", "OPEN:/dev/null"),
    "socat-yes": _socat("chargen", "-U", f"EXEC:yes {LINE}"),
    "xinetd-echo": _xinetd("echo"),
    "xinetd-discard": _xinetd("discard"),
    "xinetd-chargen": _xinetd("chargen"),
}


def foreign_names(service: str) -> list[str]:
    return [name for name, foreign in SERVERS.items() if foreign.service == service]


def _port_await(foreign: Foreign, folder: Path, process: subprocess.Popen[bytes]) -> int:
    for _ in range(READY_WITHIN_S * 100):
        port = foreign.port(folder)
        if port:
            return port
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise AssertionError(
        f"{foreign.program} did not begin to listen: {(folder / 'said').read_text()}")


@contextmanager
def foreign_started(name: str) -> Iterator[int]:
    """The port of 127.0.0.1 on which that server listens; it is ended afterwards, with what it
    started."""
    foreign = SERVERS[name]
    if not _program_find(foreign.program):
        pytest.skip(f"{foreign.program} is not installed")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with (folder / "said").open("wb") as said:
            # a session of its own: its number is that of all processes that serve one connection
            process = subprocess.Popen(foreign.command(folder), stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=said, start_new_session=True)
        try:
            yield _port_await(foreign, folder, process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
