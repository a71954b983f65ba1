# SPDX-License-Identifier: MIT
"""A lab: its hosts, links and words, and the lines of ip(8) and tc(8) that make it. Pure.

    A  to-b ───── to-a  B  to-c ───── to-b  C
    198.18.1.1  198.18.1.2 198.18.2.2  198.18.2.3

The client is in A, its server in C, and B forwards. A proxy is in B and listens on A's side. RFC
2544 reserves these addresses for benchmarks: no other network of a machine has them.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from suite.base.units import value_text

RATE_UNITS = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
UNSET = "none"  # of the word sysctl
PREFIX_BITS = 24
LATENCY = "10ms"  # a packet that waits longer for a shaped link is dropped
BURST_S = 0.002  # a shaped link sends the bytes of so much time at once, but
BURST_LEAST_BYTES = 64 * 1024  # at least this: the largest segment that TCP gives to a device
NETEM_PACKETS = 100_000  # queue of a delayed link: more than any rate and delay here need


class Device(NamedTuple):
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
    """All links of a lab, in each direction: the values of the words link_rate, link_mtu, ..."""

    rate: str = "none"
    mtu: str = "1500"
    delay: str = "0s"
    loss: str = "0%"


PLAIN = Link()
LINK_WORDS = tuple(f"link_{field.name}" for field in dataclasses.fields(Link))
SYSCTL_WORD = "sysctl"
LAB_WORDS = ("lab", *LINK_WORDS, SYSCTL_WORD)


def lab_wanted(words: Mapping[str, str]) -> bool:
    return words.get("lab") == "on"


def link_of(words: Mapping[str, str]) -> Link:
    return Link(*(words[word] for word in LINK_WORDS))


def lab_text(words: Mapping[str, str]) -> str:
    """The lab of a cell as `uncork lab up` takes it."""
    return " ".join(f"{key}={words[key]}" for key in (*LINK_WORDS, SYSCTL_WORD) if key in words)


def namespace_name(host: str) -> str:
    return f"uncork-{host}"


def namespace_file(host: str) -> str:
    """The file of that namespace, which ip(8) makes."""
    return f"/run/netns/{namespace_name(host)}"


def place_arguments(words: Mapping[str, str], file_of: Callable[[str], str]) -> tuple[str, ...]:
    """The client's options for its ends in a lab; file_of: the namespace file of a host."""
    server = ("--server-in", f"{SERVER_ADDRESS}@{file_of(SERVER_HOST)}")
    if words.get("workload") != "proxy":
        return server
    return (*server, "--proxy-in", f"{PROXY_ADDRESS}@{file_of(ROUTER_HOST)}")


def sysctl_split(text: str) -> tuple[str, str] | None:
    """The word sysctl as (name, value), None for `none`. A colon in the value means a blank."""
    if text == UNSET:
        return None
    name, _, value = text.partition(":")
    return name, value.replace(":", " ")


def queue_text(queue: Mapping[str, Any]) -> str:
    """A queue and its options, as tc(8) prints them: `tbf 1 Gbit/s burst=250000`. An option with
    several values (of netem) is written as several options: `delay=0.05 jitter=0`."""
    options: dict[str, Any] = {}
    for key, value in queue.get("options", {}).items():
        options |= value if isinstance(value, dict) else {key: value}
    rate = options.pop("rate", None)  # tc(8) gives it in bytes
    shaped = [value_text(8 * rate, "bit/s")] if isinstance(rate, int) else []
    return " ".join([queue["kind"], *shaped,
                     *(f"{key}={json.dumps(value)}" for key, value in options.items())])


def facts_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(host and device, description) of every device of a lab, and its sysctl."""
    rows = [(f"{host} {device['device']}",
             f"{device['address']}, mtu {device['mtu_bytes']}, "
             f"{'; '.join(map(queue_text, device['queues'])) or 'no queue'}")
            for host in LAB_HOSTS for device in facts.get(host, ())]
    sysctl = facts.get(SYSCTL_WORD)
    if sysctl:
        values = ", ".join(f"{sysctl[host]} in {host}" for host in LAB_HOSTS)
        rows.append((SYSCTL_WORD, f"{sysctl['name']} is {values}"))
    return rows


# ---- hosts, addresses and queues of a lab as lines for ip(8) and tc(8) ----

def rate_bits(text: str) -> int:
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * RATE_UNITS[unit]


def burst_bytes(link: Link) -> int:
    """The bytes that a shaped link sends at once, for tbf: at least two packets."""
    return max(int(rate_bits(link.rate) // 8 * BURST_S), BURST_LEAST_BYTES, 2 * int(link.mtu))


def cable_lines(paths: Mapping[str, str]) -> list[str]:
    """For ip(8): both links, each end in its host. paths: of the namespace files, by host."""
    return [f"link add name {near.name} netns {paths[near.host]} type veth "
            f"peer name {far.name} netns {paths[far.host]}" for near, far in CABLES]


def host_lines(host: str, link: Link) -> list[str]:
    """For ip(8) inside a host: its devices and its default route."""
    lines = ["link set lo up"]
    for device in DEVICES:
        if device.host == host:
            lines += [f"link set dev {device.name} mtu {link.mtu} up",
                      f"address add {device.address}/{PREFIX_BITS} dev {device.name}"]
    if host in GATEWAYS:
        lines.append(f"route add default via {GATEWAYS[host]}")
    return lines


def queue_lines(device: str, link: Link) -> list[str]:
    """For tc(8): netem for delay and loss, tbf for the rate; empty if the link has neither."""
    lines, parent = [], "root"
    delay = f" delay {link.delay}" if link.delay != PLAIN.delay else ""
    loss = f" loss {link.loss}" if link.loss != PLAIN.loss else ""
    if delay or loss:
        lines.append(f"qdisc add dev {device} root handle 1: netem limit {NETEM_PACKETS}"
                     f"{delay}{loss}")
        parent = "parent 1:1 handle 10:"
    if link.rate != PLAIN.rate:
        lines.append(f"qdisc add dev {device} {parent} tbf rate {link.rate} "
                     f"burst {burst_bytes(link)} latency {LATENCY}")
    return lines


def host_queue_lines(host: str, link: Link) -> list[str]:
    """For tc(8) inside a host: the queues of all its devices."""
    return [line for device in DEVICES if device.host == host
            for line in queue_lines(device.name, link)]


def device_facts(addresses: Sequence[Mapping[str, Any]],
                 queues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The devices of a host but its loopback, from `ip -json address` and `tc -json qdisc`."""
    return [{
        "device": device["ifname"],
        "address": next((f"{info['local']}/{info['prefixlen']}" for info in device["addr_info"]
                         if info["family"] == "inet"), None),
        "mtu_bytes": device["mtu"],
        "queues": [{key: queue[key] for key in ("kind", "parent", "options") if key in queue}
                   for queue in queues if queue["dev"] == device["ifname"]],
    } for device in addresses if device["ifname"] != "lo"]
