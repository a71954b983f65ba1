# SPDX-License-Identifier: MIT
"""Labs: network namespaces of this machine, joined by links.

    A  to-b ───── to-a  B  to-c ───── to-b  C
    198.18.1.1  198.18.1.2 198.18.2.2  198.18.2.3

The client is in A, its server in C, and B forwards. A proxy is in B and listens on A's side. RFC
2544 reserves these addresses for benchmarks: no other network of a machine has them.

Only open files of this process hold the namespaces. So they end with the process, however it ends,
and nothing has to be killed or removed. unshare(2) and setns(2) move one thread. So a short-lived
thread makes a namespace, and a thread enters one only while it starts a program there.
"""

import contextlib
import ctypes
import errno
import functools
import json
import os
import shlex
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from suite.base import lab_words
from suite.base.client import fault_text
from suite.base.errors import Failure
from suite.base.installation import setup_hint
from suite.base.lab_words import CLIENT_HOST, NAMED, NAMES, ROUTER_HOST, SERVER_HOST, lab_text
from suite.base.process import process_run
from suite.base.words import words_split

CLONE_NEWNET = 0x40000000
OWN_NAMESPACE = "/proc/thread-self/ns/net"
COMMAND_LIMIT_S = 30
PACKET_LIMIT_S = 45.0  # a packet takes up to 20 s through the longest delay, and some are lost

CABLES = ("ip link add name to-b netns {a} type veth peer name to-a netns {b}",
          "ip link add name to-c netns {b} type veth peer name to-b netns {c}")
ADDRESSES = {  # by host and device
    "a": {"to-b": "198.18.1.1"},
    "b": {"to-a": lab_words.PROXY_ADDRESS, "to-c": "198.18.2.2"},
    "c": {"to-b": lab_words.SERVER_ADDRESS}}
GATEWAYS = {"a": "198.18.1.2", "c": "198.18.2.2"}
PREFIX_BITS = 24
LATENCY = "10ms"  # a packet that waits longer for a shaped link is dropped
BURST_S = 0.002  # a shaped link sends the bytes of so much time at once, but
BURST_LEAST_BYTES = 64 * 1024  # at least this: the largest segment that TCP gives to a device
NETEM_PACKETS = 100_000  # queue of a delayed link: more than any rate and delay here need


# ---- namespaces, by the path of a file ----

def kernel_call(name: str, *arguments: int) -> None:
    """Calls a function of the C library that returns 0 or sets errno. Failure says which error."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, name):
        raise Failure("a lab needs network namespaces, which only Linux has")
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        needs = "a lab needs root: " if number == errno.EPERM else ""
        raise Failure(f"{needs}{name}(2): {os.strerror(number)}")


def namespace_make() -> FileIO:
    """A new network namespace, which ends with this file. It has only a loopback, which is down."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(kernel_call, "unshare", CLONE_NEWNET).result()
        return thread.submit(FileIO, OWN_NAMESPACE).result()


def namespace_path(namespace: FileIO) -> str:
    """The path by which this process and others open a namespace that this process holds."""
    return f"/proc/{os.getpid()}/fd/{namespace.fileno()}"


def namespace_enter(path: str) -> None:
    """Moves the calling thread."""
    with FileIO(path) as file:
        kernel_call("setns", file.fileno(), CLONE_NEWNET)


@contextlib.contextmanager
def namespace_inside(path: str | None) -> Iterator[None]:
    """Puts the calling thread, and what it starts, into a namespace while the context is open;
    None: it stays."""
    if path is None:
        yield
        return
    with FileIO(OWN_NAMESPACE) as before:
        namespace_enter(path)
        try:
            yield
        finally:
            kernel_call("setns", before.fileno(), CLONE_NEWNET)


def command_run(line: str, namespace: str | None = None) -> str:
    """What ip(8) or tc(8) prints inside a namespace; Failure with the reason and the command."""
    command = shlex.split(line)
    if shutil.which(command[0]) is None:
        raise Failure(f"{command[0]} is missing (package iproute2): {setup_hint()}")
    with namespace_inside(namespace):
        done = process_run(command, "", COMMAND_LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"{fault_text(done.stderr, done.returncode)} ({line})")
    return done.stdout


# ---- sysctls: below /proc/sys/net a thread sees the values of its own namespace ----

def sysctl_read(name: str, namespace: str | None = None) -> str:
    """The value of a sysctl like `net.ipv4.tcp_sack`, with single blanks; Failure."""
    try:
        with namespace_inside(namespace):
            return " ".join(Path("/proc/sys", *name.split(".")).read_text().split())
    except OSError as error:
        raise Failure(f"sysctl {name} cannot be read in a network namespace: "
                      f"{error.strerror}") from None


def sysctl_write(name: str, value: str, namespace: str) -> None:
    """Sets a sysctl of a namespace; Failure where the kernel refuses the value, changes it, or sets
    that of the machine."""
    path, outside = Path("/proc/sys", *name.split(".")), sysctl_read(name)
    try:
        with namespace_inside(namespace):
            path.write_text(f"{value}\n")
    except OSError as error:
        raise Failure(f"sysctl {name} does not take {value} in a network namespace: "
                      f"{error.strerror}") from None
    if sysctl_read(name) != outside:
        path.write_text(f"{outside}\n")
        raise Failure(f"sysctl {name} is of the whole machine, not of a network namespace")
    if (found := sysctl_read(name, namespace)) != value:
        raise Failure(f"sysctl {name} was set to {value} and is {found}")


# ---- a lab of words ----

@dataclass(frozen=True)
class Lab:
    """namespaces: paths, by host. facts: as read back. held: the files that keep it."""

    namespaces: Mapping[str, str]
    facts: dict[str, Any]
    held: contextlib.ExitStack


def burst_bytes(rate: str, mtu: str) -> int:
    """The bytes that a shaped link sends at once, for tbf: at least two packets."""
    unit = rate.lstrip("0123456789")
    bits = int(rate.removesuffix(unit)) * lab_words.RATE_UNITS[unit]
    return max(int(bits // 8 * BURST_S), BURST_LEAST_BYTES, 2 * int(mtu))


def queue_lines(device: str, words: Mapping[str, str]) -> list[str]:
    """For tc(8): netem for delay and loss, tbf for the rate; empty if the link has neither."""
    lines, parent = [], "root"
    delay = f" delay {words['link_delay']}" if words["link_delay"] != "0s" else ""
    loss = f" loss {words['link_loss']}" if words["link_loss"] != "0%" else ""
    if delay or loss:
        lines.append(f"tc qdisc add dev {device} root handle 1: netem limit {NETEM_PACKETS}"
                     f"{delay}{loss}")
        parent = "parent 1:1 handle 10:"
    if (rate := words["link_rate"]) != "none":
        lines.append(f"tc qdisc add dev {device} {parent} tbf rate {rate} "
                     f"burst {burst_bytes(rate, words['link_mtu'])} latency {LATENCY}")
    return lines


def host_lines(host: str, words: Mapping[str, str]) -> list[str]:
    """The commands inside a host: its devices with their queues, and its default route."""
    lines = ["ip link set lo up"]
    for device, address in ADDRESSES[host].items():
        lines += [f"ip link set dev {device} mtu {words['link_mtu']} up",
                  f"ip address add {address}/{PREFIX_BITS} dev {device}",
                  *queue_lines(device, words)]
    if host in GATEWAYS:
        lines.append(f"ip route add default via {GATEWAYS[host]}")
    return lines


def udp_socket(namespace: str) -> socket.socket:
    """A UDP socket of a namespace. A thread outside can use it."""
    with namespace_inside(namespace):
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def packet_await(namespaces: Mapping[str, str]) -> None:
    """Waits until a packet has arrived from A through B at C; Failure where none does."""
    with udp_socket(namespaces[SERVER_HOST]) as server, \
            udp_socket(namespaces[CLIENT_HOST]) as client:
        server.bind((lab_words.SERVER_ADDRESS, 0))
        server.settimeout(0.05)
        until = time.monotonic() + PACKET_LIMIT_S
        while time.monotonic() < until:
            client.sendto(b"?", server.getsockname())
            with contextlib.suppress(TimeoutError):
                server.recv(1)
                return
    raise Failure(f"no packet came from A through B to C within {PACKET_LIMIT_S:.0f} s")


def devices_read(namespace: str) -> list[dict[str, Any]]:
    """The devices of a host but its loopback, with their queues."""
    addresses = json.loads(command_run("ip -json address", namespace))
    queues = json.loads(command_run("tc -json qdisc", namespace))
    return [{
        "device": device["ifname"],
        "address": next((f"{info['local']}/{info['prefixlen']}" for info in device["addr_info"]
                         if info["family"] == "inet"), None),
        "mtu_bytes": device["mtu"],
        "queues": [{key: queue[key] for key in ("kind", "parent", "options") if key in queue}
                   for queue in queues if queue["dev"] == device["ifname"]],
    } for device in addresses if device["ifname"] != "lo"]


def facts_read(namespaces: Mapping[str, str], words: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {host: devices_read(path) for host, path in namespaces.items()}
    name, colon, _ = words.get(lab_words.SYSCTL_WORD, "").partition(":")
    if colon:
        facts[lab_words.SYSCTL_WORD] = {"name": name} | {
            host: sysctl_read(name, path) for host, path in namespaces.items()}
    return facts


def lab_make(text: str) -> Lab:
    """A lab with the links and the sysctl of these words, which has carried a packet. Failure."""
    words = words_split(text.split())
    name, colon, value = words[lab_words.SYSCTL_WORD].partition(":")  # or `none`
    with contextlib.ExitStack() as held:
        namespaces = {host: namespace_path(held.enter_context(namespace_make()))
                      for host in lab_words.LAB_HOSTS}
        for line in CABLES:
            command_run(line.format(**namespaces), namespaces[ROUTER_HOST])
        for host, path in namespaces.items():
            for line in host_lines(host, words):
                command_run(line, path)
        sysctl_write("net.ipv4.ip_forward", "1", namespaces[ROUTER_HOST])
        packet_await(namespaces)
        for path in namespaces.values() if colon else ():
            sysctl_write(name, value.replace(":", " "), path)
        return Lab(namespaces, facts_read(namespaces, words), held.pop_all())


@functools.cache
def lab_try(text: str) -> Lab | str:
    """The lab of these words, which stays until this process ends, or why it cannot be had."""
    try:
        return lab_make(text)
    except (Failure, OSError) as error:
        return f"lab=on: {error}"


def lab_of(words: Mapping[str, str]) -> Lab | str | None:
    """The lab of a cell, or why it cannot be had; None where the cell needs none."""
    return lab_try(lab_text(words)) if lab_words.lab_wanted(words) else None


def lab_refusal(words: Mapping[str, str]) -> str | None:
    lab = lab_of(words)
    return lab if isinstance(lab, str) else None


# ---- the named lab, from `uncork lab up` to `uncork lab down`: `ip netns` lists its namespaces. It
# gets the names when it is complete. The alias of the loopback inside marks a namespace as made by
# uncork, so that no file can contradict the kernel. One without that mark belongs to another
# program, and uncork never changes it. ----

MARK = "uncork lab"
NONE = "no lab is up"


def lab_standing() -> tuple[dict[str, str], str]:
    """(the namespaces with a lab's names, by host; the words of their lab)."""
    standing = {host: path for host, path in NAMED.items() if Path(path).exists()}
    texts = [mark_read(path) for path in standing.values()]
    return standing, texts[0] if texts else ""


def mark_read(path: str) -> str:
    """The words of the lab to which a namespace belongs; Failure where it belongs to none."""
    try:
        (loopback,) = json.loads(command_run("ip -json link show lo", path))
        alias = loopback.get("ifalias", "")
    except Failure as error:
        if "Invalid argument" not in str(error):  # a file that no namespace is mounted on
            raise
        alias = ""
    if not alias.startswith(MARK):
        raise Failure(f"{path} is no namespace of a lab: uncork did not make it and leaves it "
                      "alone")
    return alias.removeprefix(MARK).strip()


def lab_up(words: Mapping[str, str]) -> None:
    """Makes the lab of these words and names it; Failure where one is up."""
    standing, text = lab_standing()
    if standing:
        raise Failure(f"a lab is up already ({text}): uncork lab down ends it")
    lab = lab_make(lab_text(words))
    for path in lab.namespaces.values():
        command_run(f'ip link set lo alias "{MARK} {lab_text(words)}"', path)
    with contextlib.ExitStack() as failing:  # removes the names again where one is taken
        for host, path in lab.namespaces.items():
            # ip(8) runs inside: it takes this thread's namespace for that of the process
            command_run(f"ip netns attach {NAMES[host]} {os.getpid()}", path)
            failing.callback(command_run, f"ip netns delete {NAMES[host]}")
        failing.pop_all()


def lab_down() -> list[str]:
    """Takes the lab down, if one is up. Returns lines to print."""
    standing, _ = lab_standing()
    left = []
    for host in standing:
        if pids := command_run(f"ip netns pids {NAMES[host]}").split():
            left.append(f"processes still run in {host} and keep it until they end: "
                        f"{' '.join(pids)}")
        command_run(f"ip netns delete {NAMES[host]}")
    return left if standing else [NONE]


def lab_status() -> list[str]:
    """Lines to print about the lab that is up, as read back now."""
    standing, text = lab_standing()
    if not standing:
        return [NONE]
    facts = facts_read(standing, words_split(text.split()))
    return [f"lab: {text}",
            *(f"  {where:<8} {what}" for where, what in lab_words.facts_rows(facts)),
            *(f"  {host} is missing: uncork lab down, then up again"
              for host in lab_words.LAB_HOSTS if host not in standing)]


def host_enter(host: str) -> None:
    """Moves the calling thread into a host of the lab that is up; Failure where none is."""
    standing, _ = lab_standing()
    if host not in standing:
        raise Failure(f"{NONE}: uncork lab up makes one")
    namespace_enter(standing[host])
