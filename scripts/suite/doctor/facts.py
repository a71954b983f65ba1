# SPDX-License-Identifier: MIT
"""What a check sees: files of the system, limits of this process, and answers of the kernel.

A fact is read or asked when a check needs it, and that changes nothing. One that cannot be read
raises Unknown with the reason, and the finding of the check is then unknown. Sources:
io_uring_setup(2), bpf(2), netdevice(7), linux/ethtool.h, linux/netfilter/nf_tables.h, getrlimit(2).
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import gzip
import json
import os
import re
import resource
import socket
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.doctor.finding import CellWords, Unknown

FILE_LARGEST_BYTES = 1 << 20
# counters since boot: they are read twice, and a check uses the difference
COUNTERS = ("proc/stat", "proc/vmstat")
IO_URING_SETUP, BPF = 425, {"x86_64": 321, "aarch64": 280, "riscv64": 280}
PROG_NEXT_ID, PROG_FD = 11, 13  # commands of bpf(2)
ATTRIBUTES_BYTES = 128  # room for union bpf_attr
ETHTOOL_IOCTL = 0x8946
NAMES = "proc/[0-9]*/comm"  # the names of all processes: proc_pid_comm(5)
OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}  # ETHTOOL_GTSO, GGSO, GGRO
# nftables: subsystem 10; request and dump
NETFILTER, RULES_GET, RULE_NEW, DUMP = 12, 0x0A07, 0x0A06, 0x301
MESSAGE_ERROR, MESSAGE_DONE = 2, 3
LOOPBACK_COMMAND = ("ip", "-json", "link", "show", "dev", "lo")
LOOPBACK_LIMIT_S = 5.0


@contextlib.contextmanager
def question(name: str) -> Iterator[None]:
    """Makes an error of the system Unknown, with the name of what was asked. Also a decorator."""
    try:
        yield
    except (OSError, EOFError, zlib.error, subprocess.SubprocessError) as error:
        raise Unknown(f"{name}: {getattr(error, 'strerror', None) or error}") from None


@dataclass(frozen=True)
class SystemFacts:
    """What a check sees. root: its files are below. words: of the planned cells. before: the texts
    of COUNTERS when the watch began. cpus: how many this process may use."""

    root: Path
    words: CellWords = CellWords()
    before: Mapping[str, str] = field(default_factory=dict)
    cpus: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    nice: int = field(default_factory=lambda: os.getpriority(os.PRIO_PROCESS, 0))
    preload: str = field(default_factory=lambda: os.environ.get("LD_PRELOAD", ""))

    def find(self, path: str) -> str | None:
        """The text of a file, decompressed if its name ends in .gz; None where there is none."""
        with question(f"/{path}"):
            try:
                with open(self.root / path, "rb") as file:
                    data = file.read(FILE_LARGEST_BYTES)
            except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
                return None
            data = gzip.decompress(data) if path.endswith(".gz") else data
        return data.decode(errors="replace").strip()

    def text(self, path: str) -> str:
        """The text of a file; Unknown where there is none."""
        found = self.find(path)
        if found is None:
            raise Unknown(f"/{path} is not there")
        return found

    def fields(self, path: str) -> dict[str, str]:
        """The `name: value` lines of a file."""
        return fields_read(self.text(path))

    def sysctl(self, name: str) -> str:
        """The value of a sysctl, with single blanks."""
        return " ".join(self.text(f"proc/sys/{name.replace('.', '/')}").split())

    def matching(self, pattern: str) -> dict[str, str]:
        """The texts of all files that match, by path."""
        paths = [str(path.relative_to(self.root)) for path in sorted(self.root.glob(pattern))]
        texts = zip(paths, map(self.find, paths), strict=True)
        return {path: text for path, text in texts if text is not None}

    def kernel_config(self) -> Mapping[str, str]:
        """The options of the running kernel, named without CONFIG_."""
        version = self.text("proc/version")
        release = version.split()[2] if version.startswith("Linux version ") else "unknown"
        names = "proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"
        text = next(filter(None, map(self.find, names)), None)
        if text is None:
            raise Unknown("the kernel's options cannot be read: there is none of " +
                          ", ".join(f"/{name}" for name in names))
        return {name.removeprefix("CONFIG_"): value
                for name, value in fields_read(text, "=").items()}

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
    @question(" ".join(LOOPBACK_COMMAND))
    def loopback(self) -> Mapping[str, Any]:
        """What ip(8) prints about lo in this network namespace: `mtu`, `qdisc` and more."""
        done = subprocess.run(LOOPBACK_COMMAND, capture_output=True, check=True,
                              timeout=LOOPBACK_LIMIT_S)
        (facts,) = json.loads(done.stdout)
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
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETFILTER) as kernel:
            kernel.send(struct.pack("IHHIIBBH", 20, RULES_GET, DUMP, 1, 0, 0, 0, 0))
            return rules_count(iter(lambda: kernel.recv(1 << 16), b""))

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


def fields_read(text: str, separator: str = ":") -> dict[str, str]:
    """The values of `name: value` lines, by name; the first value where a name repeats."""
    parts = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip() for name, found, value in parts if found}


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


def rules_count(answers: Iterable[bytes]) -> int:
    """The number of rules in the netlink messages of a dump; OSError for an error."""
    rules = 0
    for answer in answers:
        while len(answer) >= 16:
            length, kind = struct.unpack_from("IH", answer)
            if kind == MESSAGE_DONE:
                return rules
            if kind == MESSAGE_ERROR:
                number = -struct.unpack_from("i", answer, 16)[0]
                raise OSError(number, os.strerror(number))
            rules += kind == RULE_NEW
            answer = answer[(max(length, 16) + 3) & ~3:]
    return rules
