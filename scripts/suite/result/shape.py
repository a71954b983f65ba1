# SPDX-License-Identifier: MIT
"""The shape of what a result holds (docs/record.md), as data: which key has which kind of value.

Only what somebody here reads is named; other keys may be there. A value of another kind is found before any formula
meets it, and the message says where in the record it stands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], None]
SCHEMA = 1  # of records and of plan.json
LIMIT = 2**64  # no count, size or time is as large; a float holds it
ROUNDS_MOST = 1_000_000
SHOWN = 40  # characters of a wrong value


class Damaged(Exception):
    """What is no record, or no file of a result; says why."""


class Misshapen(Exception):
    """A value of the wrong kind; path grows from the inside out while the exception rises."""

    def __init__(self, wrong: str) -> None:
        super().__init__(wrong)
        self.path = ""

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')} {self.args[0]}".lstrip()


def shown(value: Any) -> str:
    """A wrong value in few characters, all of them printable."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    spelled = json.dumps(value)
    return spelled if len(spelled) <= SHOWN else f"{spelled[:SHOWN]}..."


def constant_refuse(name: str) -> None:
    """NaN and Infinity, which Python's JSON knows and JSON does not."""
    raise Damaged(f"not JSON: {name} is no number")


def number(value: Any) -> None:
    """A finite number; true and false are none."""
    if type(value) not in (int, float) or not -LIMIT < value < LIMIT:
        raise Misshapen(f"is {shown(value)}, not a number")


def index(value: Any) -> None:
    """A whole number that can count runs."""
    if type(value) is not int or not 0 <= value <= ROUNDS_MOST:
        raise Misshapen(f"is {shown(value)}, not a whole number from 0 to {ROUNDS_MOST}")


def whole(value: Any) -> None:
    """A whole number."""
    if type(value) is not int or not -LIMIT < value < LIMIT:
        raise Misshapen(f"is {shown(value)}, not a whole number")


def text(value: Any) -> None:
    """One printable line; the columns of a sysctl stand apart by tabs."""
    if type(value) is not str or not value.replace("\t", " ").isprintable():
        raise Misshapen(f"is {shown(value)}, not one line of text")


def flag(value: Any) -> None:
    """true or false."""
    if type(value) is not bool:
        raise Misshapen(f"is {shown(value)}, not true or false")


def scalar(value: Any) -> None:
    """A number, a text, or true or false."""
    if type(value) is not bool:
        (text if type(value) is str else number)(value)


def one_of(*values: str) -> Check:
    """One of these texts."""
    def check(value: Any) -> None:
        if value not in values:
            raise Misshapen(f"is {shown(value)}, not {' or '.join(values)}")
    return check


def nothing_or(inner: Check) -> Check:
    """The same, or null."""
    return lambda value: None if value is None else inner(value)


def list_of(inner: Check, length: int | None = None) -> Check:
    """A list of such values, of that length if one is given."""
    def check(value: Any) -> None:
        if type(value) is not list or length not in (None, len(value)):
            raise Misshapen(f"is {shown(value)}, not a list" + (f" of {length}" if length else ""))
        for place, item in enumerate(value):
            try:
                inner(item)
            except Misshapen as wrong:
                wrong.path = f"[{place}]{wrong.path}"
                raise
    return check


def object_of(needed: Mapping[str, Check], known: Mapping[str, Check] | None = None) -> Check:
    """An object that has all needed keys, and may have the known ones."""
    checks = {**needed, **(known or {})}

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise Misshapen(f"is {shown(value)}, not an object")
        for key in needed:
            if key not in value:
                raise Misshapen(f"has no {key}")
        for key, item in value.items():
            if key in checks:
                try:
                    checks[key](item)
                except Misshapen as wrong:
                    wrong.path = f".{key}{wrong.path}"
                    raise
    return check


def map_of(inner: Check) -> Check:
    """An object with any keys, each one line of text."""
    def check(value: Any) -> None:
        if type(value) is not dict:
            raise Misshapen(f"is {shown(value)}, not an object")
        for key, item in value.items():
            try:
                text(key)
                inner(item)
            except Misshapen as wrong:
                wrong.path = f".{key if key.isprintable() else shown(key)}{wrong.path}"
                raise
    return check


def keys(inner: Check, *names: str) -> dict[str, Check]:
    """The same check for several keys."""
    return dict.fromkeys(names, inner)


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


HISTOGRAM = object_of(keys(number, "count", "minimum", "maximum", "sum") | {"unit": one_of("ns"), "bins": bins})
CPU = map_of(number)
CPUS = object_of({}, {"asked": list_of(whole), "start": number, "end": number})
CLAMP = object_of(keys(number, "asked_bytes", "given_bytes"), {"sysctl": text})
TCP_FIGURE = object_of({}, keys(number, "sum", "min", "median", "max"))
THREAD = object_of({}, {
    **keys(number, "connections", "messages_sent", "bytes_sent", "messages_received", "bytes_received", "chunks_sent",
           "groups_sent", "begun_ns", "ended_ns", "elapsed_ns", "first_bytes", "write_calls", "read_calls",
           "wait_calls", "connect_calls", "would_block", "enters", "requests", "completions", "lent", "copied",
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
    keys(number, "data_segments", "payload_bytes", "packets", "super_packets", "retransmitted_segments",
         "retransmitted_bytes"),
    {**keys(number, "smallest_bytes", "largest_bytes", "shared_close_notifies", "other_sizes"), **SIZES})


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
    **keys(number, "resident_before_bytes", "resident_bytes", "message_bytes", "message_fragments", "message_groups",
           "strangers", "turned_away"),
    **keys(text, "host", "engine", "security", "library", "write", "read"),
    **keys(CPU, "process", "machine"), "drives": flag, "capture": CAPTURE, "threads": list_of(thread),
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
RUN = object_of({"cell": text, "label": one_of("A", "A'"), "round": index}, {"position": index, "session": text})
RECORD = object_of({"status": one_of(*STATUSES), "run": RUN}, {
    "reason": text, "phase": text, "words": rate_words, **keys(number, "started_unix_ns", "wall_ns"),
    **keys(end, "client", "server", "proxy"),
    "lab": object_of({}, {**keys(list_of(DEVICE), "a", "b", "c"), "sysctl": SETTING}),
    "hyperfine": object_of({"version": text}, keys(number, "wall_ns", "user_ns", "system_ns")),
})
STORED = object_of({"run": RUN})  # what a record needs for its run to be done
CELL = object_of({"cell": text, **keys(map_of(text), "words", "given"), "baseline": flag},
                 {"unsupported": nothing_or(text), "planned_s": nothing_or(number)})
SESSION = object_of({
    **keys(text, "session", "boot"), "started_unix_ns": whole, "rounds": list_of(index, 2),
}, {"boots": map_of(text)})
BUILD = object_of(keys(text, "folder", "revision", "digest"))
PLAN = object_of({
    **keys(whole, "schema", "seed"), "rounds": index,
    **keys(text, "name", "uncork", "revision", "build", "boot"),
    "axes": list_of(text), "cells": list_of(CELL), "sessions": list_of(SESSION),
}, {
    **keys(nothing_or(text), "baseline", "timer", "until", "hosts"),
    "builds": map_of(BUILD), "targets": map_of(map_of(text)),
    "quick": map_of(object_of(keys(nothing_or(text), "was", "is"))),
})


def plan(value: Any) -> None:
    """plan.json, which a session has begun."""
    PLAN(value)
    if not value["sessions"]:
        raise Misshapen("has no sessions")


DEVICE_FACTS = object_of({}, {"offloads": map_of(scalar)})
FINDING = object_of(keys(text, "name", "status", "seen"), keys(text, "effect", "fix", "undo", "remark"))
LOOK = object_of({"findings": list_of(FINDING)}, {"unix_ns": whole})
GROUPS = object_of({}, {**keys(map_of(scalar), "mitigations", "sysctl", "versions"), "device": DEVICE_FACTS,
                        "doctor": list_of(LOOK),
                        **keys(text, "system", "kernel", "cpu", "cmdline", "virtualisation"), "cpus_online": index})


def host(value: Any) -> None:
    """The facts of one machine: what is one value is one line; groups of them are as GROUPS says."""
    map_of(lambda item: None if type(item) in (dict, list) else scalar(item))(value)
    GROUPS(value)


hosts = map_of(host)


def misshapen(check: Check, value: Any) -> str | None:
    """What is wrong with a value, in one line; None where it has the shape."""
    try:
        check(value)
    except Misshapen as wrong:
        return str(wrong)
    return None
