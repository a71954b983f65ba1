# SPDX-License-Identifier: MIT
"""What the system's files say, read once and in one place. Opens for reading only.

`FILES` is all that is read. A check gets texts from here; a file that cannot be read is a reason,
so that a check that needs it answers `unknown`.
"""

from __future__ import annotations

import fnmatch
import gzip
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from suite.doctor.finding import Unknown
from suite.doctor.probes import Probes, probes_collect

FILE_LARGEST_BYTES = 1 << 20
CPU = "sys/devices/system/cpu"
CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0"
# where tracefs is, and where it was before 4.1
TRACING = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
TRACING_FILES = ("current_tracer", "events/enable", "kprobe_events", "uprobe_events")
SYSCTLS = (
    "kernel.io_uring_disabled", "kernel.sched_rt_runtime_us", "kernel.sched_rt_period_us",
    "net.core.rmem_max",
    "net.core.wmem_max", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_tw_reuse",
    "net.netfilter.nf_conntrack_count",
)
FILES = (
    # /sys/class/net is left out: it shows the namespace that /sys was mounted in, and not this
    # process's.
    "proc/loadavg", "proc/stat", "proc/vmstat", "proc/meminfo", "proc/version", "proc/cpuinfo",
    "proc/cmdline",
    "proc/modules", "proc/self/status", "proc/self/cgroup", "proc/net/sockstat",
    "proc/net/ip_tables_names",
    "proc/net/ip6_tables_names",
    # of version 2, whose groups may be without any file of the CPU controller
    "sys/fs/cgroup/cgroup.controllers",
    "sys/kernel/mm/transparent_hugepage/enabled", "sys/class/power_supply/*/online",
    "sys/firmware/acpi/platform_profile",
    f"{CPU}/smt/control", f"{CPU}/smt/active", f"{CPU}/cpufreq/boost",
    f"{CPU}/intel_pstate/no_turbo",
    f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor",
    f"{CPU}/cpu[0-9]*/cpufreq/energy_performance_preference",
    f"{CPU}/cpu[0-9]*/thermal_throttle/core_throttle_count", f"{CPU}/cpuidle/current_driver",
    *(f"{CPU}/cpu0/cpuidle/state[0-9]*/{name}" for name in ("name", "latency", "disable")),
    f"{CLOCKSOURCE}/current_clocksource", f"{CLOCKSOURCE}/available_clocksource",
    *(f"{folder}/{name}" for folder in TRACING for name in TRACING_FILES),
)
CGROUP, QUOTA, PERIOD = "sys/fs/cgroup", "cpu.cfs_quota_us", "cpu.cfs_period_us"
QUOTA_FILES = ("cpu.max", QUOTA, PERIOD)
CGROUP_MOUNTS = (CGROUP, f"{CGROUP}/unified", f"{CGROUP}/cpu", f"{CGROUP}/cpu,cpuacct")
# counters: what they add while we look is of now, and not since boot
TWICE = ("proc/stat", "proc/vmstat")


def sysctl_path(name: str) -> str:
    """The file of a sysctl."""
    return f"proc/sys/{name.replace('.', '/')}"


@dataclass(frozen=True)
class Facts:
    """Texts by path without the leading slash, stripped; `failed` says why others, that are there,
    have none.

    `before` are the files of TWICE as they were `watched_s` earlier.
    """

    files: Mapping[str, str]
    failed: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    watched_s: float = 0.0
    probes: Probes = field(default_factory=Probes)

    def find(self, path: str) -> str | None:
        """The text of a file, None where there is no such file; Unknown where it cannot be read."""
        if path in self.failed:
            raise Unknown(f"/{path}: {self.failed[path]}")
        return self.files.get(path)

    def text(self, path: str) -> str:
        """The text of a file that must be there; Unknown where it is not."""
        found = self.find(path)
        if found is None:
            raise Unknown(f"/{path} is not there")
        return found

    def sysctl(self, name: str) -> str:
        """The value of a sysctl, its blanks single; Unknown where it cannot be read."""
        return " ".join(self.text(sysctl_path(name)).split())

    def matching(self, pattern: str) -> dict[str, str]:
        """All files that match, by path; Unknown where one of them cannot be read."""
        for path in fnmatch.filter(self.failed, pattern):
            self.find(path)
        return {path: self.files[path] for path in fnmatch.filter(self.files, pattern)}


def file_read(path: Path) -> str:
    """The text of a file, gunzipped where its name says so; OSError."""
    with open(path, "rb") as file:
        data = file.read(FILE_LARGEST_BYTES)
    return (gzip.decompress(data) if path.suffix == ".gz"
            else data).decode(errors="replace").strip()


def files_read(root: Path, patterns: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """(texts, reasons) by path of every file under root that matches; what does not exist is in
    neither."""
    texts, failed = {}, {}
    for pattern in patterns:
        paths = sorted(root.glob(pattern)) if "*" in pattern else [root / pattern]
        for path in paths:
            name = str(path.relative_to(root))
            try:
                texts[name] = file_read(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, EOFError, zlib.error) as error:
                failed[name] = getattr(error, "strerror", None) or str(error)
    return texts, failed


def cgroup_files(memberships: str) -> tuple[str, ...]:
    """The files that may hold a CPU quota of a process with this /proc/self/cgroup: of its groups
    and all above."""
    groups = {""}
    for line in memberships.splitlines():
        path = Path(line.split(":", 2)[-1])
        groups |= {str(each).strip("/") for each in (path, *path.parents)}
    # In a container the path may be one of the host's, which is not to be seen; then the top is the
    # container's own.
    return tuple("/".join(filter(None, (mount, group, name)))
                 for mount in CGROUP_MOUNTS for group in sorted(groups) for name in QUOTA_FILES)


def config_files(version: str) -> tuple[str, ...]:
    """Where the options of the running kernel may be; version is /proc/version."""
    release = version.split()[2] if version.startswith("Linux version ") else "unknown"
    return "proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"


def nftables_there(texts: Mapping[str, str]) -> bool | None:
    """Whether the kernel has nf_tables, loaded or built in; None where that is not to be known.

    Whoever asked a kernel that has it as a module would have it loaded.
    """
    if any(line.startswith("nf_tables ") for line in texts.get("proc/modules", "").splitlines()):
        return True
    config = next((texts[name] for name in config_files(texts.get("proc/version", ""))
                   if name in texts), None)
    return None if config is None else "\nCONFIG_NF_TABLES=y\n" in f"\n{config}\n"


def facts_collect(root: Path = Path("/"), watch_s: float = 0.05,
                  probes: Probes | None = None) -> Facts:
    """Everything that the checks need, in some milliseconds and the time to watch; probes are of
    this process."""
    before, _ = files_read(root, TWICE)
    begun = time.monotonic()
    texts, failed = files_read(root, FILES + tuple(map(sysctl_path, SYSCTLS)))
    for more in (cgroup_files(texts.get("proc/self/cgroup", "")),
                 config_files(texts.get("proc/version", ""))):
        more_texts, more_failed = files_read(root, more)
        texts, failed = texts | more_texts, failed | more_failed
    found = probes_collect(root, nftables_there(texts)) if probes is None else probes
    time.sleep(max(0.0, watch_s - (time.monotonic() - begun)))
    after, _ = files_read(root, TWICE)
    return Facts(texts | after, failed, before, time.monotonic() - begun, found)
