# SPDX-License-Identifier: MIT
"""What the system's files say, read once and in one place. Opens for reading only.

`FILES` is all that is read. A check gets texts from here. In place of a file that cannot be read
stands the reason, so that a check that needs it answers `unknown`.
"""

import fnmatch
import gzip
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.doctor.finding import CellWords, Finding, Unknown, fine, known
from suite.doctor.probes import Probes, probes_collect

FILE_LARGEST_BYTES = 1 << 20
CPU_FOLDER = "sys/devices/system/cpu"
CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0"
# where tracefs is, and where it was before 4.1
TRACING = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
TRACING_FILES = ("current_tracer", "events/enable", "kprobe_events", "uprobe_events")
SYSCTLS = (
    "kernel.io_uring_disabled", "kernel.sched_rt_runtime_us", "kernel.sched_rt_period_us",
    "net.core.rmem_max", "net.core.wmem_max", "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_autocorking", "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control", "net.ipv4.tcp_tw_reuse",
    "net.netfilter.nf_conntrack_count",
)


def sysctl_path(name: str) -> str:
    return f"proc/sys/{name.replace('.', '/')}"


FILES = (
    # /sys/class/net is left out: it shows the namespace that /sys was mounted in, and not this
    # process's.
    "proc/loadavg", "proc/stat", "proc/vmstat", "proc/meminfo", "proc/version", "proc/cpuinfo",
    "proc/cmdline", "proc/modules", "proc/self/status", "proc/self/cgroup", "proc/net/sockstat",
    "proc/net/ip_tables_names", "proc/net/ip6_tables_names",
    # of version 2, whose groups may be without any file of the CPU controller
    "sys/fs/cgroup/cgroup.controllers",
    "sys/kernel/mm/transparent_hugepage/enabled", "sys/class/power_supply/*/online",
    "sys/firmware/acpi/platform_profile",
    *(f"{CPU_FOLDER}/{name}" for name in (
        "smt/control", "smt/active", "cpufreq/boost", "intel_pstate/no_turbo",
        "cpu[0-9]*/cpufreq/scaling_governor", "cpu[0-9]*/cpufreq/energy_performance_preference",
        "cpu[0-9]*/thermal_throttle/core_throttle_count", "cpuidle/current_driver",
        "cpu0/cpuidle/state[0-9]*/name", "cpu0/cpuidle/state[0-9]*/latency",
        "cpu0/cpuidle/state[0-9]*/disable")),
    f"{CLOCKSOURCE}/current_clocksource", f"{CLOCKSOURCE}/available_clocksource",
    *(f"{folder}/{name}" for folder in TRACING for name in TRACING_FILES),
    *map(sysctl_path, SYSCTLS),
)
CGROUP, QUOTA, PERIOD = "sys/fs/cgroup", "cpu.cfs_quota_us", "cpu.cfs_period_us"
QUOTA_FILES = ("cpu.max", QUOTA, PERIOD)
CGROUP_MOUNTS = (CGROUP, f"{CGROUP}/unified", f"{CGROUP}/cpu", f"{CGROUP}/cpu,cpuacct")
# counters: what they add while they are watched is of now, and not since boot
COUNTERS = ("proc/stat", "proc/vmstat")
PROCESSES = ("proc/[0-9]*/comm",)  # the name of each
Files = Mapping[str, str | Unknown]


@dataclass(frozen=True)
class SystemFacts:
    """Texts by path without the leading slash, stripped; Unknown for a file that cannot be read.
    `before` are the COUNTERS as they were before the watch."""

    files: Files
    before: Mapping[str, str] = field(default_factory=dict)
    probes: Probes = field(default_factory=Probes)

    def find(self, path: str) -> str | None:
        """The text of a file, None where there is no such file; Unknown where it cannot be read."""
        return known(self.files.get(path))

    def text(self, path: str) -> str:
        """The text of a file that must be there; Unknown where it is not."""
        found = self.find(path)
        if found is None:
            raise Unknown(f"/{path} is not there")
        return found

    def field(self, path: str, name: str) -> str:
        """The value of a `name: value` line of a file; Unknown where there is none."""
        found = fields_read(self.text(path)).get(name)
        if found is None:
            raise Unknown(f"/{path} has no {name}")
        return found

    def sysctl(self, name: str) -> str:
        """The value of a sysctl, its blanks single; Unknown where it cannot be read."""
        return " ".join(self.text(sysctl_path(name)).split())

    def matching(self, pattern: str) -> dict[str, str]:
        """The texts of all files that match, by path; Unknown where one of them cannot be read."""
        return {path: known(self.files[path]) for path in fnmatch.filter(self.files, pattern)}


@dataclass(frozen=True)
class ValueCheck:
    """A check of one value; {} stands for it in the text `fine` and in those of `found`."""

    read: Callable[[SystemFacts], Any]
    is_fine: Callable[[Any], bool]
    fine: str
    found: Finding

    def look(self, facts: SystemFacts, words: CellWords) -> Finding:
        """What the check finds; Unknown where the value is missing."""
        value, found = self.read(facts), self.found
        if self.is_fine(value):
            return fine(self.fine.format(value))
        return Finding(found.status, *(text.format(value) for text in (
            found.seen, found.effect, found.fix, found.undo, found.remark)))


def fields_read(text: str, separator: str = ":") -> dict[str, str]:
    """The values of `name: value` lines by name; of several with one name, the first."""
    parts = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip() for name, found, value in parts if found}


def file_read(path: Path) -> str:
    """The text of a file, gunzipped where its name says so; OSError, EOFError, zlib.error."""
    with open(path, "rb") as file:
        data = file.read(FILE_LARGEST_BYTES)
    return (gzip.decompress(data) if path.suffix == ".gz"
            else data).decode(errors="replace").strip()


def files_read(root: Path, patterns: Iterable[str]) -> dict[str, str | Unknown]:
    """By path, every file under root that matches; what does not exist is absent."""
    found: dict[str, str | Unknown] = {}
    for pattern in patterns:
        for path in sorted(root.glob(pattern)) if "*" in pattern else [root / pattern]:
            name = str(path.relative_to(root))
            try:
                found[name] = file_read(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, EOFError, zlib.error) as error:
                found[name] = Unknown(f"/{name}: {getattr(error, 'strerror', None) or error}")
    return found


def text_readable(files: Files, path: str) -> str:
    """The text of a file; empty where it cannot be read."""
    text = files.get(path, "")
    return text if isinstance(text, str) else ""


def cgroup_files(memberships: str) -> tuple[str, ...]:
    """The files that may hold a CPU quota of a process with this /proc/self/cgroup: those of its
    groups and of all above."""
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


def nftables_there(files: Files) -> bool | None:
    """Whether the kernel has nf_tables, loaded or built in; None where files do not tell. A
    question to a kernel that has it as a module would load it."""
    if "nf_tables" in fields_read(text_readable(files, "proc/modules"), " "):
        return True
    names = config_files(text_readable(files, "proc/version"))
    config = next(filter(None, (text_readable(files, name) for name in names)), None)
    return None if config is None else fields_read(config, "=").get("CONFIG_NF_TABLES") == "y"


def facts_collect(root: Path = Path("/"), watch_s: float = 0.05,
                  probes: Probes | None = None) -> SystemFacts:
    """Everything that the checks need, in some milliseconds and the time to watch; probes: those of
    this process where None."""
    before = files_read(root, COUNTERS)
    begun = time.monotonic()
    files = files_read(root, FILES)
    files |= files_read(root, (*cgroup_files(text_readable(files, "proc/self/cgroup")),
                               *config_files(text_readable(files, "proc/version"))))
    processes = files_read(root, PROCESSES)  # one that ends meanwhile is absent, or Unknown
    probes = probes or probes_collect(
        frozenset(text_readable(processes, path) for path in processes) - {""},
        nftables_there(files))
    time.sleep(max(0.0, watch_s - (time.monotonic() - begun)))
    return SystemFacts(files | files_read(root, COUNTERS),
                       {path: text for path, text in before.items() if isinstance(text, str)},
                       probes)
