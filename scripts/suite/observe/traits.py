# SPDX-License-Identifier: MIT
"""The traits of a record: its texts, such as machine, library and cipher. Nearly all runs of a cell
have the same, so columns store each different one once. And the notes on the runs of a cell, which
become footnotes of tables and notes of `show`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from suite.base.units import percent_text, size_text
from suite.result.record import ENDS, Record

AGREED = ("tls_version", "cipher", "key_exchange")  # options on which a handshake agrees
STRANGERS = "unexpected connections reached a data port"
TLS_WORDS = {"cipher": "cipher", "key_exchange": "handshake"}  # option: the word that sets it


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
    records, as `security=ktls`. subjects: the measured servers and their loads. remarks: sentences
    about that in which the run differs from its words."""

    ends: tuple[End, ...] = ()
    congestion: tuple[str, ...] = ()
    threads: bool = False
    agreed: tuple[tuple[str, str, str], ...] = ()
    uncounted: tuple[str, ...] = ()
    subjects: tuple[Program, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def strangers(self) -> bool:
        """Whether other connections than those of the run cost the machine time meanwhile."""
        return STRANGERS in self.remarks


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Each different value once, in order."""
    return tuple(dict.fromkeys(values))


def traits_of(record: Record) -> Traits:
    threads = list(record.threads())
    protected = [(name, end, thread) for name, end, thread in threads
                 if end.get("security", "plain") != "plain"]
    agreed = distinct((name, key, thread["options"][key]) for name, _, thread in protected
                      for key in AGREED if key in thread.get("options", {}))
    found = record.subject
    # a subject is no end of the record, but the runner knows on which host it ran
    role = "proxy" if record.words.get("workload") == "proxy" else "server"
    subject_ends = () if found is None else (End(role, found["host"], "plain", "", None),)
    return Traits(
        ends=tuple(End(name, end.get("host", ""), end.get("security", "plain"),
                       end.get("library", ""),
                       end.get("message_bytes") if end.get("drives") else None)
                   for name in ENDS if (end := record.end(name)) is not None) + subject_ends,
        congestion=distinct(thread["options"]["congestion"] for _, _, thread in threads
                            if thread.get("options", {}).get("congestion")),
        threads=bool(threads),
        agreed=agreed,
        uncounted=distinct(f"security={end['security']}" for _, end, thread in protected
                           if "records_sent" not in thread),
        subjects=tuple(Program(one["name"], re.sub(r"^\S*/", "", one.get("version", "")),
                               one["program"], one.get("sha256", "")[:16])
                       for one in (found, record.load) if one is not None),
        remarks=distinct(differences_of(record, agreed)))


def differences_of(record: Record, agreed: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """In what a run differs from its words: unexpected connections, an incomplete capture, other
    TLS options, buffers of sockets that did not get the size asked for."""
    if any((record.end(name) or {}).get("strangers") for name in ENDS):
        yield STRANGERS
    capture = (record.end("client") or {}).get("capture")
    if capture and capture["dropped"]:
        yield "the capture lost packets and gives no figures"
    if capture and capture["truncated"]:
        yield "there were more packets than a capture stores, so it gives no figures"
    words = record.words
    for end, option, used in agreed:
        word = TLS_WORDS.get(option, "")
        asked = words.get(f"{end}.{word}", words.get(word, used))
        if asked != used != "certificate":  # a subject uses one if it does not know the key
            yield f"{word}={asked} was asked for, {used} was used"
    for name, _, thread in record.threads():
        for word, clamp in thread.get("options", {}).get("clamped", {}).items():
            wanted, given = clamp["asked_bytes"], clamp["given_bytes"]
            limit = (f"the most that sysctl {clamp['sysctl']} allows" if "sysctl" in clamp else
                     f"the {'most' if given < wanted else 'least'} that the system has")
            yield f"{word}={size_text(wanted)}: the {name} got {size_text(given)}, {limit}"


def remarks_of(figures: pd.DataFrame, traits: Mapping[Traits, int]) -> tuple[str, ...]:
    """Notes on the good runs of a cell. figures: their metrics. traits: with the number of runs."""
    counts: Counter[str] = Counter()
    for one, count in traits.items():
        counts.update(dict.fromkeys(one.remarks, count))
    copied, mapped, differing = (figures[name].dropna() for name in (
        "copied_share", "mapped_share", "capture_difference"))
    if differing.any():
        counts[f"capture and TCP_INFO differ by at most {differing.max():.0f} segments"] = int(
            (differing > 0).sum())
    notes = [text if count == len(figures) else f"{text} in {count} of {len(figures)} runs"
             for text, count in counts.items()]
    if len(mapped) and not mapped.any():
        notes.append("no received page could be mapped: all received bytes were copied")
    if (share := copied.median()) > 0:
        local = ", as it does for a receiver on the same machine" if share == 1 else ""
        notes.append(f"the kernel copied {percent_text(share)} of the zero-copy sends{local}")
    return tuple(notes)
