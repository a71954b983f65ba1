# SPDX-License-Identifier: MIT
"""What the system's files say, read when a check asks. Opens for reading only.

A file that cannot be read is Unknown with the reason, and so is the finding of the check.
"""

import gzip
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.doctor.finding import CellWords, Finding, Unknown, fine
from suite.doctor.probes import Probes, probes_collect

FILE_LARGEST_BYTES = 1 << 20
CPU_FOLDER = "sys/devices/system/cpu"
CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0"
# counters: what they add while they are watched is of now, and not since boot
COUNTERS = ("proc/stat", "proc/vmstat")


def sysctl_path(name: str) -> str:
    return f"proc/sys/{name.replace('.', '/')}"


@dataclass(frozen=True)
class SystemFacts:
    """Files below root, by path without the leading slash; before: the COUNTERS before the
    watch."""

    root: Path
    before: Mapping[str, str] = field(default_factory=dict)
    probes: Probes = field(default_factory=Probes)

    def find(self, path: str) -> str | None:
        """The text of a file, stripped, gunzipped where its name says so; None where there is no
        such file. Unknown where it cannot be read."""
        try:
            with open(self.root / path, "rb") as file:
                data = file.read(FILE_LARGEST_BYTES)
            data = gzip.decompress(data) if path.endswith(".gz") else data
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, EOFError, zlib.error) as error:
            raise Unknown(f"/{path}: {getattr(error, 'strerror', None) or error}") from None
        return data.decode(errors="replace").strip()

    def readable(self, path: str) -> str:
        """The text of a file; empty where it is not there or cannot be read."""
        try:
            return self.find(path) or ""
        except Unknown:
            return ""

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

    def paths(self, pattern: str) -> list[str]:
        """The files that match, in order."""
        return [str(path.relative_to(self.root)) for path in sorted(self.root.glob(pattern))]

    def matching(self, pattern: str) -> dict[str, str]:
        """The texts of all files that match, by path; Unknown where one of them cannot be read."""
        return {path: text for path in self.paths(pattern)
                if (text := self.find(path)) is not None}


@dataclass(frozen=True)
class ValueCheck:
    """A check of one value; {} stands for it in the text `fine` and in those of `found`."""

    read: Callable[[SystemFacts], Any]
    is_fine: Callable[[Any], bool]
    fine: str
    found: Finding

    def look(self, facts: SystemFacts, words: CellWords) -> Finding:
        value, found = self.read(facts), self.found
        if self.is_fine(value):
            return fine(self.fine.format(value))
        return Finding(found.status, *(text.format(value) for text in (
            found.seen, found.effect, found.fix, found.undo, found.remark)))


def fields_read(text: str, separator: str = ":") -> dict[str, str]:
    """The values of `name: value` lines by name; of several with one name, the first."""
    parts = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip() for name, found, value in parts if found}


def kernel_config(facts: SystemFacts) -> Mapping[str, str]:
    """The options of the running kernel without CONFIG_; Unknown where no file has them."""
    version = facts.text("proc/version")
    release = version.split()[2] if version.startswith("Linux version ") else "unknown"
    names = "proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"
    text = next(filter(None, map(facts.find, names)), None)
    if text is None:
        raise Unknown("the kernel's options are not to be read: none of " +
                      ", ".join(f"/{name}" for name in names))
    return {name.removeprefix("CONFIG_"): value for name, value in fields_read(text, "=").items()}


def nftables_there(facts: SystemFacts) -> bool | None:
    """Whether the kernel has nf_tables, loaded or built in; None where files do not tell. A
    question to a kernel that has it as a module would load it."""
    if "nf_tables" in fields_read(facts.readable("proc/modules"), " "):
        return True
    try:
        return kernel_config(facts).get("NF_TABLES") == "y"
    except Unknown:
        return None


def facts_collect(root: Path = Path("/"), watch_s: float = 0.05,
                  probes: Probes | None = None) -> SystemFacts:
    """The facts after a watch of the counters; probes: those of this process where None."""
    facts, begun = SystemFacts(root), time.monotonic()
    before = {path: facts.readable(path) for path in COUNTERS}
    if probes is None:
        processes = frozenset(map(facts.readable, facts.paths("proc/[0-9]*/comm"))) - {""}
        probes = probes_collect(processes, nftables_there(facts))
    time.sleep(max(0.0, watch_s - (time.monotonic() - begun)))
    return SystemFacts(root, before, probes)
