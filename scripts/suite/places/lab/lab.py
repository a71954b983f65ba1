# SPDX-License-Identifier: MIT
"""Makes a lab, proves that it carries a packet, reads it back and closes it.

The namespaces are open files of this process, and nothing else holds them. So they end with it,
however it ends, and there is nothing to kill and nothing to clean up.
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

from suite.base.errors import Failure, Unreachable
from suite.base.lab_words import (
    CLIENT_HOST,
    LAB_HOSTS,
    PLAIN,
    ROUTER_HOST,
    SERVER_ADDRESS,
    SERVER_HOST,
    SETTING_WORD,
    Link,
    cable_lines,
    device_facts,
    facts_rows,
    host_lines,
    host_queue_lines,
    lab_text,
    lab_wanted,
    link_of,
    namespace_file,
    namespace_name,
    place_arguments,
    queue_lines,
    setting_split,
)
from suite.places.lab.namespace import (
    Refused,
    lines_run,
    namespace_enter,
    namespace_inside,
    namespace_make,
    namespace_path,
    output_read,
    setting_hold,
    setting_read,
    setting_write,
    udp_socket,
    value_read,
    value_write,
)

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


# ---- what this machine can do of a lab, found out by effect in namespaces of its own: the reason
# in one line where something does not work, None where it does ----

PACKET = bytes(8000)
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


# ---- the lab that stands from `uncork lab up` to `uncork lab down`: namespaces with names, as `ip
# netns` lists them. A lab gets its names when it is whole. A mark inside the namespace, the alias
# of its loopback, says that uncork made it; so no file can contradict the kernel. A name without
# that mark belongs to another program, and uncork never touches it. ----

MARK = "uncork lab"
NONE = "no lab stands"


@contextlib.contextmanager
def standing_open() -> Iterator[tuple[dict[str, FileIO], str]]:
    """(the namespaces that have a lab's names, by host, the words of their lab). Failure where one
    of them belongs to another program."""
    with contextlib.ExitStack() as held:
        standing = {host: held.enter_context(FileIO(namespace_file(host))) for host in LAB_HOSTS
                    if Path(namespace_file(host)).exists()}
        texts = [mark_read(host, namespace) for host, namespace in standing.items()]
        yield standing, texts[0] if texts else ""


def mark_read(host: str, namespace: FileIO) -> str:
    """The words of the lab that a namespace belongs to; Failure where it belongs to none."""
    try:
        (loopback,) = json.loads(output_read(namespace, "ip", "-json", "link", "show", "lo"))
        alias = loopback.get("ifalias", "")
    except Failure as error:
        if "Invalid argument" not in str(error):  # a file that no namespace is mounted on
            raise
        alias = ""
    if not alias.startswith(MARK):
        raise Failure(f"{namespace_file(host)} is no namespace of a lab: "
                      "uncork did not make it and leaves it alone")
    return alias.removeprefix(MARK).strip()


def names_give(namespaces: Mapping[str, FileIO]) -> None:
    """Names all namespaces; where a name is taken by then, the others are removed again."""
    with contextlib.ExitStack() as failing:
        for host, namespace in namespaces.items():
            # ip(8) runs inside and takes this thread's namespace for that of the process.
            output_read(namespace, "ip", "netns", "attach", namespace_name(host), str(os.getpid()))
            failing.callback(output_read, None, "ip", "netns", "delete", namespace_name(host))
        failing.pop_all()


def lab_up(words: Mapping[str, str]) -> None:
    """Makes the lab of these words and names it; Failure where one stands."""
    with standing_open() as (standing, text):
        if standing:
            raise Failure(f"a lab stands already ({text}): uncork lab down ends it")
    with lab_make(link_of(words)) as lab:
        if setting := setting_split(words[SETTING_WORD]):
            name, value = setting
            setting_write(lab.namespaces, name, dict.fromkeys(lab.namespaces, value))
        for namespace in lab.namespaces.values():
            lines_run(namespace, "ip", [f'link set lo alias "{MARK} {lab_text(words)}"'])
        names_give(lab.namespaces)


def lab_down() -> list[str]:
    """Takes the lab down, if one stands; gives lines to print."""
    with standing_open() as (standing, _):
        left = []
        for host in standing:
            pids = output_read(None, "ip", "netns", "pids", namespace_name(host)).split()
            if pids:
                left.append(f"processes still run in {host} and keep it until they end: "
                            f"{' '.join(pids)}")
            output_read(None, "ip", "netns", "delete", namespace_name(host))
    return left if standing else [NONE]


def lab_status() -> list[str]:
    """The lab that stands, as read back now: lines to print."""
    with standing_open() as (standing, text):
        if not standing:
            return [NONE]
        facts = facts_read(standing)
        words = dict(word.partition("=")[::2] for word in text.split())
        setting = setting_split(words.get(SETTING_WORD, "none"))
        if setting and len(standing) == len(LAB_HOSTS):
            facts[SETTING_WORD] = {"name": setting[0]} | setting_read(standing, setting[0])
    return [f"lab: {text}",
            *(f"  {where:<8} {what}" for where, what in facts_rows(facts)),
            *(f"  {host} is missing: uncork lab down, then up again"
              for host in LAB_HOSTS if host not in standing)]


def host_enter(host: str) -> None:
    """Moves the calling thread into a host of the lab that stands; Failure where none does."""
    with standing_open() as (standing, _):
        if host not in standing:
            raise Failure(f"{NONE}: uncork lab up makes one")
        namespace_enter(standing[host])
