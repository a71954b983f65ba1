# SPDX-License-Identifier: MIT
"""What a lab is. Pure: descriptions and texts; nothing here touches the system.

    A  to-b ───── to-a  B  to-c ───── to-b  C
    198.18.1.1  198.18.1.2 198.18.2.2  198.18.2.3

The client is in A, its server in C, and B forwards; a proxy is in B and listens on A's side. The
addresses are those that RFC 2544 reserves for benchmarks: no network that a machine is part of has
them.
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
LATENCY = "10ms"  # how long a packet may wait for a shaped link before it is dropped
BURST_S = 0.002  # so much of its rate a shaped link sends at once, and
BURST_LEAST_BYTES = 64 * 1024  # never less than the largest segment that TCP hands over
NETEM_PACKETS = 100_000  # under way on a delayed link: more than any rate and delay here have


def rate_bits(text: str) -> int:
    """`2500mbit` in bits per second."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * RATE_UNITS[unit]


def burst_bytes(link: Link) -> int:
    """How much a shaped link sends at once: two packets must always fit."""
    rate = rate_bits(link.rate) // 8
    return max(int(rate * BURST_S), BURST_LEAST_BYTES, 2 * int(link.mtu))


def cable_lines(paths: Mapping[str, str]) -> list[str]:
    """For ip(8), anywhere: both cables, each end in the namespace of its host."""
    return [f"link add name {near.name} netns {paths[near.host]} type veth "
            f"peer name {far.name} netns {paths[far.host]}" for near, far in CABLES]


def host_lines(host: str, link: Link) -> list[str]:
    """For ip(8) inside a host: its devices and the way out."""
    lines = ["link set lo up"]
    for device in DEVICES:
        if device.host == host:
            lines += [f"link set dev {device.name} mtu {link.mtu} up",
                      f"address add {device.address}/{PREFIX_BITS} dev {device.name}"]
    if host in GATEWAYS:
        lines.append(f"route add default via {GATEWAYS[host]}")
    return lines


def netem_line(device: str, link: Link) -> str:
    """For tc(8): delay and loss of what leaves a device."""
    delay = f" delay {link.delay}" if link.delay != UNDELAYED else ""
    loss = f" loss {link.loss}" if link.loss != LOSSLESS else ""
    return f"qdisc add dev {device} root handle 1: netem limit {NETEM_PACKETS}{delay}{loss}"


def shape_line(device: str, link: Link, parent: str = "root") -> str:
    """For tc(8): the rate at which packets leave a device."""
    return (f"qdisc add dev {device} {parent} tbf rate {link.rate} "
            f"burst {burst_bytes(link)} latency {LATENCY}")


def queue_lines(device: str, link: Link) -> list[str]:
    """For tc(8): what a device does with what leaves it; none if nothing is asked for."""
    lines = [netem_line(device, link)] if link.emulated else []
    if link.rate != UNSHAPED:
        parent = "parent 1:1 handle 10:" if link.emulated else "root"
        lines.append(shape_line(device, link, parent))
    return lines


def host_queue_lines(host: str, link: Link) -> list[str]:
    """For tc(8) inside a host: the queues of all its devices."""
    return [line for device in DEVICES if device.host == host
            for line in queue_lines(device.name, link)]


def device_facts(
    addresses: Sequence[Mapping[str, Any]], queues: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """What `ip -json address` and `tc -json qdisc` say of a host's devices: docs/record.md."""
    facts = []
    for device in addresses:
        if device["ifname"] == "lo":
            continue
        inet = [f"{info['local']}/{info['prefixlen']}" for info in device["addr_info"]
                if info["family"] == "inet"]
        facts.append({
            "device": device["ifname"], "address": inet[0] if inet else None,
            "mtu_bytes": device["mtu"],
            "queues": [{key: queue[key] for key in ("kind", "parent", "options") if key in queue}
                       for queue in queues if queue["dev"] == device["ifname"]]})
    return facts
