# SPDX-License-Identifier: MIT
"""Facts that no file has: limits of this process, and queries to the kernel that change nothing.

Sources: io_uring_setup(2), bpf(2), netdevice(7) and linux/ethtool.h, linux/netfilter/nf_tables.h,
getrlimit(2).
"""

import ctypes
import errno
import fcntl
import functools
import json
import os
import resource
import socket
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from suite.doctor.finding import T, Unknown

IO_URING_SETUP, BPF = 425, {"x86_64": 321, "aarch64": 280, "riscv64": 280}
PROG_NEXT_ID, PROG_FD, OBJECT_INFO = 11, 13, 15  # commands of bpf(2)
ATTRIBUTES_BYTES, INFO_BYTES = 128, 256  # room for union bpf_attr and struct bpf_prog_info
ETHTOOL_IOCTL, MTU_IOCTL = 0x8946, 0x8921
OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}  # ETHTOOL_GTSO, GGSO, GGRO
# nftables: subsystem 10; request and dump
NETFILTER, RULES_GET, RULE_NEW, DUMP = 12, 0x0A07, 0x0A06, 0x301
MESSAGE_ERROR, MESSAGE_DONE = 2, 3
QUEUE_COMMAND = ("tc", "-json", "qdisc", "show", "dev", "lo")
QUEUE_LIMIT_S = 5.0


@dataclass(frozen=True)
class Probes:
    """The answers; the defaults are those of a machine that nothing disturbs. A limit of None means
    unlimited. ring_refusal: the error, empty where a ring is permitted. programs: by type."""

    files_limit: int | None = None
    memlock_bytes: int | None = None
    cpus: int = 8
    nice: int = 0
    preload: str = ""
    ring_refusal: str = ""
    processes: frozenset[str] = frozenset()
    offloads: Mapping[str, bool] | Unknown = field(
        default_factory=lambda: dict.fromkeys(OFFLOADS, True))
    mtu_bytes: int | Unknown = 65536
    queue: str | Unknown = "noqueue"
    rules: int | Unknown = 0
    programs: Mapping[int, int] | Unknown = field(default_factory=dict)


def answer_or_unknown(question: str, ask: Callable[[], T]) -> T | Unknown:
    """The result of ask(). Where it raises: Unknown, with the text `question: reason`."""
    try:
        return ask()
    except OSError as error:
        return Unknown(f"{question}: {error.strerror}")
    except Unknown as error:
        return error


def hard_limit(which: int) -> int | None:
    limit = resource.getrlimit(which)[1]
    return None if limit == resource.RLIM_INFINITY else limit


def ring_refusal() -> str:
    """The kernel checks the permission before it reads the parameters: EFAULT means permitted."""
    ctypes.CDLL(None, use_errno=True).syscall(IO_URING_SETUP, 1, None)
    number = ctypes.get_errno()
    permitted = number in (errno.EFAULT, errno.EINVAL)
    return "" if permitted else errno.errorcode.get(number, str(number))


def loopback_ioctl(request: int, value: bytes) -> bytes:
    """The struct ifreq that the kernel returns for lo in this network namespace; OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        return fcntl.ioctl(device, request, struct.pack("16s24s", b"lo", value))[16:]


def offload_read(command: int) -> bool:
    """Whether an offload of lo is on, as `ethtool -k lo` prints it; OSError."""
    value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
    loopback_ioctl(ETHTOOL_IOCTL, struct.pack("P", ctypes.addressof(value)))
    return bool(struct.unpack("II", value.raw)[1])


def queue_read() -> str:
    """The root queueing discipline of lo, `noqueue` where packets go at once; Unknown."""
    try:
        done = subprocess.run(QUEUE_COMMAND, capture_output=True, text=True, timeout=QUEUE_LIMIT_S,
                              check=True)
        return next((queue["kind"] for queue in json.loads(done.stdout)), "noqueue")
    except FileNotFoundError:
        raise Unknown("tc is not installed (iproute2)") from None
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        raise Unknown(f"{' '.join(QUEUE_COMMAND)} gave no answer") from None


def rules_count(answer: bytes) -> tuple[int, bool]:
    """(number of rules, whether the dump ends here) of a netlink answer; OSError for an error."""
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


def rules_read(has_nftables: bool | None) -> int:
    """The number of nftables rules in all tables, with those of iptables-nft; Unknown, OSError."""
    if has_nftables is None:
        raise Unknown("nf_tables may be built in: the kernel's options cannot be read")
    if not has_nftables:
        return 0
    total, ended = 0, False
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as kernel:
        kernel.send(struct.pack("IHHIIBBH", 20, RULES_GET, DUMP, 1, 0, 0, 0, 0))
        while not ended:
            rules, ended = rules_count(kernel.recv(1 << 16))
            total += rules
    return total


def program_type(bpf: Callable[..., int], program: int) -> int | None:
    """The type of a BPF program, by its id; None where it is gone. bpf: the system call."""
    opened = ctypes.create_string_buffer(struct.pack("III", program, 0, 0), ATTRIBUTES_BYTES)
    descriptor = bpf(PROG_FD, opened, ATTRIBUTES_BYTES)
    if descriptor < 0:
        return None
    try:
        info = ctypes.create_string_buffer(INFO_BYTES)
        query = ctypes.create_string_buffer(
            struct.pack("IIQ", descriptor, INFO_BYTES, ctypes.addressof(info)), ATTRIBUTES_BYTES)
        if bpf(OBJECT_INFO, query, ATTRIBUTES_BYTES) != 0:
            return None
        return int(struct.unpack_from("I", info.raw)[0])
    finally:
        os.close(descriptor)


def programs_read() -> Mapping[int, int]:
    """The number of loaded BPF programs by type; only root may ask. Unknown, OSError."""
    machine = os.uname().machine
    if machine not in BPF:
        raise Unknown(f"BPF programs: the number of bpf(2) on {machine} is not known")
    bpf = functools.partial(ctypes.CDLL(None, use_errno=True).syscall, BPF[machine])
    kinds: Counter[int | None] = Counter()
    attributes = ctypes.create_string_buffer(ATTRIBUTES_BYTES)
    while bpf(PROG_NEXT_ID, attributes, ATTRIBUTES_BYTES) >= 0:
        program = struct.unpack_from("II", attributes.raw)[1]
        kinds[program_type(bpf, program)] += 1
        attributes = ctypes.create_string_buffer(struct.pack("II", program, 0), ATTRIBUTES_BYTES)
    number = ctypes.get_errno()
    if number != errno.ENOENT:
        raise OSError(number, os.strerror(number))
    return {kind: count for kind, count in kinds.items() if kind is not None}


def probes_collect(processes: frozenset[str], nftables: bool | None) -> Probes:
    """nftables: whether the kernel has it; None: not known."""
    return Probes(
        files_limit=hard_limit(resource.RLIMIT_NOFILE),
        memlock_bytes=hard_limit(resource.RLIMIT_MEMLOCK),
        cpus=len(os.sched_getaffinity(0)), nice=os.getpriority(os.PRIO_PROCESS, 0),
        preload=os.environ.get("LD_PRELOAD", ""), ring_refusal=ring_refusal(),
        processes=processes,
        offloads=answer_or_unknown("SIOCETHTOOL of lo", lambda: {
            name: offload_read(command) for name, command in OFFLOADS.items()}),
        mtu_bytes=answer_or_unknown("SIOCGIFMTU of lo", lambda: struct.unpack_from(
            "i", loopback_ioctl(MTU_IOCTL, b""))[0]),
        queue=answer_or_unknown("", queue_read),
        rules=answer_or_unknown("rules of nftables", lambda: rules_read(nftables)),
        programs=answer_or_unknown("BPF programs", programs_read))
