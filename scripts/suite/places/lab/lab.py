# SPDX-License-Identifier: MIT
"""Makes a lab, proves that it carries a packet, reads it back and closes it.

The namespaces are open files of this process, and nothing else holds them. So they end with it,
however it ends, and there is nothing to kill and nothing to clean up.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from io import FileIO
from typing import Any

from suite.base.errors import Failure, Unreachable
from suite.base.lab_words import (
    CLIENT_HOST,
    LAB_HOSTS,
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
    lines_run,
    namespace_inside,
    namespace_make,
    namespace_path,
    output_read,
    setting_hold,
    udp_socket,
    value_write,
)
from suite.places.lab.network import cable_lines, device_facts, host_lines, host_queue_lines

CARRIES_S = 45.0  # a packet may take 20 s through links of the longest delay, and some are lost


@dataclass(frozen=True)
class Lab:
    """Three namespaces. namespaces: by host; facts: as read back, for a record; arguments: where a
    run holds the lab, the client's options for its ends."""

    namespaces: Mapping[str, FileIO]
    facts: dict[str, Any]
    arguments: tuple[str, ...] = ()

    def inside(self, host: str = CLIENT_HOST) -> AbstractContextManager[None]:
        """The calling thread, and what it starts, is in a host while the context is open."""
        return namespace_inside(self.namespaces[host])


def facts_read(namespaces: Mapping[str, FileIO]) -> dict[str, Any]:
    """Devices, addresses, MTUs and queues of every host, as the kernel reports them."""
    return {host: device_facts(json.loads(output_read(namespace, "ip", "-json", "address")),
                               json.loads(output_read(namespace, "tc", "-json", "qdisc")))
            for host, namespace in namespaces.items()}


def packet_await(namespaces: Mapping[str, FileIO]) -> None:
    """Waits until a packet has come from A through B to C; Failure where none does."""
    with udp_socket(namespaces[SERVER_HOST]) as server, \
            udp_socket(namespaces[CLIENT_HOST]) as client:
        server.bind((SERVER_ADDRESS, 0))
        server.settimeout(0.05)
        until = time.monotonic() + CARRIES_S
        while time.monotonic() < until:
            client.sendto(b"?", server.getsockname())
            with contextlib.suppress(TimeoutError):
                server.recv(1)
                return
    raise Failure(f"no packet came from A through B to C within {CARRIES_S:.0f} s")


@contextlib.contextmanager
def lab_make(link: Link) -> Iterator[Lab]:
    """A lab with these links while the context is open; Failure says what this machine refuses.
    Afterwards the kernel removes the namespaces that no process and no name holds."""
    with contextlib.ExitStack() as held:
        namespaces = {host: held.enter_context(namespace_make()) for host in LAB_HOSTS}
        paths = {host: namespace_path(namespace) for host, namespace in namespaces.items()}
        lines_run(namespaces[ROUTER_HOST], "ip", cable_lines(paths))
        for host, namespace in namespaces.items():
            lines_run(namespace, "ip", host_lines(host, link))
            lines_run(namespace, "tc", host_queue_lines(host, link))
        with namespace_inside(namespaces[ROUTER_HOST]):
            value_write("net.ipv4.ip_forward", "1")
        packet_await(namespaces)
        yield Lab(namespaces, facts_read(namespaces))


class Labs(contextlib.ExitStack):
    """The labs of one runner: one for each set of links, made when needed; all end with this."""

    def __init__(self) -> None:
        super().__init__()
        self.labs: dict[Link, Lab] = {}

    @contextlib.contextmanager
    def hold(self, words: Mapping[str, str]) -> Iterator[Lab | None]:
        """The lab of a cell, with its sysctl set while the context is open. It yields None where
        the cell needs no lab. Unreachable where the lab cannot be made."""
        if not lab_wanted(words):
            yield None
            return
        link, setting = link_of(words), setting_split(words[SETTING_WORD])
        with contextlib.ExitStack() as holding:
            try:
                if link not in self.labs:
                    self.labs[link] = self.enter_context(lab_make(link))
                lab = self.labs[link]
                facts = lab.facts
                if setting:
                    values = holding.enter_context(setting_hold(lab.namespaces, *setting))
                    facts = facts | {SETTING_WORD: {"name": setting[0]} | values}
            except Failure as error:
                raise Unreachable(f"lab: {error}") from None
            yield replace(lab, facts=facts, arguments=place_arguments(
                words, lambda host: namespace_path(lab.namespaces[host])))
