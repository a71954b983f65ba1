# SPDX-License-Identifier: MIT
"""What no file tells: limits of this process, and questions to the kernel that change nothing.

Sources: io_uring_setup(2), bpf(2), netdevice(7) and linux/ethtool.h, linux/netfilter/nf_tables.h,
getrlimit(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from suite.doctor.finding import Unknown

T = TypeVar("T")
IO_URING_SETUP, BPF = 425, {"x86_64": 321, "aarch64": 280, "riscv64": 280}
PROG_NEXT_ID, PROG_FD, OBJECT_INFO = 11, 13, 15  # commands of bpf(2)
ETHTOOL_IOCTL, MTU_IOCTL = 0x8946, 0x8921
OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}  # ETHTOOL_GTSO, GGSO, GGRO
# nftables: subsystem 10; request and dump
NETFILTER, RULES_GET, RULE_NEW, DUMP = 12, 0x0A07, 0x0A06, 0x301
MESSAGE_ERROR, MESSAGE_DONE = 2, 3
COMMAND_S = 5.0


@dataclass(frozen=True)
class Unread:
    """What could not be found out, and why."""

    reason: str


def known(value: T | Unread) -> T:
    """The value; Unknown with the reason where there is none."""
    if isinstance(value, Unread):
        raise Unknown(value.reason)
    return value


@dataclass(frozen=True)
class Probes:
    """What was asked; the defaults are those of a machine that nothing disturbs.

    A limit of None is unlimited. `ring_refusal` is the kernel's name of the error that a ring is
    refused with, empty where it is not. `programs` are attached or loaded BPF programs, how many by
    type.
    """

    files_limit: int | None = None
    memlock_bytes: int | None = None
    cpus: int = 8
    nice: int = 0
    preload: str = ""
    ring_refusal: str = ""
    processes: frozenset[str] = frozenset()
    offloads: Mapping[str, bool] | Unread = field(default_factory=lambda: dict.fromkeys(OFFLOADS,
        True))
    mtu_bytes: int | Unread = 65536
    queue: str | Unread = "noqueue"
    rules: int | Unread = 0
    programs: Mapping[int, int] | Unread = field(default_factory=dict)


def error_name(number: int) -> str:
    """EPERM and so on."""
    return errno.errorcode.get(number, str(number))


def hard_limit(which: int) -> int | None:
    """The most that this process may have of a resource; None where it is not limited."""
    limit = resource.getrlimit(which)[1]
    return None if limit == resource.RLIM_INFINITY else limit


def ring_refusal() -> str:
    """Asks for a ring without saying where its parameters are: EFAULT or EINVAL come after what
    would refuse it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(IO_URING_SETUP, 1, None)
    number = ctypes.get_errno()
    return "" if number in (errno.EFAULT, errno.EINVAL) else error_name(number)


def processes_read(root: Path) -> frozenset[str]:
    """The names of all processes."""
    names = set()
    for folder in (root / "proc").glob("[0-9]*"):
        try:
            names.add((folder / "comm").read_text(errors="replace").strip())
        except OSError:  # it has ended
            continue
    return frozenset(names)


def loopback_ask(question: int, value: bytes) -> bytes:
    """What the kernel leaves in place of the value of struct ifreq, for lo in this process's
    namespace; OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        return fcntl.ioctl(device, question, struct.pack("16s24s", b"lo", value))[16:]


def offloads_read() -> Mapping[str, bool] | Unread:
    """What `ethtool -k lo` prints of tso, gso and gro."""
    found = {}
    try:
        for name, command in OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            loopback_ask(ETHTOOL_IOCTL, struct.pack("P", ctypes.addressof(value)))
            found[name] = bool(struct.unpack("II", value.raw)[1])
    except OSError as error:
        return Unread(f"SIOCETHTOOL of lo: {error.strerror}")
    return found


def mtu_read() -> int | Unread:
    """The MTU of lo."""
    try:
        return int(struct.unpack_from("i", loopback_ask(MTU_IOCTL, b""))[0])
    except OSError as error:
        return Unread(f"SIOCGIFMTU of lo: {error.strerror}")


def queue_read() -> str | Unread:
    """The root queueing discipline of lo, `noqueue` where packets go at once."""
    try:
        done = subprocess.run(["tc", "-json", "qdisc", "show", "dev", "lo"], capture_output=True,
                              text=True,
                              timeout=COMMAND_S, check=True)
        kinds = [queue["kind"] for queue in json.loads(done.stdout)]
    except FileNotFoundError:
        return Unread("tc is not installed (iproute2)")
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return Unread("tc -json qdisc show dev lo gave no answer")
    return kinds[0] if kinds else "noqueue"


def rules_count(answer: bytes) -> tuple[int, bool]:
    """(rules, whether that was the end) in what the kernel answered; OSError where it is an
    error."""
    rules, offset = 0, 0
    while offset + 16 <= len(answer):
        length, kind = struct.unpack_from("IH", answer, offset)
        if kind == MESSAGE_DONE:
            return rules, True
        if kind == MESSAGE_ERROR:
            number = -struct.unpack_from("i", answer, offset + 16)[0]
            raise OSError(number, os.strerror(number))
        rules += kind == RULE_NEW
        offset += (max(length, 16) + 3) & ~3
    return rules, False


def rules_read(there: bool | None) -> int | Unread:
    """How many rules nftables has in all tables, those of iptables-nft among them; none where it is
    not there."""
    if there is None:
        return Unread(
            "whether nf_tables is built in is not to be known: the kernel's options are not to be read")
    if not there:
        return 0
    request = struct.pack("IHHIIBBH", 20, RULES_GET, DUMP, 1, 0, 0, 0, 0)
    total, ended = 0, False
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as kernel:
            kernel.send(request)
            while not ended:
                rules, ended = rules_count(kernel.recv(1 << 16))
                total += rules
    except OSError as error:
        return Unread(f"rules of nftables: {error.strerror}")
    return total


def program_type(call: Callable[..., int], program: int) -> int | None:
    """The type of a BPF program by its id; None where it has gone meanwhile."""
    opened = ctypes.create_string_buffer(struct.pack("III", program, 0, 0), 128)
    descriptor = call(PROG_FD, opened)
    if descriptor < 0:
        return None
    try:
        info = ctypes.create_string_buffer(256)
        query = ctypes.create_string_buffer(struct.pack("IIQ", descriptor, 256,
                                                        ctypes.addressof(info)), 128)
        return int(struct.unpack_from("I", info.raw)[0]) if call(OBJECT_INFO, query) == 0 else None
    finally:
        os.close(descriptor)


def programs_read() -> Mapping[int, int] | Unread:
    """How many BPF programs of each type the kernel holds; only root may ask."""
    number = BPF.get(os.uname().machine)
    if number is None:
        return Unread(f"how to ask for BPF programs on {os.uname().machine} is not known here")
    libc = ctypes.CDLL(None, use_errno=True)

    def call(command: int, attributes: ctypes.Array[ctypes.c_char]) -> int:
        """bpf(2)."""
        return int(libc.syscall(number, command, attributes, len(attributes)))

    found: dict[int, int] = {}
    last = 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("II", last, 0), 128)
        if call(PROG_NEXT_ID, attributes) < 0:
            break
        last = struct.unpack_from("II", attributes.raw)[1]
        kind = program_type(call, last)
        if kind is not None:
            found[kind] = found.get(kind, 0) + 1
    ended = ctypes.get_errno()
    return found if ended == errno.ENOENT else Unread(f"BPF programs: {os.strerror(ended)}")


def probes_collect(root: Path, nftables: bool | None) -> Probes:
    """Asks everything, of this process and of the network namespace that it is in."""
    return Probes(
        files_limit=hard_limit(resource.RLIMIT_NOFILE),
        memlock_bytes=hard_limit(resource.RLIMIT_MEMLOCK),
        cpus=len(os.sched_getaffinity(0)), nice=os.getpriority(os.PRIO_PROCESS, 0),
        preload=os.environ.get("LD_PRELOAD", ""), ring_refusal=ring_refusal(),
        processes=processes_read(root),
        offloads=offloads_read(), mtu_bytes=mtu_read(), queue=queue_read(),
        rules=rules_read(nftables),
        programs=programs_read())
