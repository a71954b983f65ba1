# SPDX-License-Identifier: MIT
"""JSON, read and checked; the shapes of the files of a result (docs/record.md).

A shape says what is wrong with a value, and where in the value: `.threads[0].cpu is null, not an
object`. It names only the keys that this program reads; a file may have others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from suite.result.record import ENDS, STATUSES

Shape = Callable[[Any], str]  # the text is empty for a value that is right
SCHEMA = 1  # of records and of plan.json
LIMIT = 2**64  # no count, size or time is as large; a float holds it
INDEX_MAX = 1_000_000
SHOWN_CHARACTERS = 40  # of a wrong value


class Damaged(Exception):
    """The reason why a line is no record, or a file no part of a result."""


class Newer(Damaged):
    """A newer uncork wrote it."""


def brief(value: Any) -> str:
    """A wrong value in few printable characters, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def constant_refuse(name: str) -> None:
    """Refuses NaN and Infinity, which are no JSON, but which Python reads."""
    raise ValueError(f"{name} is no number")


def json_parse(data: bytes) -> Any:
    """The JSON value in a line or a file; Damaged says where it is no JSON or no UTF-8."""
    try:
        return json.loads(data.decode().rstrip("\n"), parse_constant=constant_refuse)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not JSON: {error}") from None


def object_parse(data: bytes, shape: Shape) -> dict[str, Any]:
    """The JSON object in a line or a file. Newer if its schema is newer, Damaged if its shape is
    wrong."""
    value = json_parse(data)
    schema = value.get("schema", SCHEMA) if isinstance(value, dict) else SCHEMA
    if type(schema) is not int or schema != SCHEMA:
        error, origin = ((Newer, "of a newer uncork") if type(schema) is int and schema > SCHEMA
                         else (Damaged, "unknown"))
        raise error(f"schema {brief(schema)} is {origin}; this one understands schema {SCHEMA}")
    if wrong := shape(value):
        raise Damaged(wrong.lstrip(". "))
    return value


def value_of(is_right: Callable[[Any], bool], kind: str) -> Shape:
    return lambda value: "" if is_right(value) else f" is {brief(value)}, not {kind}"


# finite; bool is an int in Python, and no number here
NUMBER = value_of(lambda value: type(value) in (int, float) and -LIMIT < value < LIMIT, "a number")
INTEGER = value_of(lambda value: type(value) is int and -LIMIT < value < LIMIT, "a whole number")
INDEX = value_of(lambda value: type(value) is int and 0 <= value <= INDEX_MAX,
                 f"a whole number from 0 to {INDEX_MAX}")
# printable; tabs separate the columns of a sysctl
TEXT = value_of(lambda value: type(value) is str and value.replace("\t", " ").isprintable(),
                "one line of text")
FLAG = value_of(lambda value: type(value) is bool, "true or false")


def scalar(value: Any) -> str:
    return "" if type(value) is bool else (TEXT if type(value) is str else NUMBER)(value)


def one_of(*values: str) -> Shape:
    return value_of(lambda value: value in values, " or ".join(values))


def null_or(inner: Shape) -> Shape:
    return lambda value: "" if value is None else inner(value)


def all_of(*shapes: Shape) -> Shape:
    return lambda value: next(filter(None, (inner(value) for inner in shapes)), "")


def list_of(inner: Shape, length: int | None = None) -> Shape:
    def shape(value: Any) -> str:
        if type(value) is not list or length not in (None, len(value)):
            return f" is {brief(value)}, not a list" + (f" of {length}" if length else "")
        return next((f"[{place}]{wrong}" for place, item in enumerate(value)
                     if (wrong := inner(item))), "")
    return shape


def object_of(needed: Mapping[str, Shape], known: Mapping[str, Shape] | None = None,
              others: Shape | None = None) -> Shape:
    """An object that has all needed keys, and may have the known ones. others: the shape of values
    of other keys, which are one line of text."""
    shapes = {**needed, **(known or {})}

    def shape(value: Any) -> str:
        if type(value) is not dict:
            return f" is {brief(value)}, not an object"
        if missing := next((key for key in needed if key not in value), ""):
            return f" has no {missing}"
        for key, item in value.items():
            inner = shapes.get(key, others)
            if inner and (wrong := inner(item) or TEXT(key)):
                return f".{key if key.isprintable() else brief(key)}{wrong}"
        return ""
    return shape


def map_of(inner: Shape) -> Shape:
    return object_of({}, others=inner)


def keys(inner: Shape, *names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, inner)


# ---- records.jsonl ----

def is_rate(value: Any) -> bool:
    """Whether a word is a rate: a number above 0, or `closed`."""
    try:
        return type(value) is str and (value == "closed" or 0 < float(value) < LIMIT)
    except ValueError:
        return False


BIN_SHAPE = value_of(lambda value: type(value) is list and len(value) == 3 and all(
    type(part) is int and 0 <= part < LIMIT for part in value), "[low, width, count]")
HISTOGRAM_SHAPE = object_of({**keys(NUMBER, "count", "minimum", "maximum", "sum"),
                             "unit": one_of("ns"), "bins": list_of(BIN_SHAPE)})
CPU_SHAPE = map_of(NUMBER)
CPUS_SHAPE = object_of({}, {"asked": list_of(INTEGER), "start": NUMBER, "end": NUMBER})
OPTIONS_SHAPE = object_of({}, {"clamped": map_of(object_of(
    keys(NUMBER, "asked_bytes", "given_bytes"), {"sysctl": TEXT}))}, others=scalar)
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
    lambda way: SIZES_SHAPE(way) if way["data_segments"] else "")
CAPTURE_SHAPE = object_of({"device": TEXT, "stored_packets": NUMBER, "dropped": NUMBER,
                           "truncated": FLAG, "sent": WAY_SHAPE, "received": WAY_SHAPE},
                          {"file": TEXT})
END_SHAPE = all_of(object_of({}, {
    **keys(NUMBER, "resident_before_bytes", "resident_bytes", "message_bytes"),
    **keys(TEXT, "host", "engine", "security", "library", "write", "read"),
    **keys(CPU_SHAPE, "process", "machine"), "drives": FLAG, "capture": CAPTURE_SHAPE,
    "threads": list_of(THREAD_SHAPE),
}), lambda end: "" if ("resident_bytes" in end) == ("resident_before_bytes" in end)
   else " has only one of resident_before_bytes and resident_bytes")
SUBJECT_SHAPE = object_of({**keys(TEXT, "name", "host", "program", "version"), "cpu_ns": NUMBER},
                          {**keys(TEXT, "sha256", "user", "package"), "arguments": list_of(TEXT)})
LOAD_SHAPE = object_of(keys(TEXT, "name", "host", "program"),
                       {**keys(TEXT, "version", "sha256"), "requests": NUMBER,
                        "arguments": list_of(TEXT)})
# an option as tc(8) prints it is a scalar; netem's delay and loss are objects
QUEUE_SHAPE = object_of({"kind": TEXT}, {"options": map_of(
    lambda option: (map_of(scalar) if type(option) is dict else scalar)(option))})
DEVICE_SHAPE = object_of({"device": TEXT, "address": TEXT, "mtu_bytes": NUMBER,
                          "queues": list_of(QUEUE_SHAPE)})
RUN_SHAPE = object_of({"cell": TEXT, "label": one_of("A", "A'"), "round": INDEX}, {"session": TEXT})
NAMED_SHAPE = object_of({"run": RUN_SHAPE, "words": map_of(TEXT)})  # with its cell, written twice
RECORD_SHAPE = object_of({"status": one_of(*STATUSES), "run": RUN_SHAPE}, {
    "reason": TEXT,
    "words": object_of({}, {"rate": value_of(is_rate, "a number above 0 or closed")}, TEXT),
    **keys(NUMBER, "started_unix_ns", "wall_ns"),
    **keys(END_SHAPE, *ENDS), "subject": SUBJECT_SHAPE, "load": LOAD_SHAPE,
    "lab": object_of({}, {**keys(list_of(DEVICE_SHAPE), "a", "b", "c"),
                          "sysctl": object_of(keys(scalar, "name", "a", "b", "c"))}),
    "hyperfine": object_of({"version": TEXT}, keys(NUMBER, "wall_ns", "user_ns", "system_ns")),
})

# ---- hosts.json ----

FINDING_SHAPE = object_of(keys(TEXT, "name", "status", "seen"),
                          keys(TEXT, "effect", "fix", "undo", "remark"))
INSPECTION_SHAPE = object_of({"findings": list_of(FINDING_SHAPE)}, {"unix_ns": INTEGER})
MACHINES_SHAPE = map_of(object_of(
    {}, {**keys(map_of(scalar), "mitigations", "sysctl", "versions"),
         "device": object_of({}, {"offloads": map_of(scalar)}),
         "doctor": list_of(INSPECTION_SHAPE), "cpus_online": INDEX,
         **keys(TEXT, "system", "kernel", "cpu", "cmdline", "virtualisation")},
    # another fact is a scalar, a list or an object
    others=lambda item: "" if type(item) in (dict, list) else scalar(item)))

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
}), lambda plan: "" if plan["sessions"] else " has no sessions")  # the first start writes both
