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

from suite.doctor.finding import Unknown, question

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


class Probes:
    """Each fact is asked when a check needs it; Unknown where the kernel does not tell."""

    @property
    def cpus(self) -> int:
        """The number of CPUs that this process may use."""
        return len(os.sched_getaffinity(0))

    @property
    def nice(self) -> int:
        return os.getpriority(os.PRIO_PROCESS, 0)

    @property
    def preload(self) -> str:
        return os.environ.get("LD_PRELOAD", "")

    def hard_limit(self, which: int) -> int | None:
        """The hard limit of a resource; None: unlimited."""
        limit = resource.getrlimit(which)[1]
        return None if limit == resource.RLIM_INFINITY else limit

    @property
    def ring_refusal(self) -> str:
        """The error of a ring, empty where one is permitted. The kernel checks the permission
        before it reads the parameters: EFAULT means permitted."""
        ctypes.CDLL(None, use_errno=True).syscall(IO_URING_SETUP, 1, None)
        number = ctypes.get_errno()
        permitted = number in (errno.EFAULT, errno.EINVAL)
        return "" if permitted else errno.errorcode.get(number, str(number))

    @property
    @question("SIOCGIFMTU of lo")
    def mtu_bytes(self) -> int:
        return int(struct.unpack_from("i", loopback_ioctl(MTU_IOCTL, b""))[0])

    @property
    @question("SIOCETHTOOL of lo")
    def offloads(self) -> Mapping[str, bool]:
        """Whether each offload of lo is on, as `ethtool -k lo` prints it."""
        found = {}
        for name, command in OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            loopback_ioctl(ETHTOOL_IOCTL, struct.pack("P", ctypes.addressof(value)))
            found[name] = bool(struct.unpack("II", value.raw)[1])
        return found

    @property
    def queue(self) -> str:
        """The root queueing discipline of lo, `noqueue` where packets go at once."""
        try:
            done = subprocess.run(QUEUE_COMMAND, capture_output=True, text=True,
                                  timeout=QUEUE_LIMIT_S, check=True)
            return next((queue["kind"] for queue in json.loads(done.stdout)), "noqueue")
        except FileNotFoundError:
            raise Unknown("tc is not installed (iproute2)") from None
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
            raise Unknown(f"{' '.join(QUEUE_COMMAND)} gave no answer") from None

    @property
    @question("rules of nftables")
    def rules(self) -> int:
        """The number of nftables rules in all tables, with those of iptables-nft. A kernel that has
        nf_tables as a module loads it at this question."""
        total, ended = 0, False
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as kernel:
            kernel.send(struct.pack("IHHIIBBH", 20, RULES_GET, DUMP, 1, 0, 0, 0, 0))
            while not ended:
                rules, ended = rules_count(kernel.recv(1 << 16))
                total += rules
        return total

    @property
    @question("BPF programs")
    def programs(self) -> Mapping[int, int]:
        """The number of loaded BPF programs by type; only root may ask."""
        machine = os.uname().machine
        if machine not in BPF:
            raise Unknown(f"BPF programs: the number of bpf(2) on {machine} is not known")
        bpf = functools.partial(ctypes.CDLL(None, use_errno=True).syscall, BPF[machine])
        kinds: Counter[int | None] = Counter()
        attributes = ctypes.create_string_buffer(ATTRIBUTES_BYTES)
        while bpf(PROG_NEXT_ID, attributes, ATTRIBUTES_BYTES) >= 0:
            program = struct.unpack_from("II", attributes.raw)[1]
            kinds[program_type(bpf, program)] += 1
            attributes = ctypes.create_string_buffer(struct.pack("II", program, 0),
                                                     ATTRIBUTES_BYTES)
        number = ctypes.get_errno()
        if number != errno.ENOENT:
            raise OSError(number, os.strerror(number))
        return {kind: count for kind, count in kinds.items() if kind is not None}


def loopback_ioctl(request: int, value: bytes) -> bytes:
    """The struct ifreq that the kernel returns for lo in this network namespace; OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        return fcntl.ioctl(device, request, struct.pack("16s24s", b"lo", value))[16:]


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
