# SPDX-License-Identifier: MIT
"""JSON, read and checked; the shapes of the files of a result (docs/record.md).

A check takes a value. If that is wrong it raises WrongShape, which says where in the document the
value is. A constant is a check composed of others; a check written as a function is called
*_check(). A shape names only the keys that this program reads; a file may have others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from suite.result.record import ENDS, STATUSES

Shape = Callable[[Any], None]
SCHEMA = 1  # of records and of plan.json
LIMIT = 2**64  # no count, size or time is as large; a float holds it
INDEX_MAX = 1_000_000
SHOWN_CHARACTERS = 40  # of a wrong value


class Damaged(Exception):
    """The reason why a line is no record, or a file no part of a result."""


class Newer(Damaged):
    """A newer uncork wrote it."""


class WrongShape(Damaged):
    """A value of the wrong kind. path: its place, to which each enclosing value adds the front."""

    def __init__(self, wrong: str, path: str = "") -> None:
        super().__init__(wrong)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')} {self.args[0]}".lstrip()

    def within(self, place: str) -> WrongShape:
        """The same error, for the object or list that has the value at this place."""
        self.path = place + self.path
        return self


def brief(value: Any) -> str:
    """A wrong value in few printable characters, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def constant_refuse(name: str) -> None:
    """Refuses NaN and Infinity, which are no JSON, but which Python reads."""
    raise Damaged(f"not JSON: {name} is no number")


def json_parse(data: bytes) -> Any:
    """The JSON value in a line or a file; Damaged says where it is no JSON."""
    try:
        return json.loads(data.decode().rstrip("\n"), parse_constant=constant_refuse)
    except UnicodeDecodeError as error:
        raise Damaged(f"not UTF-8 at its byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        place = (f"line {error.lineno}, character {error.colno}" if error.lineno > 1
                 else f"its character {error.pos + 1}")
        raise Damaged(f"not JSON: {error.msg} ({place})") from None
    except ValueError:
        raise Damaged("not JSON: a number of thousands of digits") from None
    except RecursionError:
        raise Damaged("not JSON: nested too deeply") from None


def object_parse(data: bytes, check: Shape) -> dict[str, Any]:
    """The JSON object in a line or a file. Newer if its schema is newer, Damaged if its shape is
    wrong."""
    value = json_parse(data)
    schema = value.get("schema", SCHEMA) if isinstance(value, dict) else SCHEMA
    if type(schema) is not int or schema != SCHEMA:
        error, origin = ((Newer, "of a newer uncork") if type(schema) is int and schema > SCHEMA
                         else (Damaged, "unknown"))
        raise error(f"schema {brief(schema)} is {origin}; this one understands schema {SCHEMA}")
    check(value)
    return value


def value_check(is_right: Callable[[Any], bool], kind: str = "", wrong: str = "") -> Shape:
    """A value that is right, else an error that says `is VALUE, not KIND`, or what is wrong."""
    def check(value: Any) -> None:
        if not is_right(value):
            raise WrongShape(wrong or f"is {brief(value)}, not {kind}")
    return check


# finite; bool is an int in Python, and no number here
NUMBER = value_check(lambda value: type(value) in (int, float) and -LIMIT < value < LIMIT,
                     "a number")
INTEGER = value_check(lambda value: type(value) is int and -LIMIT < value < LIMIT, "a whole number")
INDEX = value_check(lambda value: type(value) is int and 0 <= value <= INDEX_MAX,
                    f"a whole number from 0 to {INDEX_MAX}")
# printable; tabs separate the columns of a sysctl
TEXT = value_check(lambda value: type(value) is str and value.replace("\t", " ").isprintable(),
                   "one line of text")
FLAG = value_check(lambda value: type(value) is bool, "true or false")


def scalar_check(value: Any) -> None:
    if type(value) is not bool:
        (TEXT if type(value) is str else NUMBER)(value)


def one_of(*values: str) -> Shape:
    return value_check(lambda value: value in values, " or ".join(values))


def null_or(inner: Shape) -> Shape:
    return lambda value: None if value is None else inner(value)


def all_of(*checks: Shape) -> Shape:
    def check(value: Any) -> None:
        for inner in checks:
            inner(value)
    return check


def list_of(inner: Shape, length: int | None = None) -> Shape:
    def check(value: Any) -> None:
        if type(value) is not list or length not in (None, len(value)):
            raise WrongShape(f"is {brief(value)}, not a list" + (f" of {length}" if length else ""))
        for place, item in enumerate(value):
            try:
                inner(item)
            except WrongShape as wrong:
                raise wrong.within(f"[{place}]") from None
    return check


def object_of(needed: Mapping[str, Shape], known: Mapping[str, Shape] | None = None,
              others: Shape | None = None) -> Shape:
    """An object that has all needed keys, and may have the known ones. others: the check of values
    of other keys, which are one line of text."""
    checks = {**needed, **(known or {})}

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise WrongShape(f"is {brief(value)}, not an object")
        for key in needed:
            if key not in value:
                raise WrongShape(f"has no {key}")
        for key, item in value.items():
            inner = checks.get(key, others)
            if inner is not None:
                try:
                    if key not in checks:
                        TEXT(key)
                    inner(item)
                except WrongShape as wrong:
                    raise wrong.within(f".{key if key.isprintable() else brief(key)}") from None
    return check


def map_of(inner: Shape) -> Shape:
    return object_of({}, others=inner)


def keys(inner: Shape, *names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, inner)


# ---- records.jsonl ----

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

# ---- hosts.json ----

FINDING_SHAPE = object_of(keys(TEXT, "name", "status", "seen"),
                          keys(TEXT, "effect", "fix", "undo", "remark"))
INSPECTION_SHAPE = object_of({"findings": list_of(FINDING_SHAPE)}, {"unix_ns": INTEGER})
MACHINES_SHAPE = map_of(object_of(
    {}, {**keys(map_of(scalar_check), "mitigations", "sysctl", "versions"),
         "device": object_of({}, {"offloads": map_of(scalar_check)}),
         "doctor": list_of(INSPECTION_SHAPE), "cpus_online": INDEX,
         **keys(TEXT, "system", "kernel", "cpu", "cmdline", "virtualisation")},
    # another fact is a scalar, a list or an object
    others=lambda item: None if type(item) in (dict, list) else scalar_check(item)))

# ---- plan.json ----

CELL_SHAPE = object_of(
    {"cell": TEXT, **keys(map_of(TEXT), "words", "given"), "baseline": FLAG},
    {"unsupported": null_or(TEXT), "planned_s": null_or(NUMBER)})
SESSION_SHAPE = object_of(
    {**keys(TEXT, "session", "boot"), "started_unix_ns": INTEGER, "rounds": list_of(INDEX, 2)},
    {"boots": map_of(TEXT)})
BUILD_SHAPE = object_of(keys(TEXT, "folder", "revision", "digest"), {"uncork": TEXT})
PLAN_SHAPE = all_of(object_of({
    **keys(INTEGER, "schema", "seed"), "rounds": INDEX,
    **keys(TEXT, "name", "uncork", "revision", "build", "boot"),
    "axes": list_of(TEXT), "cells": list_of(CELL_SHAPE), "sessions": list_of(SESSION_SHAPE),
}, {
    **keys(null_or(TEXT), "baseline", "timer", "until", "hosts", "homepage"),
    "builds": map_of(BUILD_SHAPE), "targets": map_of(map_of(TEXT)), "subjects": map_of(TEXT),
    "quick": map_of(object_of(keys(null_or(TEXT), "was", "is"))),
}), value_check(  # plan.json is written when the first session begins
    lambda plan: bool(plan["sessions"]), wrong="has no sessions"))
