# SPDX-License-Identifier: MIT
"""What a lab is. Pure: descriptions and texts; nothing here touches the system.

    A  to-b ───── to-a  B  to-c ───── to-b  C
    198.18.1.1  198.18.1.2 198.18.2.2  198.18.2.3

The client is in A, its server in C, and B forwards; a proxy is in B and listens on A's side. The
addresses are those that RFC 2544 reserves for benchmarks: no network that a machine is part of has
them.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.reach import reach_options
from suite.units import value_text

PREFIX_BITS = 24
LATENCY = "10ms"  # how long a packet may wait for a shaped link before it is dropped
BURST_S = 0.002  # so much of its rate a shaped link sends at once, and
BURST_LEAST_BYTES = 64 * 1024  # never less than the largest segment that TCP hands over
NETEM_PACKETS = 100_000  # under way on a delayed link: more than any rate and delay here have
RATE_UNITS = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
UNSHAPED = "none"
UNDELAYED = "0s"
LOSSLESS = "0%"
DOWN_COMMAND = "uncork lab down"
PROGRAM = "uncork-client"
UNSET = "none"  # of the word sysctl


@dataclass(frozen=True)
class Device:
    """One end of a cable: the host it is in, its name there, and its address."""

    host: str
    name: str
    address: str


CABLES = (
    (Device("a", "to-b", "198.18.1.1"), Device("b", "to-a", "198.18.1.2")),
    (Device("b", "to-c", "198.18.2.2"), Device("c", "to-b", "198.18.2.3")),
)
DEVICES = tuple(device for cable in CABLES for device in cable)
HOSTS = tuple(dict.fromkeys(device.host for device in DEVICES))
CLIENT_HOST, ROUTER_HOST, SERVER_HOST = HOSTS
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


def words_text(words: Mapping[str, str]) -> str:
    """The lab of a cell as `uncork lab up` takes it."""
    return " ".join(f"{key}={words[key]}" for key in (*LINK_WORDS, SETTING_WORD) if key in words)


def host_name(host: str) -> str:
    """How `ip netns` calls a host of the lab that `uncork lab up` makes."""
    return f"uncork-{host}"


def host_file(host: str) -> str:
    """Where ip(8) keeps that name."""
    return f"/run/netns/{host_name(host)}"


def place_arguments(words: Mapping[str, str], file_of: Callable[[str], str]) -> tuple[str, ...]:
    """The client's options for its own processes to be in a lab; file_of: of a host's namespace."""
    arguments = ("--server-in", f"{SERVER_ADDRESS}@{file_of(SERVER_HOST)}")
    if words.get("workload") == "proxy":
        arguments += ("--proxy-in", f"{PROXY_ADDRESS}@{file_of(ROUTER_HOST)}")
    return arguments


def up_command(given: Mapping[str, str]) -> str:
    """The command that makes the lab of a cell by hand; given are the words of the plan."""
    return " ".join(["uncork lab up", words_text(given)]).rstrip()


def client_command(given: Mapping[str, str], reach: Sequence[str] = (), program: str = PROGRAM) -> str:
    """The command that runs a cell once by hand, in a lab that stands if it needs one."""
    words = [f"{key}={value}" for key, value in given.items()]
    words[:0] = reach_options(reach, words)
    program = shlex.quote(program)
    if not lab_wanted(given):
        return " ".join([program, shlex.join(words)]).rstrip()
    return " ".join(["uncork lab run", program, *place_arguments(given, host_file),
                     shlex.join(words)])


def by_hand_lines(
    cells: Sequence[Mapping[str, str]], command: Callable[[Mapping[str, str]], str] = client_command,
) -> list[str]:
    """The commands that run these cells by hand, those of one lab together."""
    labs: dict[str, list[str]] = {}
    for given in cells:
        up = up_command(given) if lab_wanted(given) else ""
        labs.setdefault(up, []).append(command(given))
    lines = labs.pop("", [])
    for up, commands in labs.items():
        lines += [up, *commands, DOWN_COMMAND]
    return lines


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


def setting_split(text: str) -> tuple[str, str] | None:
    """The word sysctl as (name, value), None where nothing is set; further colons are blanks."""
    if text == UNSET:
        return None
    name, _, value = text.partition(":")
    return name, value.replace(":", " ")


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


def queue_text(queue: Mapping[str, Any]) -> str:
    """A queue and what it was told, as tc(8) read it back: `tbf 1 Gbit/s burst=250000`."""
    told = [f"{key}={json.dumps(value)}" for key, value in queue.get("options", {}).items()
            if key != "rate"]
    rate = queue.get("options", {}).get("rate")  # tc(8) gives it in bytes
    shaped = [value_text(8 * rate, "bit/s")] if isinstance(rate, int) else []
    return " ".join([queue["kind"], *shaped, *told])


def facts_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(where, what) of every device of a lab, and of what was set in it."""
    rows = []
    for host in HOSTS:
        for device in facts.get(host, ()):
            queues = "; ".join(map(queue_text, device["queues"])) or "no queue"
            rows.append((f"{host} {device['device']}",
                         f"{device['address']}, mtu {device['mtu_bytes']}, {queues}"))
    setting = facts.get(SETTING_WORD)
    if setting:
        values = ", ".join(f"{setting[host]} in {host}" for host in HOSTS)
        rows.append((SETTING_WORD, f"{setting['name']} is {values}"))
    return rows
