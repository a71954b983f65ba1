# SPDX-License-Identifier: MIT
"""One lab: made, proved to carry a packet, read back, closed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from suite.base.errors import Failure, Unreachable
from suite.base.lab_words import (
    CLIENT_HOST,
    HOSTS,
    ROUTER_HOST,
    SERVER_ADDRESS,
    SERVER_HOST,
    SETTING_WORD,
    Link,
    lab_wanted,
    link_of,
    place_arguments,
    setting_split,
)
from suite.places.lab.namespace import (
    descriptor_path,
    lines_run,
    namespace_inside,
    namespace_make,
    output_read,
    setting_hold,
    setting_write,
)
from suite.places.lab.network import cable_lines, device_facts, host_lines, host_queue_lines

FORWARDING = ("net.ipv4.ip_forward", "1")
CARRIES_S = 45.0  # a packet may take 20 s through links of the longest delay, and some are lost


@dataclass(frozen=True)
class Lab:
    """Three namespaces, by descriptors of this process; `facts` is what was read back."""

    link: Link
    namespaces: dict[str, int]
    facts: dict[str, Any]

    def arguments(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """What the client is told of a cell, for its own processes to be in the lab."""
        return place_arguments(words, lambda host: descriptor_path(self.namespaces[host]))

    @contextlib.contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """The calling thread, and what it starts, is in a host meanwhile."""
        with namespace_inside(self.namespaces[host]):
            yield


def facts_read(namespaces: dict[str, int]) -> dict[str, Any]:
    """Devices, addresses, MTUs and queues of every host, as the system has them."""
    return {host: device_facts(json.loads(output_read(descriptor, "ip", "-json", "address")),
                               json.loads(output_read(descriptor, "tc", "-json", "qdisc")))
            for host, descriptor in namespaces.items()}


def packet_await(namespaces: dict[str, int]) -> None:
    """Waits until a packet has come from A through B to C; Failure where none does."""
    with contextlib.ExitStack() as sockets:
        with namespace_inside(namespaces[SERVER_HOST]):
            server = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with namespace_inside(namespaces[CLIENT_HOST]):
            client = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        server.bind((SERVER_ADDRESS, 0))
        server.settimeout(0.05)
        until = time.monotonic() + CARRIES_S
        while time.monotonic() < until:
            client.sendto(b"?", server.getsockname())
            with contextlib.suppress(TimeoutError):
                server.recv(1)
                return
    raise Failure(f"no packet came from A through B to C within {CARRIES_S:.0f} s")


def network_build(namespaces: dict[str, int], link: Link) -> None:
    """Cables, addresses, ways and queues."""
    paths = {host: descriptor_path(descriptor) for host, descriptor in namespaces.items()}
    lines_run(namespaces[ROUTER_HOST], "ip", cable_lines(paths))
    for host, descriptor in namespaces.items():
        lines_run(descriptor, "ip", host_lines(host, link))
        lines_run(descriptor, "tc", host_queue_lines(host, link))
    setting_write({ROUTER_HOST: namespaces[ROUTER_HOST]}, *FORWARDING)


def namespaces_close(namespaces: dict[str, int]) -> None:
    """Lets go of them: what nobody else holds is gone soon after, with all that is in it."""
    for descriptor in namespaces.values():
        os.close(descriptor)


def lab_make(link: Link) -> Lab:
    """A lab with these links; Failure says what this machine refuses."""
    namespaces: dict[str, int] = {}
    try:
        for host in HOSTS:
            namespaces[host] = namespace_make()
        network_build(namespaces, link)
        packet_await(namespaces)
        return Lab(link, namespaces, facts_read(namespaces))
    except BaseException:
        namespaces_close(namespaces)
        raise


def lab_close(lab: Lab) -> None:
    """Ends a lab of this process."""
    namespaces_close(lab.namespaces)


@dataclass(frozen=True)
class HeldLab:
    """A lab as one run has it; `facts` is what its record says of it, `arguments` the client's."""

    lab: Lab
    facts: dict[str, Any]
    arguments: tuple[str, ...]

    def inside(self) -> AbstractContextManager[None]:
        """Programs that are started meanwhile are on the host of the client."""
        return self.lab.inside(CLIENT_HOST)


class Labs:
    """Labs by their links."""

    def __init__(self) -> None:
        self.made: dict[Link, Lab] = {}

    def of(self, link: Link) -> Lab:
        """The lab with these links."""
        if link not in self.made:
            self.made[link] = lab_make(link)
        return self.made[link]

    @contextlib.contextmanager
    def hold(self, words: Mapping[str, str]) -> Iterator[HeldLab | None]:
        """The lab of a cell, with its sysctl set meanwhile; None where it needs none. Unreachable
        where it cannot be made."""
        if not lab_wanted(words):
            yield None
            return
        with contextlib.ExitStack() as holding:
            try:
                lab, setting = self.of(link_of(words)), setting_split(words[SETTING_WORD])
                held = HeldLab(lab, lab.facts, lab.arguments(words))
                if setting:
                    values = holding.enter_context(setting_hold(lab.namespaces, *setting))
                    held = replace(held, facts=lab.facts |
                                   {SETTING_WORD: {"name": setting[0]} | values})
            except Failure as error:
                raise Unreachable(f"lab: {error}") from None
            yield held

    def close(self) -> None:
        """Ends all of them."""
        for lab in self.made.values():
            lab_close(lab)
        self.made.clear()


@contextlib.contextmanager
def labs_open() -> Iterator[Labs]:
    """Labs for as long as they are needed."""
    labs = Labs()
    try:
        yield labs
    finally:
        labs.close()
