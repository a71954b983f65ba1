# SPDX-License-Identifier: MIT
"""What a record says in words and not in figures. It is the same for nearly all runs of a cell, so
that columns keep each different one once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from suite.base.units import size_text
from suite.result.record import ENDS, Record

AGREED = ("tls_version", "cipher", "key_exchange")  # options that a handshake ends with


@dataclass(frozen=True)
class End:
    """One end: on which machine, by which engine, and the layer that it sends through.
    message_bytes: of what it drives, None where it does not."""

    name: str
    host: str
    engine: str
    security: str
    library: str
    message_bytes: int | None


@dataclass(frozen=True)
class Traits:
    """agreed: (end, option, value) of encrypted threads; uncounted: layers that told no records;
    clamped: sentences about buffers that are not as asked for; captured, dropped, truncated: of the
    client's packets."""

    ends: tuple[End, ...] = ()
    congestion: tuple[str, ...] = ()
    threads: bool = False
    agreed: tuple[tuple[str, str, str], ...] = ()
    uncounted: tuple[str, ...] = ()
    clamped: tuple[str, ...] = ()
    captured: bool = False
    dropped: bool = False
    truncated: bool = False

    @property
    def protected(self) -> tuple[End, ...]:
        """The ends with a security layer that is not `plain`."""
        return tuple(end for end in self.ends if end.security != "plain")


def clamp_text(name: str, word: str, clamp: Mapping[str, Any]) -> str:
    """One buffer of one end that is not what was asked for."""
    asked, given = size_text(clamp["asked_bytes"]), size_text(clamp["given_bytes"])
    why = (f"the most that sysctl {clamp['sysctl']} allows" if "sysctl" in clamp
           else f"the {'most' if clamp['given_bytes'] < clamp['asked_bytes'] else 'least'} that the system has")
    return f"{word}={asked}: the {name} was given {given}, {why}"


def end_of(name: str, end: Mapping[str, Any]) -> End:
    """What stands about one end."""
    return End(name, end.get("host", ""), end.get("engine", ""), end.get("security", "plain"),
               end.get("library", ""),
               end.get("message_bytes") if end.get("drives") else None)


def once(values: Iterable[Any]) -> tuple[Any, ...]:
    """The different values in the order in which they occur."""
    return tuple(dict.fromkeys(values))


def traits_of(record: Record) -> Traits:
    """The traits of a record that has the right shape."""
    threads = list(record.threads())
    options = [(name, thread.get("options", {})) for name, _, thread in threads]
    protected = [(name, end, thread) for name, end, thread in threads
                 if end.get("security", "plain") != "plain"]
    capture = (record.end("client") or {}).get("capture")
    return Traits(
        ends=tuple(end_of(name, end) for name in ENDS if (end := record.end(name)) is not None),
        congestion=once(option["congestion"] for _, option in options if option.get("congestion")),
        threads=bool(threads),
        agreed=once((name, key, thread["options"][key]) for name, _, thread in protected
                    for key in AGREED if key in thread.get("options", {})),
        uncounted=once(end["security"] for _, end, thread in protected
                       if "records_sent" not in thread),
        clamped=once(clamp_text(name, word, clamp) for name, option in options
                     for word, clamp in option.get("clamped", {}).items()),
        captured=capture is not None,
        dropped=capture is not None and capture["dropped"] > 0,
        truncated=capture is not None and capture["truncated"])


def traits_write(traits: Traits) -> list[Any]:
    """The traits as JSON has them."""
    return list(astuple(traits))


def traits_read(values: list[Any]) -> Traits:
    """What traits_write() gave."""
    ends, congestion, threads, agreed, *rest = values
    uncounted, clamped, *capture = rest
    return Traits(tuple(End(*end) for end in ends), tuple(congestion), threads,
                  tuple((name, key, value) for name, key, value in agreed), tuple(uncounted),
                  tuple(clamped), *capture)
