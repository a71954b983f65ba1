# SPDX-License-Identifier: MIT
"""What this machine can do of a lab, found out by effect in namespaces that nobody else sees.

A refusal is the reason in one line, None where it works.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import time
from collections.abc import Mapping

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
from suite.places.lab.lab import lab_close, lab_make
from suite.places.lab.namespace import (
    Refused,
    lines_run,
    namespace_inside,
    namespace_scratch,
    value_read,
    value_write,
)
from suite.places.lab.network import queue_lines

PACKET = bytes(8000)
PLAIN = Link(rate=UNSHAPED, mtu="1500", delay=UNDELAYED, loss=LOSSLESS)
SHAPED = Link(rate="16mbit", mtu="1500", delay=UNDELAYED, loss=LOSSLESS)
SHAPED_PACKETS, SHAPED_S = 12, 0.01  # 96 KB less the burst of 64 KiB, at 2 MB/s
DELAYED, DELAYED_S = Link(rate=UNSHAPED, mtu="1500", delay="20ms", loss=LOSSLESS), 0.019
LOST, LOST_S = Link(rate=UNSHAPED, mtu="1500", delay=UNDELAYED, loss="100%"), 0.05


def packets_time(descriptor: int, count: int, patience_s: float) -> float | None:
    """How long packets take to themselves over the loopback of a namespace; None if one is lost."""
    with contextlib.ExitStack() as sockets, namespace_inside(descriptor):
        receiver = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sender = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(patience_s)
        began = time.monotonic()
        try:
            for _ in range(count):
                sender.sendto(PACKET, receiver.getsockname())
            for _ in range(count):
                receiver.recv(len(PACKET))
        except TimeoutError:
            return None
        return time.monotonic() - began


def queue_time(link: Link, count: int, patience_s: float) -> float | None:
    """packets_time() over a loopback with the queues of a link."""
    with namespace_scratch() as descriptor:
        lines_run(descriptor, "ip", ["link set lo up"])
        lines_run(descriptor, "tc", queue_lines("lo", link))
        return packets_time(descriptor, count, patience_s)


@functools.cache
def shaping_refusal() -> str | None:
    """Whether tbf holds packets back."""
    try:
        taken = queue_time(SHAPED, SHAPED_PACKETS, 5.0)
    except Refused as error:
        return f"link_rate needs tbf: {error.reason}"
    if taken is None or taken < SHAPED_S:
        return "link_rate needs tbf, which holds nothing back here"
    return None


@functools.cache
def delay_refusal() -> str | None:
    """Whether netem delays packets."""
    try:
        taken = queue_time(DELAYED, 1, 5.0)
    except Refused as error:
        return f"link_delay needs netem: {error.reason}"
    return "link_delay needs netem, which delays nothing here" \
        if taken is None or taken < DELAYED_S else None


@functools.cache
def loss_refusal() -> str | None:
    """Whether netem loses packets."""
    try:
        taken = queue_time(LOST, 1, LOST_S)
    except Refused as error:
        return f"link_loss needs netem: {error.reason}"
    return "link_loss needs netem, which loses nothing here" if taken is not None else None


@functools.cache
def namespaces_refusal() -> str | None:
    """Whether there are namespaces for us."""
    try:
        with namespace_scratch() as descriptor, namespace_inside(descriptor):
            return None
    except Failure as error:
        return str(error)


@functools.cache
def link_refusal(link: Link) -> str | None:
    """Whether a lab with these links can be made: it is made once."""
    asked = [namespaces_refusal]
    asked += [shaping_refusal] if link.rate != UNSHAPED else []
    asked += [delay_refusal] if link.delay != UNDELAYED else []
    asked += [loss_refusal] if link.loss != LOSSLESS else []
    for refusal in asked:
        reason = refusal()
        if reason is not None:
            return reason
    try:
        lab_close(lab_make(link))
    except Failure as error:
        return f"lab=on: {error}"
    return None


@functools.cache
def setting_refusal(text: str) -> str | None:
    """Whether a namespace takes a setting, and it is its own: the machine's must stay."""
    setting = setting_split(text)
    if setting is None:
        return None
    name, value = setting
    try:
        with namespace_scratch() as descriptor:
            with namespace_inside(descriptor):
                value_read(name)
            before = value_read(name)
            with namespace_inside(descriptor):
                value_write(name, value)
            if value_read(name) == before:
                return None
            value_write(name, before)
    except Failure as error:
        return str(error)
    return f"sysctl {name} is of the whole machine, not of a network namespace"


def lab_refusal(words: Mapping[str, str]) -> str | None:
    """Why a cell with these words cannot run here; None where it can, or needs no lab."""
    if not lab_wanted(words):
        return None
    return link_refusal(link_of(words)) or setting_refusal(words[SETTING_WORD])
