# SPDX-License-Identifier: MIT
"""A record: what one run leaves (docs/record.md).

A shape says which kind of value a key has. It names only the keys that this program reads; a record
may have others. A record is checked before any formula uses it. The message says where in the
record a wrong value is.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from suite.result.checks import (
    FLAG,
    INDEX,
    INTEGER,
    LIMIT,
    NUMBER,
    TEXT,
    WrongShape,
    all_of,
    brief,
    keys,
    list_of,
    map_of,
    object_of,
    one_of,
    scalar_check,
    value_check,
)


def bins_check(value: Any) -> None:
    """[[low, width, count], ...]; not composed of checks, because a record has hundreds of them."""
    if type(value) is not list:
        raise WrongShape(f"is {brief(value)}, not a list")
    for place, item in enumerate(value):
        if type(item) is not list or len(item) != 3 or any(
                type(part) is not int or not 0 <= part < LIMIT for part in item):
            raise WrongShape("is not [low, width, count]", f"[{place}]")


def is_rate(value: Any) -> bool:
    """Whether a word is a rate: a number above 0, or `closed`."""
    try:
        return type(value) is str and (value == "closed" or 0 < float(value) < LIMIT)
    except ValueError:
        return False


HISTOGRAM_SHAPE = object_of({**keys(NUMBER, "count", "minimum", "maximum", "sum"),
                             "unit": one_of("ns"), "bins": bins_check})
CPU_SHAPE = map_of(NUMBER)
CPUS_SHAPE = object_of({}, {"asked": list_of(INTEGER), "start": NUMBER, "end": NUMBER})
OPTIONS_SHAPE = object_of({}, {"clamped": map_of(object_of(
    keys(NUMBER, "asked_bytes", "given_bytes"), {"sysctl": TEXT}))}, others=scalar_check)
TCP_FIGURE_SHAPE = object_of({}, keys(NUMBER, "sum", "min", "median", "max"))
THREAD_SHAPE = object_of({}, {
    **keys(NUMBER, "connections", "messages_sent", "messages_received", "bytes_received",
           "chunks_sent", "groups_sent", "begun_ns", "ended_ns", "elapsed_ns", "first_bytes",
           "write_calls", "read_calls", "wait_calls", "connect_calls", "would_block", "requests",
           "completions", "lent", "copied", "mapped_bytes", "copied_bytes", "records_sent",
           "records_received", "tls_bytes_sent", "tls_bytes_received", "handshakes", "resumed",
           "due", "late"),
    **keys(HISTOGRAM_SHAPE, "latency", "service", "late_start", "handshake", "handover"),
    "calls": map_of(NUMBER), "cpu": CPU_SHAPE, "tcp_info": map_of(TCP_FIGURE_SHAPE),
    "cpus": CPUS_SHAPE, "options": OPTIONS_SHAPE,
})
SIZES = {"sizes": list_of(list_of(NUMBER, 2)), "first": list_of(NUMBER)}
SIZES_SHAPE = object_of(SIZES)
# a direction with data segments has their sizes
WAY_SHAPE = all_of(object_of(
    keys(NUMBER, "data_segments", "packets", "super_packets", "retransmitted_segments"),
    {**keys(NUMBER, "smallest_bytes", "largest_bytes", "shared_close_notifies"), **SIZES}),
    lambda way: SIZES_SHAPE(way) if way["data_segments"] else None)
CAPTURE_SHAPE = object_of({"device": TEXT, "stored_packets": NUMBER, "dropped": NUMBER,
                           "truncated": FLAG, "sent": WAY_SHAPE, "received": WAY_SHAPE},
                          {"file": TEXT})
END_SHAPE = all_of(object_of({}, {
    **keys(NUMBER, "resident_before_bytes", "resident_bytes", "message_bytes"),
    **keys(TEXT, "host", "engine", "security", "library", "write", "read"),
    **keys(CPU_SHAPE, "process", "machine"), "drives": FLAG, "capture": CAPTURE_SHAPE,
    "threads": list_of(THREAD_SHAPE),
}), value_check(lambda end: ("resident_bytes" in end) == ("resident_before_bytes" in end),
                wrong="has only one of resident_before_bytes and resident_bytes"))
SUBJECT_SHAPE = object_of({**keys(TEXT, "name", "host", "program", "version"), "cpu_ns": NUMBER},
                          {**keys(TEXT, "sha256", "user", "package"), "arguments": list_of(TEXT)})
LOAD_SHAPE = object_of(keys(TEXT, "name", "host", "program"),
                       {**keys(TEXT, "version", "sha256"), "requests": NUMBER,
                        "arguments": list_of(TEXT)})
# an option as tc(8) prints it is a scalar; netem's delay and loss are objects
QUEUE_SHAPE = object_of({"kind": TEXT}, {"options": map_of(
    lambda option: (map_of(scalar_check) if type(option) is dict else scalar_check)(option))})
DEVICE_SHAPE = object_of({"device": TEXT, "address": TEXT, "mtu_bytes": NUMBER,
                          "queues": list_of(QUEUE_SHAPE)})
STATUSES = ("ok", "unsupported", "failed")
WARMUP_ROUND = 0  # runs and is recorded, but is not counted
ENDS = ("client", "server", "proxy")  # that a record may have
RUN_SHAPE = object_of({"cell": TEXT, "label": one_of("A", "A'"), "round": INDEX}, {"session": TEXT})
NAMED_SHAPE = object_of({"run": RUN_SHAPE, "words": map_of(TEXT)})  # with its cell, written twice
RECORD_SHAPE = object_of({"status": one_of(*STATUSES), "run": RUN_SHAPE}, {
    "reason": TEXT,
    "words": object_of({}, {"rate": value_check(is_rate, "a number above 0 or closed")}, TEXT),
    **keys(NUMBER, "started_unix_ns", "wall_ns"),
    **keys(END_SHAPE, *ENDS), "subject": SUBJECT_SHAPE, "load": LOAD_SHAPE,
    "lab": object_of({}, {**keys(list_of(DEVICE_SHAPE), "a", "b", "c"),
                          "sysctl": object_of(keys(scalar_check, "name", "a", "b", "c"))}),
    "hyperfine": object_of({"version": TEXT}, keys(NUMBER, "wall_ns", "user_ns", "system_ns")),
})
JsonObject = dict[str, Any]  # a JSON object
RunKey = tuple[str, int, str, str]  # session, round, cell, label
Outcomes = dict[RunKey, tuple[str, str]]  # of runs: status and reason


def key_of(record: Mapping[str, Any]) -> RunKey:
    """The key of the run that left a record. It is unique in a result."""
    run = record["run"]
    return run.get("session", ""), run["round"], run["cell"], run["label"]


class Record:
    """What one run left. document has RECORD_SHAPE; what it lacks is None or empty here. label: A,
    or A' for the second run of a baseline. round: 0 is the warm-up. hyperfine: its times of whole
    processes. subject: the server that was measured in place of uncork's. load: the client that was
    timed in place of uncork's."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document, run = document, document.get("run", {})
        self.status: str = document.get("status", "")
        self.reason: str = document.get("reason", "")
        self.words: Mapping[str, str] = document.get("words", {})
        self.cell: str = run.get("cell", "")
        self.label: str = run.get("label", "")
        self.round: int = run.get("round", WARMUP_ROUND)
        self.session: str = run.get("session", "")
        self.hyperfine: Mapping[str, Any] | None = document.get("hyperfine")
        self.subject: Mapping[str, Any] | None = document.get("subject")
        self.load: Mapping[str, Any] | None = document.get("load")

    def end(self, name: str) -> Mapping[str, Any] | None:
        """The figures of one of ENDS; None where it took no part."""
        return self.document.get(name)

    def threads(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
        """(name of an end, the end, one of its data threads)."""
        for name in ENDS:
            end = self.end(name) or {}
            yield from ((name, end, thread) for thread in end.get("threads", ()))
