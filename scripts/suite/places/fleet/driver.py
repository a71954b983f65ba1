# SPDX-License-Identifier: MIT
"""Runs steps on many hosts at once by ansible-runner, which has its own interpreter
(scripts/ansible/driver.py).

Ansible connects to the hosts. A job is what one host does in a step: a command and its standard
input. Its output comes back in a file.
"""

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base.client import ROOT, complaint_text, line_read
from suite.base.errors import Failure, UsageError
from suite.base.installation import pypi_find, setup_hint
from suite.base.process import process_close
from suite.places.fleet.scripts import OVERDUE_STATUS
from suite.places.ssh.machine import LineStream, log_complaint, ssh_choose
from suite.result.record import JsonObject

ANSIBLE_PROGRAM = ROOT / "scripts" / "ansible" / "driver.py"
ANSIBLE_CHOICE = "UNCORK_ANSIBLE"  # the environment variable that names another folder of programs
ANSIBLE_TARGET = "fleet"  # its name in scripts/setup/targets
LIST_LIMIT_S = 120.0
ANSIBLE_END_LIMIT_S = 120.0  # the driver gives up a step within a second, then runs the last one
STEP_MARGIN_S = 60.0  # a step may take so much longer than its jobs, and
HOST_MARGIN_S = 0.5  # so much longer for each host
FORKS_MAX = 500  # a fork takes 12 MiB
SSH_OPTIONS = "-o BatchMode=yes -o ServerAliveInterval=2 -o ServerAliveCountMax=3"
PREAMBLE = re.compile(r"^.*(?:over|via) ssh: |^Task failed: ")  # Ansible's, before that of ssh


@dataclass(frozen=True)
class Job:
    """A command that a host runs. inputs: files here that are its standard input, in order."""

    argv: tuple[str, ...]
    inputs: tuple[Path, ...] = ()


@dataclass
class Outcome:
    """The result of a job, an Output. how: `ok`: it ran and ended; `unreachable`; `failed`. output:
    the file of its standard output, which the next step removes unless the step keeps it."""

    how: str
    status: int
    why: str
    stderr: str
    output: Path
    limit_s: float = 0.0
    torn: bytes = b""

    @property
    def overdue(self) -> bool:
        return self.status == OVERDUE_STATUS

    @property
    def stdout(self) -> bytes:
        """The whole standard output; empty where the job did not run."""
        return self.output.read_bytes() if self.how == "ok" else b""

    def lines(self) -> Iterator[bytes]:
        *whole, self.torn = self.stdout.split(b"\n")
        yield from whole


def programs_find(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder with ansible-inventory, and a python with ansible-runner; Failure without it."""
    chosen = environ.get(ANSIBLE_CHOICE)
    found = [Path(chosen).expanduser()] if chosen else pypi_find("ansible-runner-*/bin")
    if not found:
        raise Failure(f"hosts=INVENTORY: ansible-runner is missing: {setup_hint(ANSIBLE_TARGET)}")
    for name in ("ansible-inventory", "python"):
        if not os.access(found[-1] / name, os.X_OK):
            mend = f" ({ANSIBLE_CHOICE})" if chosen else f": {setup_hint(ANSIBLE_TARGET)}"
            raise Failure(f"hosts=INVENTORY: there is no {name} in {found[-1]}{mend}")
    return found[-1]


def environment_make(programs: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of Ansible. ansible-runner checks keys of hosts only if a variable is set."""
    ssh, *options = ssh_choose(environ)
    common = [shlex.join(options), environ.get("ANSIBLE_SSH_COMMON_ARGS", "")]
    return {
        "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_EXTRA_ARGS": SSH_OPTIONS,
        "ANSIBLE_NOCOLOR": "1", **environ,
        "PATH": f"{programs}{os.pathsep}{environ.get('PATH', os.defpath)}",
        "ANSIBLE_SSH_EXECUTABLE": ssh,
        "ANSIBLE_SSH_COMMON_ARGS": " ".join(filter(None, common)),
        "ANSIBLE_DEPRECATION_WARNINGS": "False"}


def complaint_find(stderr: str) -> str:
    marked = re.search(r"^\s*\[(?:WARNING|ERROR)\]: (.*?)\s*$", stderr, re.MULTILINE)
    return marked[1] if marked else complaint_text(stderr) or "it does not say why"


def inventory_list(path: str) -> JsonObject:
    """What `ansible-inventory --list` prints; UsageError where Ansible cannot read it."""
    if not Path(path).exists():
        raise UsageError(f"hosts={path}: there is no such file")
    programs = programs_find()
    environment = environment_make(programs) | {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True"}
    try:
        done = subprocess.run(
            [programs / "ansible-inventory", "-i", Path(path).absolute(), "--list"],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=LIST_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"hosts={path}: ansible-inventory: {error}") from None
    found = line_read(done.stdout) if done.returncode == 0 else None
    if found is None:
        raise UsageError(f"hosts={path}: Ansible cannot read it: {complaint_find(done.stderr)}")
    return found


def outcomes_read(lines: Iterable[bytes], hosts: Iterable[str],
                  folder: Path) -> dict[str, Outcome] | None:
    """The outcomes of a step, by host. None where the lines end before the step does."""
    found: dict[str, JsonObject] = {}
    for line in lines:
        value = line_read(line) or {}
        if isinstance(value.get("host"), str):
            found[value["host"]] = value
        if isinstance(value.get("end"), str):
            why = str(value.get("why") or f"Ansible reports nothing about it ({value['end']})")
            silent = {"how": "failed", "why": why}
            return {host: outcome_make(found.get(host, silent), folder / f"{host}.out")
                    for host in hosts}
    return None


def outcome_make(line: Mapping[str, Any], output: Path) -> Outcome:
    how, status = str(line.get("how")), line.get("status")
    if how == "ok" and (not isinstance(status, int) or not output.exists()):
        return Outcome("failed", 1, "its output is missing", "", output)
    why = PREAMBLE.sub("", " ".join(str(line.get("why", "")).split()))
    return Outcome(how, status if isinstance(status, int) else 1, why,
                   str(line.get("stderr") or ""), output)


class Driver:
    """The driver process. When its standard input closes, it runs the last step and ends."""

    def __init__(self, inventory: str, folder: Path) -> None:
        self.inventory = str(Path(inventory).absolute())
        self.folder = folder
        self.steps_open = 0  # steps that have not ended yet
        self.spent: Path | None = None  # the folder of the previous step, if it is not kept
        self.log = folder / "driver.log"
        programs = programs_find()
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                [programs / "python", ANSIBLE_PROGRAM, folder], env=environment_make(programs),
                process_group=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.output = LineStream(self.child.stdout)

    def send(self, jobs: Mapping[str, Job], limit_s: float, last: bool = False) -> Path:
        """Sends a step to the driver, which stores the last one. Returns the folder of outputs."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for host, job in jobs.items():
            (folder / f"{host}.json").write_text(json.dumps({
                "command": shlex.join(job.argv), "inputs": [str(path) for path in job.inputs],
                "output": str(folder / f"{host}.out")}))
        self.steps_open += not last
        step = {"inventory": self.inventory, "folder": str(folder), "hosts": list(jobs),
                "limit_s": round(limit_s), "forks": min(len(jobs), FORKS_MAX), "last": last}
        assert self.child.stdin
        try:
            self.child.stdin.write(f"{json.dumps(step)}\n".encode())
            self.child.stdin.flush()
        except BrokenPipeError:
            raise self.failure() from None
        return folder

    def failure(self) -> Failure:
        reason = log_complaint(self.log) or "it does not say why"
        return Failure(f"hosts={self.inventory}: ansible-runner has ended: {reason}")

    def step(self, jobs: Mapping[str, Job], limit_s: float,
             keep: bool = False) -> dict[str, Outcome]:
        """Runs all jobs at once. keep: the outputs stay until the fleet closes."""
        if not jobs:
            return {}
        if self.spent:
            shutil.rmtree(self.spent)
        folder = self.send(jobs, limit_s)
        self.spent = None if keep else folder
        turns = math.ceil(len(jobs) / FORKS_MAX)
        lines = self.output.lines(turns * limit_s + STEP_MARGIN_S + HOST_MARGIN_S * len(jobs))
        found = outcomes_read(lines, jobs, folder)
        if found is None:
            raise self.failure() if self.output.ended else Failure(
                f"hosts={self.inventory}: ansible-runner does not end a step of {limit_s:.0f} s")
        self.steps_open -= 1
        return found

    def close(self) -> dict[str, str]:
        """Makes the driver run the last step and end. Returns hosts where that failed, and why."""
        assert self.child.stdin
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        found: list[JsonObject] = []
        for line in self.output.lines(ANSIBLE_END_LIMIT_S):
            found.append(line_read(line) or {})
            if "end" in found[-1] and self.steps_open:  # the end of a step that was given up
                self.steps_open -= 1
                found.clear()
        process_close(self.child, ANSIBLE_END_LIMIT_S)
        return {str(line["host"]): outcome_make(line, self.log).why for line in found
                if "host" in line and line.get("how") != "ok"}
