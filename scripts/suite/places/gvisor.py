# SPDX-License-Identifier: MIT
"""target=gvisor: the network stack of gVisor, another kernel, on this machine in the same rounds.

runsc(1) starts one sandbox for each batch. Files that a program writes inside stay inside, and
standard output must be a pipe. The kernel of gVisor accepts an affinity and ignores it. So taskset
binds the whole sandbox to one CPU for `place=together`, and the client reports `place=apart` as
unsupported.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.base.client import Client, complaint_text
from suite.base.errors import Failure
from suite.base.installation import setup_hint
from suite.base.process import PlacedCommand, process_run
from suite.places.target import Target

RUNSC = "runsc"
START_LIMIT_S = 30  # a sandbox starts within 0.1 s


@dataclass(frozen=True)
class Sandbox:
    """A new sandbox for each command. prefix: what starts it."""

    prefix: tuple[str, ...]
    name: str = "in gVisor"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        return (*self.prefix, str(program), *arguments), given


class Gvisor(Target):
    isolated = "a sandbox"
    starts_subjects = False

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        printed = process_run([RUNSC, "--version"], "", START_LIMIT_S).stdout
        found = re.search(r"version (\S+)", printed)
        self.version = found[1] if found else "unknown"
        # no network but the loopback of the sandbox, no cgroup, without root a user namespace
        rootless = () if os.geteuid() == 0 else ("--rootless",)
        self.prefix = (RUNSC, "--ignore-cgroups", "--network=none", *rootless, "do")
        tried = process_run([*self.prefix, "sh", "-c", "exit 7"], "", START_LIMIT_S,
                            "target=gvisor: a sandbox")
        if tried.returncode != 7:
            reason = complaint_text(tried.stderr) or "it prints nothing"
            raise Failure(f"target=gvisor: a sandbox does not start here: {reason}")

    @classmethod
    def require(cls, value: str) -> None:
        if shutil.which(RUNSC) is None:
            raise Failure(f"target=gvisor: {RUNSC} is missing: {setup_hint('gvisor')}")

    def client(self, words: Mapping[str, str]) -> Client:
        """The client in a sandbox; for place=together on the first CPU of this process."""
        first = str(min(os.sched_getaffinity(0)))
        bound = ("taskset", "--cpu-list", first) if words.get("place") == "together" else ()
        return replace(super().client(words), place=Sandbox((*bound, *self.prefix)))

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """The facts of a sandbox that may use all CPUs; `place` tells how few a cell has."""
        return super().facts({**words, "place": "free"})

    def identity(self) -> dict[str, str]:
        return {"runsc": self.version}
