# SPDX-License-Identifier: MIT
"""What a lab is: its hosts, cables and words. Pure: nothing here touches the system.

    A  to-b ───── to-a  B  to-c ───── to-b  C
    198.18.1.1  198.18.1.2 198.18.2.2  198.18.2.3

The client is in A, its server in C, and B forwards; a proxy is in B and listens on A's side. RFC
2544 reserves these addresses for benchmarks: no network that a machine is part of has them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from suite.base.units import value_text

RATE_UNITS = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
UNSHAPED = "none"
UNDELAYED = "0s"
LOSSLESS = "0%"
UNSET = "none"  # of the word sysctl


class Device(NamedTuple):
    """One end of a cable: the host it is in, its name there, and its address."""

    host: str
    name: str
    address: str


CABLES = (
    (Device("a", "to-b", "198.18.1.1"), Device("b", "to-a", "198.18.1.2")),
    (Device("b", "to-c", "198.18.2.2"), Device("c", "to-b", "198.18.2.3")),
)

DEVICES = tuple(device for cable in CABLES for device in cable)
LAB_HOSTS = tuple(dict.fromkeys(device.host for device in DEVICES))
CLIENT_HOST, ROUTER_HOST, SERVER_HOST = LAB_HOSTS
GATEWAYS = {"a": "198.18.1.2", "c": "198.18.2.2"}
SERVER_ADDRESS = "198.18.2.3"
PROXY_ADDRESS = GATEWAYS[CLIENT_HOST]


@dataclass(frozen=True)
class Link:
    """How every link of a lab is, each way: the values of the words link_rate, link_mtu, ..."""

    rate: str
    mtu: str
    delay: str
    loss: str

    @property
    def emulated(self) -> bool:
        """Whether it takes netem."""
        return self.delay != UNDELAYED or self.loss != LOSSLESS


LINK_WORDS = tuple(f"link_{field.name}" for field in dataclasses.fields(Link))
SETTING_WORD = "sysctl"
LAB_WORDS = ("lab", *LINK_WORDS, SETTING_WORD)


def lab_wanted(words: Mapping[str, str]) -> bool:
    """Whether a cell with these words runs in a lab."""
    return words.get("lab") == "on"


def link_of(words: Mapping[str, str]) -> Link:
    """The links that a cell in a lab asks for; words are all that it uses."""
    return Link(*(words[word] for word in LINK_WORDS))


def lab_text(words: Mapping[str, str]) -> str:
    """The lab of a cell as `uncork lab up` takes it."""
    return " ".join(f"{key}={words[key]}" for key in (*LINK_WORDS, SETTING_WORD) if key in words)


def namespace_name(host: str) -> str:
    """How `ip netns` calls a host of the lab that `uncork lab up` makes."""
    return f"uncork-{host}"


def namespace_file(host: str) -> str:
    """Where ip(8) keeps that name."""
    return f"/run/netns/{namespace_name(host)}"


def place_arguments(words: Mapping[str, str], file_of: Callable[[str], str]) -> tuple[str, ...]:
    """The client's options for its ends in a lab; file_of: gives the file of a host's namespace."""
    server = ("--server-in", f"{SERVER_ADDRESS}@{file_of(SERVER_HOST)}")
    if words.get("workload") != "proxy":
        return server
    return (*server, "--proxy-in", f"{PROXY_ADDRESS}@{file_of(ROUTER_HOST)}")


def setting_split(text: str) -> tuple[str, str] | None:
    """The word sysctl as (name, value), None where nothing is set; further colons are blanks."""
    if text == UNSET:
        return None
    name, _, value = text.partition(":")
    return name, value.replace(":", " ")


def queue_text(queue: Mapping[str, Any]) -> str:
    """A queue and its options, as tc(8) prints them: `tbf 1 Gbit/s burst=250000`."""
    options = dict(queue.get("options", {}))
    rate = options.pop("rate", None)  # tc(8) gives it in bytes
    shaped = [value_text(8 * rate, "bit/s")] if isinstance(rate, int) else []
    return " ".join([queue["kind"], *shaped,
                     *(f"{key}={json.dumps(value)}" for key, value in options.items())])


def facts_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(where, what) of every device of a lab, and of what was set in it."""
    rows = [(f"{host} {device['device']}",
             f"{device['address']}, mtu {device['mtu_bytes']}, "
             f"{'; '.join(map(queue_text, device['queues'])) or 'no queue'}")
            for host in LAB_HOSTS for device in facts.get(host, ())]
    setting = facts.get(SETTING_WORD)
    if setting:
        values = ", ".join(f"{setting[host]} in {host}" for host in LAB_HOSTS)
        rows.append((SETTING_WORD, f"{setting['name']} is {values}"))
    return rows
