# SPDX-License-Identifier: MIT
"""What a lab is made of, as text (base.lab_words draws it). Pure: nothing here touches the system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suite.base.lab_words import (
    CABLES,
    DEVICES,
    GATEWAYS,
    LOSSLESS,
    RATE_UNITS,
    UNDELAYED,
    UNSHAPED,
    Link,
)

PREFIX_BITS = 24
LATENCY = "10ms"  # a packet that waits longer for a shaped link is dropped
BURST_S = 0.002  # a shaped link may send so much of its rate at once, and
BURST_LEAST_BYTES = 64 * 1024  # never less than the largest segment that TCP hands over
NETEM_PACKETS = 100_000  # in flight on a delayed link: more than any rate and delay here need


def rate_bits(text: str) -> int:
    """A rate as tc(8) writes it, `2500mbit`, in bit/s."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * RATE_UNITS[unit]


def burst_bytes(link: Link) -> int:
    """How many bytes a shaped link may send at once: two packets must always fit."""
    return max(int(rate_bits(link.rate) // 8 * BURST_S), BURST_LEAST_BYTES, 2 * int(link.mtu))


def cable_lines(paths: Mapping[str, str]) -> list[str]:
    """For ip(8): both cables, each end in its host. paths: of the namespace files, by host."""
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
    """For tc(8): netem for delay and loss, tbf for the rate; none where the link has neither."""
    lines, parent = [], "root"
    if link.emulated:
        delay = f" delay {link.delay}" if link.delay != UNDELAYED else ""
        loss = f" loss {link.loss}" if link.loss != LOSSLESS else ""
        lines.append(f"qdisc add dev {device} root handle 1: netem limit {NETEM_PACKETS}"
                     f"{delay}{loss}")
        parent = "parent 1:1 handle 10:"
    if link.rate != UNSHAPED:
        lines.append(f"qdisc add dev {device} {parent} tbf rate {link.rate} "
                     f"burst {burst_bytes(link)} latency {LATENCY}")
    return lines


def host_queue_lines(host: str, link: Link) -> list[str]:
    """For tc(8) inside a host: the queues of all its devices."""
    return [line for device in DEVICES if device.host == host
            for line in queue_lines(device.name, link)]


def device_facts(addresses: Sequence[Mapping[str, Any]],
                 queues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The devices of a host but its loopback, as a record has them (docs/record.md). addresses and
    queues: what `ip -json address` and `tc -json qdisc` print."""
    return [{
        "device": device["ifname"],
        "address": next((f"{info['local']}/{info['prefixlen']}" for info in device["addr_info"]
                         if info["family"] == "inet"), None),
        "mtu_bytes": device["mtu"],
        "queues": [{key: queue[key] for key in ("kind", "parent", "options") if key in queue}
                   for queue in queues if queue["dev"] == device["ifname"]],
    } for device in addresses if device["ifname"] != "lo"]
