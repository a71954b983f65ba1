# SPDX-License-Identifier: MIT
"""Servers that know nothing of uncork: echo, discard and chargen of socat, each as a context that
gives its port.

    with foreign_started("socat-cat") as port:
        ...

`foreign_names("echo")` lists those that echo. Without socat the test is skipped with that reason.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

READY_WITHIN_S = 20
LINE = "0123456789" * 7 + "ab"  # what its chargen repeats: as long as a line of RFC 864
# the service, flags, and what each connection is joined to
SERVERS = {
    "socat-pipe": ("echo", "PIPE"),
    "socat-cat": ("echo", "EXEC:cat"),
    "socat-null": ("discard", "-u", "OPEN:/dev/null"),
    "socat-yes": ("chargen", "-U", f"EXEC:yes {LINE}"),
}


def foreign_names(service: str) -> list[str]:
    return [name for name, (does, *_) in SERVERS.items() if does == service]


def _port_await(log: Path, process: subprocess.Popen[bytes]) -> int:
    """socat writes its port into its log."""
    said = ""
    for _ in range(READY_WITHIN_S * 100):
        said = log.read_text() if log.exists() else ""
        if found := re.search(r"listening on .*:(\d+)\n", said):
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise AssertionError(f"socat did not begin to listen: {said}")


@contextmanager
def foreign_started(name: str) -> Iterator[int]:
    """The port of 127.0.0.1 on which that server listens; it is ended afterwards, with what it
    started."""
    if not shutil.which("socat"):
        pytest.skip("socat is not installed")
    _, *flags, far_end = SERVERS[name]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        # -t: an EXEC:cat that has lost its client is given as long to send what it still has.
        # A session of its own: its number is that of all processes that serve one connection.
        process = subprocess.Popen(
            ["socat", "-d", "-d", "-t", "60", "-lf", str(log), *flags,
             "TCP4-LISTEN:0,bind=127.0.0.1,fork,reuseaddr,backlog=512", far_end],
            stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield _port_await(log, process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
