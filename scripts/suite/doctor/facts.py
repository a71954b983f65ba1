# SPDX-License-Identifier: MIT
"""Facts from files of the system, which are read when a check needs them. Nothing is written.

A file that cannot be read raises Unknown with the reason. The finding of the check is then unknown.
"""

import gzip
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.doctor.finding import CellWords, Unknown, question
from suite.doctor.probes import Probes

FILE_LARGEST_BYTES = 1 << 20
# counters since boot: they are read twice, and a check uses the difference
COUNTERS = ("proc/stat", "proc/vmstat")


def sysctl_path(name: str) -> str:
    return f"proc/sys/{name.replace('.', '/')}"


@dataclass(frozen=True)
class SystemFacts:
    """What a check sees. root: its files are below. words: of the planned cells. before: the texts
    of COUNTERS when the watch began."""

    root: Path
    words: CellWords = CellWords()
    before: Mapping[str, str] = field(default_factory=dict)
    probes: Probes = field(default_factory=Probes)

    def find(self, path: str) -> str | None:
        """The text of a file, decompressed if its name ends in .gz; None where there is none."""
        with question(f"/{path}"):
            try:
                with open(self.root / path, "rb") as file:
                    data = file.read(FILE_LARGEST_BYTES)
            except (FileNotFoundError, NotADirectoryError):
                return None
            data = gzip.decompress(data) if path.endswith(".gz") else data
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

    def processes(self) -> set[str]:
        """The names of all processes: proc_pid_comm(5)."""
        return set(map(self.text_or_empty, self.paths("proc/[0-9]*/comm")))

    def kernel_config(self) -> Mapping[str, str]:
        """The options of the running kernel, named without CONFIG_; Unknown where no file has
        them."""
        version = self.text("proc/version")
        release = version.split()[2] if version.startswith("Linux version ") else "unknown"
        names = "proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"
        text = next(filter(None, map(self.find, names)), None)
        if text is None:
            raise Unknown("the kernel's options cannot be read: there is none of " +
                          ", ".join(f"/{name}" for name in names))
        return {name.removeprefix("CONFIG_"): value
                for name, value in fields_read(text, "=").items()}


def fields_read(text: str, separator: str = ":") -> dict[str, str]:
    """The values of `name: value` lines, by name; the first value where a name repeats."""
    parts = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip() for name, found, value in parts if found}


def facts_collect(words: CellWords, watch_s: float) -> SystemFacts:
    """The facts of this machine, after a watch of the counters."""
    facts = SystemFacts(Path("/"), words)
    before = {path: facts.text_or_empty(path) for path in COUNTERS}
    time.sleep(watch_s)
    return replace(facts, before=before)
