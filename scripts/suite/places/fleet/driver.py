# SPDX-License-Identifier: MIT
"""Steps on many hosts at once, by ansible-runner in an interpreter of its own
(scripts/ansible/driver.py).

Ansible knows how its hosts are reached; what one of them is to do is a job: a command and what it
reads. Its output comes back in a file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base.child import group_kill
from suite.base.client import ROOT, line_read
from suite.base.errors import Failure, UsageError
from suite.places.fleet.inventory import WORD
from suite.places.ssh.machine import said_last, ssh_choose

PYPI = ROOT / "build" / "pypi"
PROGRAM = ROOT / "scripts" / "ansible" / "driver.py"
CHOICE = "UNCORK_ANSIBLE"  # the environment's word for another folder of programs
INSTALL = "scripts/setup/target fleet installs it"
LISTS_S = 120.0
ENDS_S = 120.0  # a step is given up within a second, then all is taken down
STEP_S = 60.0  # what a step may take beside what its jobs may
HOST_S = 0.5  # and for each host
FORKS_MAX = 500  # each takes 12 MiB
SSH_OPTIONS = "-o BatchMode=yes -o ServerAliveInterval=2 -o ServerAliveCountMax=3"
PREAMBLE = re.compile(r"^.*(?:over|via) ssh: |^Task failed: ")  # of Ansible, before what ssh says
PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class Job:
    """A program that a host starts. inputs: the files of ours that are its standard input, one
    behind the other."""

    words: tuple[str, ...]
    inputs: tuple[Path, ...]


@dataclass(frozen=True)
class Outcome:
    """How a job went. how: `ok`: it has run, with that status; `unreachable`; `failed`: it has not
    run for another reason."""

    how: str
    status: int
    why: str
    stderr: str
    output: Path

    @property
    def stdout(self) -> bytes:
        """What it has printed; nothing where it has not run. It is there until the next step, if it
        was not kept."""
        return self.output.read_bytes() if self.how == "ok" else b""


def programs_find(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of ansible-inventory and of a python that has ansible-runner; Failure where there
    is none."""
    chosen = environ.get(CHOICE)
    found = [Path(chosen).expanduser()] if chosen else sorted(PYPI.glob("ansible-runner-*/bin"))
    if not found:
        raise Failure(f"{WORD}=INVENTORY: ansible-runner is missing: {INSTALL}")
    for name in ("ansible-inventory", "python"):
        if not os.access(found[-1] / name, os.X_OK):
            mend = f" ({CHOICE})" if chosen else f": {INSTALL}"
            raise Failure(f"{WORD}=INVENTORY: there is no {name} in {found[-1]}{mend}")
    return found[-1]


def environment_make(programs: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of Ansible: what the user has chosen stays, but ansible-runner would not
    check keys of hosts."""
    ssh, *options = ssh_choose(environ)
    common = " ".join(filter(None,
                             [shlex.join(options), environ.get("ANSIBLE_SSH_COMMON_ARGS", "")]))
    chosen = {"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_EXTRA_ARGS": SSH_OPTIONS,
              "ANSIBLE_NOCOLOR": "1"}
    return chosen | dict(environ) | {
        "PATH": f"{programs}{os.pathsep}{environ.get('PATH', os.defpath)}",
        "ANSIBLE_SSH_EXECUTABLE": ssh,
        "ANSIBLE_SSH_COMMON_ARGS": common, "ANSIBLE_DEPRECATION_WARNINGS": "False"}


def complaint_find(said: str) -> str:
    """Why Ansible could not read an inventory, from what it says on standard error."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line.partition("]: ")[2] for line in lines
              if line.startswith(("[WARNING]: ", "[ERROR]: "))]
    return (marked + lines[-1:] + ["it does not say why"])[0]


def inventory_list(path: str) -> dict[str, Any]:
    """What Ansible finds in an inventory; UsageError where it cannot read it."""
    if not Path(path).exists():
        raise UsageError(f"{WORD}={path}: there is no such file")
    programs = programs_find()
    environment = environment_make(programs) | {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True"}
    try:
        done = subprocess.run([programs / "ansible-inventory", "-i", Path(path).absolute(),
                               "--list"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=LISTS_S)
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{WORD}={path}: ansible-inventory: {error}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{WORD}={path}: Ansible cannot read it: {complaint_find(done.stderr)}")
    return found


def outcomes_read(lines: Iterable[bytes], hosts: Iterable[str],
                  folder: Path) -> dict[str, Outcome] | None:
    """How the jobs of a step went, from the lines of the driver; None where they end before the
    step does."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        value = line_read(line) or {}
        if isinstance(value.get("host"), str):
            found[value["host"]] = value
        if isinstance(value.get("end"), str):
            silent = {"how": "failed",
                      "why": str(value.get("why")
                                 or f"Ansible says nothing of it ({value['end']})")}
            return {host: outcome_make(found.get(host, silent), folder / f"{host}.out")
                    for host in hosts}
    return None


def outcome_make(said: Mapping[str, Any], output: Path) -> Outcome:
    """An outcome, from the driver's line."""
    how, status = str(said.get("how")), said.get("status")
    if how == "ok" and (not isinstance(status, int) or not output.exists()):
        return Outcome("failed", 1, "its output is missing", "", output)
    why = PREAMBLE.sub("", " ".join(str(said.get("why", "")).split()))
    return Outcome(how, status if isinstance(status, int) else 1, why,
                   str(said.get("stderr") or ""), output)


class Driver:
    """The process. Its standard input is its lifeline: when that closes it does the last step,
    which takes all down."""

    def __init__(self, inventory: str, folder: Path) -> None:
        self.inventory = str(Path(inventory).absolute())
        self.folder = folder
        self.rest = b""
        self.ended = False
        self.steps_open = 0  # those that have not ended yet
        self.spent: Path | None = None  # the folder of a step that nobody needs any more
        self.log = folder / "driver.log"
        programs = programs_find()
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([programs / "python", PROGRAM, folder],
                                          env=environment_make(programs),
                                          process_group=0, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=log)

    def lines(self, until: float) -> Iterator[bytes]:
        """Its lines until then, or until it ends."""
        assert self.child.stdout
        while select.select([self.child.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = os.read(self.child.stdout.fileno(), PIECE_BYTES)
            if not piece:
                self.ended = True
                break
            *whole, self.rest = (self.rest + piece).split(b"\n")
            yield from whole

    def ask(self, jobs: Mapping[str, Job], limit_s: float, last: bool = False) -> Path:
        """Tells it a step; gives the folder of its outputs."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for host, job in jobs.items():
            told = {"command": shlex.join(job.words), "inputs": [str(path) for path in job.inputs],
                    "output": str(folder / f"{host}.out")}
            (folder / f"{host}.json").write_text(json.dumps(told))
        self.steps_open += not last
        step = {"inventory": self.inventory, "folder": str(folder), "hosts": list(jobs),
                "limit_s": round(limit_s),
                "forks": min(len(jobs), FORKS_MAX), "last": last}
        assert self.child.stdin
        try:
            self.child.stdin.write(f"{json.dumps(step)}\n".encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"{WORD}={self.inventory}: {self.complaint()}") from None
        return folder

    def complaint(self) -> str:
        """Why it does not answer."""
        return f"ansible-runner has ended: {said_last(self.log) or 'it does not say why'}"

    def step(self, jobs: Mapping[str, Job], limit_s: float,
             keep: bool = False) -> dict[str, Outcome]:
        """Does all jobs at once; limit_s is for each of them, and their outputs stay to the end
        where keep is said."""
        if not jobs:
            return {}
        if self.spent:
            shutil.rmtree(self.spent)
        folder = self.ask(jobs, limit_s)
        self.spent = None if keep else folder
        turns = math.ceil(len(jobs) / FORKS_MAX)
        lines = self.lines(time.monotonic() + turns * limit_s + STEP_S + HOST_S * len(jobs))
        found = outcomes_read(lines, jobs, folder)
        if found is None:
            raise Failure(f"{WORD}={self.inventory}: {self.complaint()}" if self.ended else
                          f"{WORD}={self.inventory}: ansible-runner does not end a step of {limit_s:.0f} s")
        self.steps_open -= 1
        return found

    def close(self) -> dict[str, str]:
        """Has the last step done, and ends it; gives the hosts on which that was not possible, with
        the reason."""
        assert self.child.stdin
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        said: list[dict[str, Any]] = []
        for line in self.lines(time.monotonic() + ENDS_S):
            said.append(line_read(line) or {})
            # of a step that was given up, not of the last
            if "end" in said[-1] and self.steps_open:
                self.steps_open -= 1
                said.clear()
        try:
            self.child.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            group_kill(self.child)
            self.child.wait()
        lost = [line for line in said if "host" in line and line.get("how") != "ok"]
        return {str(line["host"]): outcome_make(line, self.log).why for line in lost}
