# SPDX-License-Identifier: MIT
"""Finds out by effect what this machine can do of a lab, in namespaces of its own.

Each function returns the reason in one line where something does not work, and None where it does.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from io import FileIO

from suite.base.errors import Failure
from suite.base.lab_words import (
    LOSSLESS,
    SETTING_WORD,
    UNDELAYED,
    UNSHAPED,
    Link,
    lab_wanted,
    link_of,
    setting_split,
)
from suite.places.lab.lab import lab_make
from suite.places.lab.namespace import (
    Refused,
    lines_run,
    namespace_inside,
    namespace_make,
    udp_socket,
    value_read,
    value_write,
)
from suite.places.lab.network import queue_lines

PACKET = bytes(8000)
PLAIN = Link(rate=UNSHAPED, mtu="1500", delay=UNDELAYED, loss=LOSSLESS)


# By the field of Link: the queue that it needs, the effect where that does not work, the link to
# try, how many packets, seconds to wait for one, and seconds that all must take (inf: one is lost).
PROBES = {
    # 96 KB less the burst of 64 KiB, at 2 MB/s
    "rate": ("tbf", "holds nothing back", replace(PLAIN, rate="16mbit"), 12, 5.0, 0.01),
    "delay": ("netem", "delays nothing", replace(PLAIN, delay="20ms"), 1, 5.0, 0.019),
    "loss": ("netem", "loses nothing", replace(PLAIN, loss="100%"), 1, 0.05, math.inf),
}


def packets_time(namespace: FileIO, packets: int, patience_s: float) -> float:
    """Seconds that packets take over the loopback of a namespace; math.inf where one is lost."""
    with udp_socket(namespace) as receiver, udp_socket(namespace) as sender:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(patience_s)
        began = time.monotonic()
        try:
            for _ in range(packets):
                sender.sendto(PACKET, receiver.getsockname())
            for _ in range(packets):
                receiver.recv(len(PACKET))
        except TimeoutError:
            return math.inf
        return time.monotonic() - began


@functools.cache
def queue_refusal(field: str) -> str | None:
    """Whether the queue works that a field of Link needs (`rate`, `delay`, `loss`)."""
    queue, effect, link, packets, patience_s, least_s = PROBES[field]
    needs = f"link_{field} needs {queue}"
    try:
        with namespace_make() as namespace:
            lines_run(namespace, "ip", ["link set lo up"])
            lines_run(namespace, "tc", queue_lines("lo", link))
            taken_s = packets_time(namespace, packets, patience_s)
    except Refused as error:
        return f"{needs}: {error.reason}"
    works = taken_s >= least_s and (least_s == math.inf or taken_s < math.inf)
    return None if works else f"{needs}, which {effect} here"


@functools.cache
def namespaces_refusal() -> str | None:
    """Whether this process can make and enter network namespaces."""
    try:
        with namespace_make() as namespace, namespace_inside(namespace):
            return None
    except Failure as error:
        return str(error)


@functools.cache
def link_refusal(link: Link) -> str | None:
    """Whether a lab with these links can be made: it is made once."""
    if refusal := namespaces_refusal():
        return refusal
    for field in PROBES:
        if getattr(link, field) != getattr(PLAIN, field) and (refusal := queue_refusal(field)):
            return refusal
    try:
        with lab_make(link):
            return None
    except Failure as error:
        return f"lab=on: {error}"


@functools.cache
def setting_refusal(text: str) -> str | None:
    """Whether a namespace takes a sysctl as its own: the value of the machine must stay."""
    setting = setting_split(text)
    if setting is None:
        return None
    name, value = setting
    try:
        with namespace_make() as namespace:
            with namespace_inside(namespace):
                value_read(name)
            before = value_read(name)
            with namespace_inside(namespace):
                value_write(name, value)
            if value_read(name) == before:
                return None
            value_write(name, before)
    except Failure as error:
        return str(error)
    return f"sysctl {name} is of the whole machine, not of a network namespace"


def lab_refusal(words: Mapping[str, str]) -> str | None:
    """Why a cell with these words cannot run here; None also where it needs no lab."""
    if not lab_wanted(words):
        return None
    return link_refusal(link_of(words)) or setting_refusal(words[SETTING_WORD])
