# SPDX-License-Identifier: MIT
"""Makes a lab, proves that it carries a packet, reads it back and closes it.

Only open files of this process hold the namespaces. So they end with the process, however it ends,
and nothing has to be killed or removed.
"""

import contextlib
import functools
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

from suite.base import lab_words
from suite.base.errors import Failure, Unreachable
from suite.places.lab.namespace import (
    CommandRefused,
    lines_run,
    namespace_enter,
    namespace_inside,
    namespace_make,
    namespace_path,
    output_read,
    sysctl_read,
    sysctl_write,
    udp_socket,
)

PACKET_LIMIT_S = 45.0  # a packet takes up to 20 s through the longest delay, and some are lost


@dataclass(frozen=True)
class Lab:
    """namespaces: by host. facts: as read back. arguments: of a client that uses the lab."""

    namespaces: Mapping[str, FileIO]
    facts: dict[str, Any]
    arguments: tuple[str, ...] = ()

    def inside(self, host: str = lab_words.CLIENT_HOST) -> AbstractContextManager[None]:
        """Puts the calling thread, and what it starts, into a host while the context is open."""
        return namespace_inside(self.namespaces[host])


def facts_read(namespaces: Mapping[str, FileIO]) -> dict[str, Any]:
    return {host: lab_words.device_facts(
        json.loads(output_read(namespace, "ip", "-json", "address")),
        json.loads(output_read(namespace, "tc", "-json", "qdisc")))
        for host, namespace in namespaces.items()}


def sysctl_facts(namespaces: Mapping[str, FileIO], name: str) -> dict[str, str]:
    return {"name": name} | {host: sysctl_read(name, namespace)
                             for host, namespace in namespaces.items()}


def packet_await(namespaces: Mapping[str, FileIO]) -> None:
    """Waits until a packet has arrived from A through B at C; Failure where none does."""
    with udp_socket(namespaces[lab_words.SERVER_HOST]) as server, \
            udp_socket(namespaces[lab_words.CLIENT_HOST]) as client:
        server.bind((lab_words.SERVER_ADDRESS, 0))
        server.settimeout(0.05)
        until = time.monotonic() + PACKET_LIMIT_S
        while time.monotonic() < until:
            client.sendto(b"?", server.getsockname())
            with contextlib.suppress(TimeoutError):
                server.recv(1)
                return
    raise Failure(f"no packet came from A through B to C within {PACKET_LIMIT_S:.0f} s")


@contextlib.contextmanager
def lab_make(link: lab_words.Link) -> Iterator[Lab]:
    """A lab while the context is open. Then the kernel removes namespaces that nothing holds."""
    with contextlib.ExitStack() as held:
        namespaces = {host: held.enter_context(namespace_make()) for host in lab_words.LAB_HOSTS}
        paths = {host: namespace_path(namespace) for host, namespace in namespaces.items()}
        lines_run(namespaces[lab_words.ROUTER_HOST], "ip", lab_words.cable_lines(paths))
        for host, namespace in namespaces.items():
            lines_run(namespace, "ip", lab_words.host_lines(host, link))
            lines_run(namespace, "tc", lab_words.host_queue_lines(host, link))
        sysctl_write("net.ipv4.ip_forward", "1", namespaces[lab_words.ROUTER_HOST])
        packet_await(namespaces)
        yield Lab(namespaces, facts_read(namespaces))


class Labs(contextlib.ExitStack):
    """The labs of one runner: one for each set of links, made when needed. All end with this."""

    def __init__(self) -> None:
        super().__init__()
        self.labs: dict[lab_words.Link, Lab] = {}

    @contextlib.contextmanager
    def hold(self, words: Mapping[str, str]) -> Iterator[Lab | None]:
        """Yields the lab of a cell, with its sysctl set, or None where the cell needs none."""
        if not lab_words.lab_wanted(words):
            yield None
            return
        link = lab_words.link_of(words)
        sysctl = lab_words.sysctl_split(words[lab_words.SYSCTL_WORD])
        with contextlib.ExitStack() as holding:
            try:
                if link not in self.labs:
                    self.labs[link] = self.enter_context(lab_make(link))
                lab = self.labs[link]
                facts = lab.facts
                if sysctl:
                    name, value = sysctl
                    for namespace in lab.namespaces.values():
                        before = sysctl_read(name, namespace)
                        holding.callback(sysctl_write, name, before, namespace)
                        sysctl_write(name, value, namespace)
                    facts = facts | {lab_words.SYSCTL_WORD: sysctl_facts(lab.namespaces, name)}
            except Failure as error:
                raise Unreachable(f"lab: {error}") from None
            yield replace(lab, facts=facts, arguments=lab_words.place_arguments(
                words, lambda host: namespace_path(lab.namespaces[host])))


# ---- what of a lab works here, tried in separate namespaces. Each function returns the reason why
# something does not work, in one line, or None where it works. ----

PACKET = bytes(8000)
# By field of Link: the queue that it needs, the message where that has no effect, the link to try,
# the number of packets, seconds to wait for one, and seconds that all must take (inf: one is lost).
PROBES = {
    # 96 KB less the burst of 64 KiB, at 2 MB/s
    "rate": ("tbf", "holds nothing back", replace(lab_words.PLAIN, rate="16mbit"), 12, 5.0, 0.01),
    "delay": ("netem", "delays nothing", replace(lab_words.PLAIN, delay="20ms"), 1, 5.0, 0.019),
    "loss": ("netem", "loses nothing", replace(lab_words.PLAIN, loss="100%"), 1, 0.05, math.inf),
}


def packets_time(namespace: FileIO, packets: int, patience_s: float) -> float:
    """The seconds that packets take over the loopback of a namespace; math.inf if one is lost."""
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
    """Why the queue for a field of Link (`rate`, `delay`, `loss`) does not work."""
    queue, effect, link, packets, patience_s, least_s = PROBES[field]
    needs = f"link_{field} needs {queue}"
    try:
        with namespace_make() as namespace:
            lines_run(namespace, "ip", ["link set lo up"])
            lines_run(namespace, "tc", lab_words.queue_lines("lo", link))
            taken_s = packets_time(namespace, packets, patience_s)
    except CommandRefused as error:
        return f"{needs}: {error.reason}"
    works = taken_s >= least_s and (least_s == math.inf or taken_s < math.inf)
    return None if works else f"{needs}, which {effect} here"


@functools.cache
def namespaces_refusal() -> str | None:
    try:
        with namespace_make() as namespace, namespace_inside(namespace):
            return None
    except Failure as error:
        return str(error)


@functools.cache
def link_refusal(link: lab_words.Link) -> str | None:
    """Why a lab with these links cannot be made: it is tried once."""
    if refusal := namespaces_refusal():
        return refusal
    for field in PROBES:
        is_plain = getattr(link, field) == getattr(lab_words.PLAIN, field)
        if not is_plain and (refusal := queue_refusal(field)):
            return refusal
    try:
        with lab_make(link):
            return None
    except Failure as error:
        return f"lab=on: {error}"


@functools.cache
def sysctl_refusal(text: str) -> str | None:
    """Why a namespace has no own value of a sysctl: to set it must not change the machine's."""
    sysctl = lab_words.sysctl_split(text)
    if sysctl is None:
        return None
    name, value = sysctl
    try:
        with namespace_make() as namespace:
            before = sysctl_read(name)
            sysctl_read(name, namespace)
            sysctl_write(name, value, namespace)
            if sysctl_read(name) == before:
                return None
            sysctl_write(name, before)
    except Failure as error:
        return str(error)
    return f"sysctl {name} is of the whole machine, not of a network namespace"


def lab_refusal(words: Mapping[str, str]) -> str | None:
    """Why the lab of a cell cannot be had here; None also where the cell needs no lab."""
    if not lab_words.lab_wanted(words):
        return None
    return link_refusal(lab_words.link_of(words)) or sysctl_refusal(words[lab_words.SYSCTL_WORD])


# ---- the named lab, from `uncork lab up` to `uncork lab down`: `ip netns` lists its namespaces. It
# gets the names when it is complete. The alias of the loopback inside marks a namespace as made by
# uncork, so that no file can contradict the kernel. One without that mark belongs to another
# program, and uncork never changes it. ----

MARK = "uncork lab"
NONE = "no lab is up"


@contextlib.contextmanager
def named_lab_open() -> Iterator[tuple[dict[str, FileIO], str]]:
    """Yields (the namespaces with a lab's names, by host; the words of their lab)."""
    with contextlib.ExitStack() as held:
        paths = {host: lab_words.namespace_file(host) for host in lab_words.LAB_HOSTS}
        standing = {host: held.enter_context(FileIO(path)) for host, path in paths.items()
                    if Path(path).exists()}
        texts = [mark_read(host, namespace) for host, namespace in standing.items()]
        yield standing, texts[0] if texts else ""


def mark_read(host: str, namespace: FileIO) -> str:
    """The words of the lab to which a namespace belongs; Failure where it belongs to none."""
    try:
        (loopback,) = json.loads(output_read(namespace, "ip", "-json", "link", "show", "lo"))
        alias = loopback.get("ifalias", "")
    except Failure as error:
        if "Invalid argument" not in str(error):  # a file that no namespace is mounted on
            raise
        alias = ""
    if not alias.startswith(MARK):
        raise Failure(f"{lab_words.namespace_file(host)} is no namespace of a lab: "
                      "uncork did not make it and leaves it alone")
    return alias.removeprefix(MARK).strip()


def names_give(namespaces: Mapping[str, FileIO]) -> None:
    """Gives all namespaces their names; removes the names again where one is taken."""
    with contextlib.ExitStack() as failing:
        for host, namespace in namespaces.items():
            # ip(8) runs inside: it takes this thread's namespace for that of the process
            name = lab_words.namespace_name(host)
            output_read(namespace, "ip", "netns", "attach", name, str(os.getpid()))
            failing.callback(output_read, None, "ip", "netns", "delete", name)
        failing.pop_all()


def lab_up(words: Mapping[str, str]) -> None:
    """Makes the lab of these words and names it; Failure where one is up."""
    with named_lab_open() as (standing, text):
        if standing:
            raise Failure(f"a lab is up already ({text}): uncork lab down ends it")
    with lab_make(lab_words.link_of(words)) as lab:
        sysctl = lab_words.sysctl_split(words[lab_words.SYSCTL_WORD])
        for namespace in lab.namespaces.values():
            if sysctl:
                sysctl_write(*sysctl, namespace)
            lines_run(namespace, "ip", [f'link set lo alias "{MARK} {lab_words.lab_text(words)}"'])
        names_give(lab.namespaces)


def lab_down() -> list[str]:
    """Takes the lab down, if one is up. Returns lines to print."""
    with named_lab_open() as (standing, _):
        left = []
        for host in standing:
            pids = output_read(None, "ip", "netns", "pids", lab_words.namespace_name(host)).split()
            if pids:
                left.append(f"processes still run in {host} and keep it until they end: "
                            f"{' '.join(pids)}")
            output_read(None, "ip", "netns", "delete", lab_words.namespace_name(host))
    return left if standing else [NONE]


def lab_status() -> list[str]:
    """Lines to print about the lab that is up, as read back now."""
    with named_lab_open() as (standing, text):
        if not standing:
            return [NONE]
        facts = facts_read(standing)
        words = dict(word.partition("=")[::2] for word in text.split())
        sysctl = lab_words.sysctl_split(words.get(lab_words.SYSCTL_WORD, "none"))
        if sysctl and len(standing) == len(lab_words.LAB_HOSTS):
            facts[lab_words.SYSCTL_WORD] = sysctl_facts(standing, sysctl[0])
    return [f"lab: {text}",
            *(f"  {where:<8} {what}" for where, what in lab_words.facts_rows(facts)),
            *(f"  {host} is missing: uncork lab down, then up again"
              for host in lab_words.LAB_HOSTS if host not in standing)]


def host_enter(host: str) -> None:
    """Moves the calling thread into a host of the lab that is up; Failure where none is."""
    with named_lab_open() as (standing, _):
        if host not in standing:
            raise Failure(f"{NONE}: uncork lab up makes one")
        namespace_enter(standing[host])
