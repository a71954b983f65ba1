# SPDX-License-Identifier: MIT
"""Facts from files of the system, which are read when a check needs them. Nothing is written.

A file that cannot be read raises Unknown with the reason. The finding of the check is then unknown.
"""

import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.doctor.finding import CellWords, Finding, Unknown
from suite.doctor.probes import Probes, probes_collect

FILE_LARGEST_BYTES = 1 << 20
CPU_FOLDER = "sys/devices/system/cpu"
CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0"
# counters since boot: they are read twice, and a check uses the difference
COUNTERS = ("proc/stat", "proc/vmstat")
WITHOUT_SECCOMP = "docker run --security-opt seccomp=unconfined, or measure outside the container"


def sysctl_path(name: str) -> str:
    return f"proc/sys/{name.replace('.', '/')}"


@dataclass(frozen=True)
class SystemFacts:
    """Files below root. before: the texts of COUNTERS when the watch began."""

    root: Path
    before: Mapping[str, str] = field(default_factory=dict)
    probes: Probes = field(default_factory=Probes)

    def find(self, path: str) -> str | None:
        """The text of a file, decompressed if its name ends in .gz; None where there is none."""
        try:
            with open(self.root / path, "rb") as file:
                data = file.read(FILE_LARGEST_BYTES)
            data = gzip.decompress(data) if path.endswith(".gz") else data
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, EOFError, zlib.error) as error:
            raise Unknown(f"/{path}: {getattr(error, 'strerror', None) or error}") from None
        return data.decode(errors="replace").strip()

    def text_or_empty(self, path: str) -> str:
        try:
            return self.find(path) or ""
        except Unknown:
            return ""

    def text(self, path: str) -> str:
        """The text of a file; Unknown where there is none or it cannot be read."""
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
        """The value of a sysctl, with single blanks; Unknown where it cannot be read."""
        return " ".join(self.text(sysctl_path(name)).split())

    def paths(self, pattern: str) -> list[str]:
        """The files that match, sorted."""
        return [str(path.relative_to(self.root)) for path in sorted(self.root.glob(pattern))]

    def matching(self, pattern: str) -> dict[str, str]:
        """The texts of all files that match, by path; Unknown where one of them cannot be read."""
        return {path: text for path in self.paths(pattern)
                if (text := self.find(path)) is not None}


@dataclass(frozen=True)
class ValueCheck:
    """A check of one value. {} stands for the value in fine_text and in the texts of problem."""

    read: Callable[[SystemFacts], Any]
    is_fine: Callable[[Any], bool]
    fine_text: str
    problem: Finding

    def finding(self, facts: SystemFacts, words: CellWords) -> Finding:
        value, problem = self.read(facts), self.problem
        if self.is_fine(value):
            return Finding.fine(self.fine_text.format(value))
        return Finding(problem.status, *(text.format(value) for text in (
            problem.seen, problem.effect, problem.fix, problem.undo, problem.remark)))


def fields_read(text: str, separator: str = ":") -> dict[str, str]:
    """The values of `name: value` lines, by name; the first value where a name repeats."""
    parts = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip() for name, found, value in parts if found}


def kernel_config(facts: SystemFacts) -> Mapping[str, str]:
    """The options of the running kernel, named without CONFIG_; Unknown where no file has them."""
    version = facts.text("proc/version")
    release = version.split()[2] if version.startswith("Linux version ") else "unknown"
    names = "proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"
    text = next(filter(None, map(facts.find, names)), None)
    if text is None:
        raise Unknown("the kernel's options cannot be read: there is none of " +
                      ", ".join(f"/{name}" for name in names))
    return {name.removeprefix("CONFIG_"): value for name, value in fields_read(text, "=").items()}


def nftables_present(facts: SystemFacts) -> bool | None:
    """None where no file tells. Files are read, because a netlink query would load the module."""
    if "nf_tables" in fields_read(facts.text_or_empty("proc/modules"), " "):
        return True
    try:
        return kernel_config(facts).get("NF_TABLES") == "y"
    except Unknown:
        return None


def facts_collect(root: Path = Path("/"), watch_s: float = 0.05,
                  probes: Probes | None = None) -> SystemFacts:
    """The facts after a watch of the counters. probes: None: those of this process."""
    facts, begun = SystemFacts(root), time.monotonic()
    before = {path: facts.text_or_empty(path) for path in COUNTERS}
    if probes is None:
        processes = frozenset(map(facts.text_or_empty, facts.paths("proc/[0-9]*/comm"))) - {""}
        probes = probes_collect(processes, nftables_present(facts))
    time.sleep(max(0.0, watch_s - (time.monotonic() - begun)))
    return SystemFacts(root, before, probes)
