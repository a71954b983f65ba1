# SPDX-License-Identifier: MIT
"""The traits of a record: its texts, such as machine, library and cipher. Nearly all runs of a cell
have the same, so columns store each different one once."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from suite.base.units import size_text
from suite.result.record import ENDS, Record

AGREED = ("tls_version", "cipher", "key_exchange")  # options on which a handshake agrees


class End(NamedTuple):
    """One end: its machine, its security layer and the library of that. message_bytes: the size of
    the messages that it sends as a driver, else None."""

    name: str
    host: str
    security: str
    library: str
    message_bytes: int | None


class Program(NamedTuple):
    """The program of a subject or a load. version: as it prints it. digest: of its file."""

    subject: str
    version: str
    path: str
    digest: str


@dataclass(frozen=True)
class Traits:
    """agreed: (end, option, value) of threads with TLS. uncounted: security layers that count no
    records. clamped: sentences about buffers that did not get the size asked for. subjects: the
    measured servers and their loads. captured, dropped, truncated: of the client's capture.
    strangers: connections without the run's token reached a data port."""

    ends: tuple[End, ...] = ()
    congestion: tuple[str, ...] = ()
    threads: bool = False
    agreed: tuple[tuple[str, str, str], ...] = ()
    uncounted: tuple[str, ...] = ()
    clamped: tuple[str, ...] = ()
    subjects: tuple[Program, ...] = ()
    captured: bool = False
    dropped: bool = False
    truncated: bool = False
    strangers: bool = False


def clamp_text(name: str, word: str, clamp: Mapping[str, Any]) -> str:
    """A sentence about a buffer of one end that did not get the size asked for."""
    asked, given = size_text(clamp["asked_bytes"]), size_text(clamp["given_bytes"])
    limit = "most" if clamp["given_bytes"] < clamp["asked_bytes"] else "least"
    why = (f"the most that sysctl {clamp['sysctl']} allows" if "sysctl" in clamp
           else f"the {limit} that the system has")
    return f"{word}={asked}: the {name} got {given}, {why}"


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Each different value once, in order."""
    return tuple(dict.fromkeys(values))


def traits_of(record: Record) -> Traits:
    threads = list(record.threads())
    options = [(name, thread.get("options", {})) for name, _, thread in threads]
    protected = [(name, end, thread) for name, end, thread in threads
                 if end.get("security", "plain") != "plain"]
    capture = (record.end("client") or {}).get("capture")
    found = record.subject
    # a subject is no end of the record, but the runner knows on which host it ran
    role = "proxy" if record.words.get("workload") == "proxy" else "server"
    subject_ends = () if found is None else (End(role, found["host"], "plain", "", None),)
    return Traits(
        ends=tuple(End(name, end.get("host", ""), end.get("security", "plain"),
                       end.get("library", ""),
                       end.get("message_bytes") if end.get("drives") else None)
                   for name in ENDS if (end := record.end(name)) is not None) + subject_ends,
        congestion=distinct(option["congestion"] for _, option in options
                            if option.get("congestion")),
        threads=bool(threads),
        agreed=distinct((name, key, thread["options"][key]) for name, _, thread in protected
                    for key in AGREED if key in thread.get("options", {})),
        uncounted=distinct(end["security"] for _, end, thread in protected
                           if "records_sent" not in thread),
        clamped=distinct(clamp_text(name, word, clamp) for name, option in options
                         for word, clamp in option.get("clamped", {}).items()),
        subjects=tuple(Program(one["name"], re.sub(r"^\S*/", "", one.get("version", "")),
                               one["program"], one.get("sha256", "")[:16])
                       for one in (found, record.load) if one is not None),
        captured=capture is not None,
        dropped=capture is not None and capture["dropped"] > 0,
        truncated=capture is not None and capture["truncated"],
        strangers=any(end.get("strangers") for name in ENDS if (end := record.end(name))))
