# SPDX-License-Identifier: MIT
"""A server or a proxy that the runner starts, here or on another machine; it ends with the runner.
"""

from __future__ import annotations

import contextlib
import ipaddress
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from suite.base.client import line_read
from suite.base.errors import Unreachable
from suite.places.ssh.machine import (
    KEY_FILE,
    LineStream,
    LocalMachine,
    child_close,
    first_parsed,
    keyed_words,
    log_complaint,
)

READY_S = 20.0
KEY_BYTES = 32
IDENTITY = "uncork"
ADDRESS_WORDS = {"server": "server", "proxy": "via"}  # the word with the address of each end


def key_line(key: str) -> str:
    """A line of a key file. key: hexadecimal digits."""
    return f"{IDENTITY}:{key}\n"


def key_options(ends: Mapping[str, str]) -> tuple[str, ...]:
    """The client's options for ends with a key. ends: the words with their addresses."""
    return ("--psk", KEY_FILE) if ends else ()


def endpoint(address: str, port: int) -> str:
    """`198.18.0.1:80`, `[::1]:80`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def proxy_options(server: str) -> tuple[str, ...]:
    """The options of a proxy that connects to the address of its server only."""
    return "--proxy", "--allow-sink", f"{server}/{ipaddress.ip_address(server).max_prefixlen}"


def ready_parse(line: bytes) -> int | None:
    """The port of a ready line; None for any other."""
    ready = (line_read(line) or {}).get("ready")
    port = ready.get("port") if isinstance(ready, dict) else None
    return port if type(port) is int else None


@contextlib.contextmanager
def server_started(machine: LocalMachine, program: str, address: str, key: str, log: Path,
                   options: Sequence[str] = ()) -> Iterator[str]:
    """A server that is ready; it ends with the context, and its pipe is its lifeline.

    It yields the endpoint for the words server= and via=. Unreachable where it does not start. log:
    gets its standard error.
    """
    command = machine.command(keyed_words([
        program, "--with-parent", "--listen", endpoint(address, 0), "--psk", KEY_FILE, *options]))
    with open(log, "wb") as file:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=file, process_group=0)
    assert child.stdin
    port = None
    try:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(key_line(key).encode())
            child.stdin.flush()
            port = first_parsed(LineStream(child.stdout).lines(READY_S), ready_parse)
        if port is None:
            child_close(child, 0)
            reason = log_complaint(log).removeprefix("uncork-server: ")
            lost = "" if machine.answers() else f"{machine.name} was lost: "
            raise Unreachable(f"{lost}no server on {machine.name}: "
                              f"{reason or f'it was not ready within {READY_S:.0f} s'}")
        yield endpoint(address, port)
    finally:
        child_close(child)
