# SPDX-License-Identifier: MIT
"""What is to be run, as far as a check cares: the words of all cells, and which runs a check
concerns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.base.units import size_parse

TCP_TRANSPORTS = ("tcp", "mptcp")
OWN_SERVER = "own"


@dataclass(frozen=True)
class Asked:
    """The words of every cell, defaults included; None where nobody said what is to be run."""

    cells: tuple[Mapping[str, str], ...] | None = None

    @property
    def anything(self) -> bool:
        """Whether nobody said what is to be run, so that every check concerns it."""
        return self.cells is None

    def values(self, key: str) -> set[str]:
        """All values of a word, those of single ends included; empty where nothing was said."""
        return {value for words in self.cells or () for name, value in words.items()
                if name.split(".")[-1] == key}

    def has(self, key: str, *beginnings: str) -> bool:
        """Whether some cell has a value that begins so; True where nothing was said."""
        return self.anything or any(value.startswith(beginnings) for value in self.values(key))

    def largest(self, key: str) -> int:
        """The largest number or size among the values of a word, 0 where there is none."""
        return int(max((size_parse(value) or 0 for value in self.values(key)), default=0))


def always(asked: Asked) -> bool:
    """Concerns every run."""
    return True


def is_local(words: Mapping[str, str]) -> bool:
    """Whether a cell speaks to an end of its own on this machine, outside a lab."""
    return (words.get("lab", "off") == "off" and words.get("server", OWN_SERVER) == OWN_SERVER
            and "peer" not in words)


def over_loopback(asked: Asked) -> bool:
    """Some cell speaks TCP to an end of its own on this machine, outside a lab."""
    return asked.anything or any(
        words.get("transport") in TCP_TRANSPORTS and is_local(words) for words in asked.cells or ())


def over_device(asked: Asked) -> bool:
    """Some cell speaks TCP over a device that has a queue: to another machine, or in a lab."""
    return asked.anything or any(
        words.get("transport") in TCP_TRANSPORTS and not is_local(words) for words in asked.cells
        or ())


def by_ring(asked: Asked) -> bool:
    """Some end uses an io_uring."""
    return asked.has("engine",
                     "ring") or any(asked.has(key, "uring")
                                    for key in ("write", "reply_write", "read"))


def by_lending(asked: Asked) -> bool:
    """Some end lends its memory to the kernel."""
    return any(asked.has(key, "zerocopy", "uring-zc") for key in ("write", "reply_write"))


def with_connections(asked: Asked) -> bool:
    """Some cell makes a connection for each request, or holds many."""
    return asked.has("workload", "connect") or asked.largest("connections") >= 1000


def in_realtime(asked: Asked) -> bool:
    """Some end has data threads of a real-time class."""
    return asked.has("sched", "rr", "fifo")


def apart(asked: Asked) -> bool:
    """Some cell wants its ends on CPUs of their own."""
    return asked.has("place", "apart")


def with_buffers(asked: Asked) -> bool:
    """Some end asks for the size of a buffer."""
    return asked.anything or any(value != "default" for key in ("sndbuf", "rcvbuf")
                                 for value in asked.values(key))
