# SPDX-License-Identifier: MIT
"""target=gvisor: the network stack of gVisor, another operating system, on this machine and in the
same rounds.

runsc(1) starts a sandbox of its own for each batch. Files that are written inside stay inside;
standard output must be a pipe. Its kernel takes an affinity and does nothing with it, so that
`place=together` is had by binding the whole sandbox to one CPU from outside, and `place=apart` is
unsupported, as the client finds out by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base.client import Client
from suite.base.errors import Failure
from suite.base.place import Command, Place
from suite.places.target import Target, outside_refuse

PROGRAM = "runsc"
INSTALL = "scripts/setup/target gvisor installs it"
START_SECONDS = 30  # a sandbox starts in 0.1 s


@dataclass(frozen=True)
class Sandbox:
    """A new sandbox for each command; on one CPU only, where that is said."""

    options: tuple[str, ...]
    cpu: int | None = None
    name: str = "in gVisor"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """`runsc do`, perhaps behind taskset(1)."""
        bound = () if self.cpu is None else ("taskset", "--cpu-list", str(self.cpu))
        return Command((*bound, PROGRAM, *self.options, "do", str(program), *arguments), given)


def options_choose(uid: int) -> tuple[str, ...]:
    """runsc's options: it needs no network but its own loopback, and no cgroup; without root a user
    namespace."""
    rootless = () if uid == 0 else ("--rootless",)
    return ("--ignore-cgroups", "--network=none", *rootless)


def version_read() -> str:
    """The release of runsc; Failure where it is missing."""
    if shutil.which(PROGRAM) is None:
        raise Failure(f"target=gvisor: {PROGRAM} is missing: {INSTALL}")
    try:
        done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True,
                              errors="replace",
                              timeout=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"target=gvisor: {PROGRAM} --version: {error}") from None
    found = re.search(r"version (\S+)", done.stdout)
    return found[1] if found else "unknown"


def smoke_test(options: Sequence[str]) -> None:
    """Failure where a sandbox does not start and pass an exit status through."""
    command = [PROGRAM, *options, "do", "sh", "-c", "exit 7"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace",
                              timeout=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"target=gvisor: {' '.join(command)}: {error}") from None
    if done.returncode != 7:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise Failure(f"target=gvisor: a sandbox does not start here: {said}")


class Gvisor(Target):
    """Both ends in one sandbox."""

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        self.version = version_read()
        self.options = options_choose(os.geteuid())
        smoke_test(self.options)

    def place(self, words: Mapping[str, str]) -> Place:
        """The sandbox, on the first CPU that this process may use where both ends are to share
        one."""
        together = words.get("place") == "together"
        return Sandbox(self.options, min(os.sched_getaffinity(0)) if together else None)

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for words that need something outside of it."""
        outside_refuse(self.value, "a sandbox", words)

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Of a sandbox that may use all CPUs: on how few a cell has it, `place` says."""
        return super().facts({**words, "place": "free"})

    def identity(self) -> dict[str, str]:
        """Which gVisor it is."""
        return {"runsc": self.version}
