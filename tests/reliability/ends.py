# SPDX-License-Identifier: MIT
"""Programs that a measurement of reliability keeps running, and what they use."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from programs import SERVER, client_run

KEY = "alice:" + bytes(range(32)).hex() + "\n"
SHORT = ("message=4", "reply=2", "messages=1")
MIB = 1 << 20


@dataclass(frozen=True)
class Use:
    """What a process has open, and how many bytes of memory are resident."""

    descriptors: int
    threads: int
    resident: int


@dataclass(frozen=True)
class End:
    """A server or a proxy that is ready. `options` are those of a client that may use it."""

    name: str
    process: subprocess.Popen[bytes]
    address: str
    log: Path
    options: tuple[str, ...] = ()

    def use(self) -> Use:
        folder = Path(f"/proc/{self.process.pid}")
        return Use(len(os.listdir(folder / "fd")), len(os.listdir(folder / "task")),
                   int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))

    def strange_lines(self) -> list[str]:
        """Lines of its log that are none of the server: of a library that ends it, for example."""
        return [line for line in self.log.read_text(errors="replace").splitlines()
                if not re.match(r"uncork-server: .", line)]


def keys_write(folder: Path) -> tuple[str, str]:
    """The option for a file with one key."""
    keys = folder / "keys"
    keys.touch(0o600)
    keys.write_text(KEY)
    return "--psk", str(keys)


@contextmanager
def end_started(folder: Path, name: str, *flags: str, listen: str = "127.0.0.1:0",
                options: tuple[str, ...] = ()) -> Iterator[End]:
    """An end that writes its log to a file; killed afterwards if it still runs."""
    log = folder / f"{name}.log"
    with log.open("wb") as to, subprocess.Popen(
            [str(SERVER), "--listen", listen, *flags], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=to) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{name} did not start: {log.read_text()}")
            ready = json.loads(line)["ready"]
            address = f"{ready['address']}:{ready['port']}" if "port" in ready else ready["address"]
            yield End(name, process, address, log, options)
        finally:
            process.kill()


def place_of(server: End, proxy: End | None = None) -> tuple[str, ...]:
    """What a client needs to use these ends."""
    via = (f"via={proxy.address}",) if proxy else ()
    return (*server.options, f"server={server.address}", *via)


def next_session(server: End, proxy: End | None = None) -> tuple[str, float]:
    """What the client of one more session says on standard error (nothing: it was served), and
    after how many seconds it ended."""
    began = time.monotonic()
    words = ("workload=proxy", "bytes=64K") if proxy else SHORT
    done = client_run(*place_of(server, proxy), *words, "warmup=0s", "place=free", within_s=30)
    said = done.stderr.strip() or f"exit status {done.returncode}"
    return said * (done.returncode != 0), time.monotonic() - began
