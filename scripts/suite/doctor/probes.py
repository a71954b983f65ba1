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
import re
import resource
import socket
import struct
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.doctor.finding import Unknown, question

IO_URING_SETUP, BPF = 425, {"x86_64": 321, "aarch64": 280, "riscv64": 280}
PROG_NEXT_ID, PROG_FD = 11, 13  # commands of bpf(2)
ATTRIBUTES_BYTES = 128  # room for union bpf_attr
ETHTOOL_IOCTL = 0x8946
OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}  # ETHTOOL_GTSO, GGSO, GGRO
# nftables: subsystem 10; request and dump
NETFILTER, RULES_GET, RULE_NEW, DUMP = 12, 0x0A07, 0x0A06, 0x301
MESSAGE_ERROR, MESSAGE_DONE = 2, 3
LOOPBACK_COMMAND = ("ip", "-json", "link", "show", "dev", "lo")
LOOPBACK_LIMIT_S = 5.0


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

    @functools.cached_property
    def loopback(self) -> Mapping[str, Any]:
        """What ip(8) prints about lo in this network namespace: `mtu`, `qdisc` and more."""
        try:
            done = subprocess.run(LOOPBACK_COMMAND, capture_output=True, text=True,
                                  timeout=LOOPBACK_LIMIT_S, check=True)
            (facts,) = json.loads(done.stdout)
        except FileNotFoundError:
            raise Unknown("ip is not installed (iproute2)") from None
        except (OSError, subprocess.SubprocessError, ValueError):
            raise Unknown(f"{' '.join(LOOPBACK_COMMAND)} gave no answer") from None
        return dict(facts)

    @property
    @question("SIOCETHTOOL of lo")
    def offloads(self) -> Mapping[str, bool]:
        """Whether each offload of lo is on, as `ethtool -k lo` prints it."""
        found = {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
            for name, command in OFFLOADS.items():
                value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
                request = struct.pack("16sP16x", b"lo", ctypes.addressof(value))
                fcntl.ioctl(device, ETHTOOL_IOCTL, request)
                found[name] = bool(struct.unpack("II", value.raw)[1])
        return found

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
        kinds: Counter[int] = Counter()
        result, attributes = bpf(PROG_NEXT_ID, 0)
        while result == 0:
            program = struct.unpack_from("II", attributes)[1]
            descriptor, _ = bpf(PROG_FD, program)
            if descriptor >= 0:  # else the program is gone
                with os.fdopen(descriptor, "rb"):
                    facts = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
                (kind,) = re.findall(r"^prog_type:\s*(\d+)", facts, re.MULTILINE)
                kinds[int(kind)] += 1
            result, attributes = bpf(PROG_NEXT_ID, program)
        return kinds


def bpf(command: int, program: int) -> tuple[int, bytes]:
    """(result, attributes) of bpf(2) for a program, by its id; the result is -1 without one."""
    machine = os.uname().machine
    if machine not in BPF:
        raise Unknown(f"BPF programs: the number of bpf(2) on {machine} is not known")
    attributes = ctypes.create_string_buffer(struct.pack("I", program), ATTRIBUTES_BYTES)
    result = ctypes.CDLL(None, use_errno=True).syscall(BPF[machine], command, attributes,
                                                       ATTRIBUTES_BYTES)
    number = ctypes.get_errno()
    if result < 0 and number != errno.ENOENT:
        raise OSError(number, os.strerror(number))
    return result, attributes.raw


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
