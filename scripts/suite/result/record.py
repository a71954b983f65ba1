# SPDX-License-Identifier: MIT
"""A record: what one run leaves (docs/record.md). The shape is data: which key has which kind of
value.

Only what this program reads is named; other keys may be there. A value of another kind is found
before any formula meets it, and the message says where in the record it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suite.result.checks import (
    LIMIT,
    Misshapen,
    flag,
    index,
    keys,
    list_of,
    map_of,
    number,
    object_of,
    one_of,
    scalar,
    shown,
    text,
    whole,
)


def bins(value: Any) -> None:
    """[[low, width, count], ...]; written out because a record has hundreds of them."""
    if type(value) is not list:
        raise Misshapen(f"is {shown(value)}, not a list")
    for place, item in enumerate(value):
        if type(item) is not list or len(item) != 3 or any(
                type(part) is not int or not 0 <= part < LIMIT for part in item):
            wrong = Misshapen("is not [low, width, count]")
            wrong.path = f"[{place}]"
            raise wrong


HISTOGRAM = object_of(keys(number, "count", "minimum", "maximum", "sum") |
                      {"unit": one_of("ns"), "bins": bins})
CPU = map_of(number)
CPUS = object_of({}, {"asked": list_of(whole), "start": number, "end": number})
CLAMP = object_of(keys(number, "asked_bytes", "given_bytes"), {"sysctl": text})
TCP_FIGURE = object_of({}, keys(number, "sum", "min", "median", "max"))

THREAD = object_of({}, {
    **keys(number, "connections", "messages_sent", "bytes_sent", "messages_received",
           "bytes_received", "chunks_sent",
           "groups_sent", "begun_ns", "ended_ns", "elapsed_ns", "first_bytes", "write_calls",
           "read_calls",
           "wait_calls", "connect_calls", "would_block", "enters", "requests", "completions",
           "lent", "copied",
           "mapped_bytes", "copied_bytes", "records_sent", "records_received", "tls_bytes_sent",
           "tls_bytes_received", "handshakes", "resumed", "due", "late"),
    **keys(HISTOGRAM, "latency", "service", "late_start", "handshake", "handover"),
    "calls": map_of(number), "cpu": CPU, "tcp_info": map_of(TCP_FIGURE), "cpus": CPUS,
})


def options(value: Any) -> None:
    """The options of a thread: scalars, and which buffers were clamped."""
    map_of(lambda item: None if type(item) is dict else scalar(item))(value)
    object_of({}, {"clamped": map_of(CLAMP)})(value)
    if any(type(item) is dict for key, item in value.items() if key != "clamped"):
        raise Misshapen("has an object that is not clamped")


def thread(value: Any) -> None:
    """One data thread."""
    THREAD(value)
    object_of({}, {"options": options})(value)


SIZES = {"sizes": list_of(list_of(number, 2)), "first": list_of(number)}

CAPTURED_WAY = object_of(
    keys(number, "data_segments", "payload_bytes", "packets", "super_packets",
         "retransmitted_segments",
         "retransmitted_bytes"),
    {**keys(number, "smallest_bytes", "largest_bytes", "shared_close_notifies", "other_sizes"),
     **SIZES})


def captured_way(value: Any) -> None:
    """One way of a capture: where there were segments their sizes are told."""
    CAPTURED_WAY(value)
    object_of(SIZES if value["data_segments"] else {})(value)


CAPTURE = object_of({"device": text, "stored_packets": number, "dropped": number, "truncated": flag,
                     "sent": captured_way, "received": captured_way}, {"file": text})


def resident(value: Any) -> None:
    """That an end which tells what was resident tells it twice."""
    if ("resident_bytes" in value) != ("resident_before_bytes" in value):
        raise Misshapen("has only one of resident_before_bytes and resident_bytes")


END = object_of({}, {
    **keys(number, "resident_before_bytes", "resident_bytes", "message_bytes", "message_fragments",
           "message_groups",
           "strangers", "turned_away"),
    **keys(text, "host", "engine", "security", "library", "write", "read"),
    **keys(CPU, "process", "machine"), "drives": flag, "capture": CAPTURE,
    "threads": list_of(thread),
})


def end(value: Any) -> None:
    """One end."""
    END(value)
    resident(value)


QUEUE = object_of({"kind": text}, {"options": map_of(scalar)})
DEVICE = object_of({"device": text, "address": text, "mtu_bytes": number, "queues": list_of(QUEUE)})
SETTING = object_of(keys(scalar, "name", "a", "b", "c"))


def rate_words(value: Any) -> None:
    """The words of a run; a rate is a number above 0, or closed."""
    map_of(text)(value)
    rate = value.get("rate", "closed")
    try:
        good = rate == "closed" or 0 < float(rate) < LIMIT
    except ValueError:
        good = False
    if not good:
        wrong = Misshapen(f"is {shown(rate)}, not a number above 0 or closed")
        wrong.path = ".rate"
        raise wrong


STATUSES = ("ok", "unsupported", "failed")
RUN = object_of({"cell": text, "label": one_of("A", "A'"), "round": index},
                {"position": index, "session": text})

RECORD = object_of({"status": one_of(*STATUSES), "run": RUN}, {
    "reason": text, "phase": text, "words": rate_words,
    **keys(number, "started_unix_ns", "wall_ns"),
    **keys(end, "client", "server", "proxy"),
    "lab": object_of({}, {**keys(list_of(DEVICE), "a", "b", "c"), "sysctl": SETTING}),
    "hyperfine": object_of({"version": text}, keys(number, "wall_ns", "user_ns", "system_ns")),
})

STORED = object_of({"run": RUN})  # what a record needs for its run to be done
WARMUP_ROUND = 0  # runs and is recorded, but is not counted
ENDS = ("client", "server", "proxy")  # that a record may have
Document = dict[str, Any]  # a JSON object
Key = tuple[str, int, str, str]  # session, round, cell, label


def key_of(record: Mapping[str, Any]) -> Key:
    """What no other record has: the run that left it."""
    run = record["run"]
    return run.get("session", ""), run["round"], run["cell"], run["label"]


@dataclass(frozen=True)
class Record:
    """What one run left: `document` has the shape of RECORD; what it does not say is absent, None
    or empty."""

    document: Mapping[str, Any]

    @property
    def status(self) -> str:
        """One of STATUSES."""
        return self.document["status"]

    @property
    def reason(self) -> str:
        """Why it is not ok."""
        return self.document.get("reason", "")

    @property
    def words(self) -> Mapping[str, str]:
        """All words that the run used."""
        return self.document.get("words", {})

    @property
    def cell(self) -> str:
        """The name of its cell."""
        return self.document["run"]["cell"]

    @property
    def label(self) -> str:
        """A, or A' for the second run of a baseline."""
        return self.document["run"]["label"]

    @property
    def round(self) -> int:
        """The round; 0 warms up."""
        return self.document["run"]["round"]

    @property
    def position(self) -> int | None:
        """Its place in the random order of the round."""
        return self.document["run"].get("position")

    @property
    def session(self) -> str:
        """The name of its session."""
        return self.document["run"].get("session", "")

    @property
    def hyperfine(self) -> Mapping[str, Any] | None:
        """What hyperfine measured of the whole processes; None where it did not time the run."""
        return self.document.get("hyperfine")

    def end(self, name: str) -> Mapping[str, Any] | None:
        """What one of ENDS told; None where it took no part."""
        return self.document.get(name)

    def threads(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
        """(name of an end, the end, one of its data threads)."""
        for name in ENDS:
            end = self.end(name) or {}
            yield from ((name, end, thread) for thread in end.get("threads", ()))
