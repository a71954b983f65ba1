# SPDX-License-Identifier: MIT
"""A server or a proxy that the runner has started, here or on another machine, and that ends with
it."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.base.client import complaint_text, line_read
from suite.base.errors import Unreachable
from suite.places.ssh.machine import LocalMachine, child_leave, line_await, said_last
from suite.places.ssh.shell import KEY_FILE, keyed_words

READY_S = 20.0
IDENTITY = "uncork"
ADDRESS_WORDS = {"server": "server", "proxy": "via"}  # the words by which a client is told of them


def key_line(key: str) -> str:
    """A key of hexadecimal digits as a file of keys has it."""
    return f"{IDENTITY}:{key}\n"


def endpoint(address: str, port: int) -> str:
    """`198.18.0.1:80`, `[::1]:80`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def serving_ends(words: Mapping[str, str]) -> tuple[str, ...]:
    """The ends that serve a cell of these words, where they are not its client's own."""
    if "peer" in words or words.get("transport") == "null":
        return ()
    return tuple(ADDRESS_WORDS) if words.get("workload") == "proxy" else tuple(ADDRESS_WORDS)[:1]


def prefix_of(address: str) -> str:
    """The addresses that are this one, as --allow-sink takes them."""
    return f"{address}/{ipaddress.ip_address(address).max_prefixlen}"


def ready_parse(line: bytes) -> int | None:
    """The port of a ready line; None for any other."""
    ready = (line_read(line) or {}).get("ready")
    port = ready.get("port") if isinstance(ready, dict) else None
    return port if type(port) is int else None


class Served:
    """One that is ready: its `endpoint` is what the words server= and via= take. Its pipe is its
    lifeline."""

    def __init__(self, machine: LocalMachine, program: str, address: str, key: str, log: Path,
                 options: Sequence[str] = ()) -> None:
        words = [program, "--with-parent", "--listen", endpoint(address, 0), "--psk", KEY_FILE,
                 *options]
        command = machine.command(keyed_words(words))
        with open(log, "wb") as file:
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=file, process_group=0)
        assert self.child.stdin and self.child.stdout
        try:
            self.child.stdin.write(key_line(key).encode())
            self.child.stdin.flush()
            port = line_await(self.child.stdout, ready_parse, READY_S)
        except BrokenPipeError:
            port = None
        except BaseException:
            child_leave(self.child)
            raise
        if port is None:
            child_leave(self.child, 0)
            told = complaint_text(said_last(log)).removeprefix(
                "uncork-server: ") or f"it was not ready within {READY_S:.0f} s"
            lost = "" if machine.answers() else f"{machine.name} was lost: "
            raise Unreachable(f"{lost}no server on {machine.name}: {told}")
        self.endpoint = endpoint(address, port)

    def close(self) -> None:
        """Ends it."""
        child_leave(self.child)
