# SPDX-License-Identifier: MIT
"""The words of the cells that are to be run: what decides which checks concern a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suite.base.units import size_parse

TCP_TRANSPORTS = ("tcp", "mptcp")
OWN_SERVER = "own"


@dataclass(frozen=True)
class CellWords:
    """The words of every cell, defaults included; None where no run is planned."""

    cells: tuple[Mapping[str, str], ...] | None = None

    @property
    def unplanned(self) -> bool:
        """Whether no run is planned, so that every check concerns it."""
        return self.cells is None

    def values(self, *keys: str) -> set[str]:
        """All values of these words, those of single ends (`server.rcvbuf`) included."""
        return {value for words in self.cells or () for name, value in words.items()
                if name.split(".")[-1] in keys}

    def has(self, keys: str, *beginnings: str) -> bool:
        """Whether some cell has a value with such a beginning; keys: words, separated by blanks."""
        return any(value.startswith(beginnings) for value in self.values(*keys.split()))

    def largest(self, key: str) -> int:
        """The largest number or size among the values of a word, 0 where there is none."""
        return int(max((size_parse(value) or 0 for value in self.values(key)), default=0))

    def tcp_is_local(self) -> set[bool]:
        """Of the cells that speak TCP: whether they speak to an end of their own on this machine,
        outside a lab. The others cross a device with a queue."""
        return {words.get("lab", "off") == "off" and "peer" not in words
                and words.get("server", OWN_SERVER) == OWN_SERVER
                for words in self.cells or () if words.get("transport") in TCP_TRANSPORTS}
