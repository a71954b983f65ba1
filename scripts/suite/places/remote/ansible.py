# SPDX-License-Identifier: MIT
"""hosts=INVENTORY: many pairs of hosts by Ansible, which reads the inventory and connects to them.

Ansible is started for each step, with an action of ours that needs only sh on a host
(scripts/ansible). Jobs and outcomes are files of a folder. When the runner ends, in whatever way, a
guard stops the programs on all hosts that ever greeted.
"""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.base.client import ROOT, Client, complaint_text, line_read
from suite.base.errors import Failure, UsageError, error_in
from suite.base.installation import pypi_find, setup_hint
from suite.base.process import ProcessOutput, process_close, process_run
from suite.base.text import say
from suite.places.remote.hosts import STEP_LIMIT_S, Reasons
from suite.places.remote.inventory import pairs_read
from suite.places.remote.pairs import Pairs, RemoteTarget
from suite.places.remote.shell import SCRIPT, Job, Outcome
from suite.places.remote.ssh import ssh_choose
from suite.places.target import Target
from suite.result.record import JsonObject

ACTION, ACTIONS = "uncork", ROOT / "scripts" / "ansible"
ANSIBLE_CHOICE = "UNCORK_ANSIBLE"  # the environment variable that names another folder of programs
ANSIBLE_TARGET = "fleet"  # its name in scripts/setup/targets
PROGRAMS = ("ansible-inventory", "ansible")
LIST_LIMIT_S = 120.0
ANSIBLE_END_LIMIT_S = 120.0
STEP_MARGIN_S = 60.0  # a step may take so much longer than its jobs, and
HOST_MARGIN_S = 0.5  # so much longer for each host
FORKS_MAX = 500  # a fork takes 12 MiB
SSH_OPTIONS = "-o BatchMode=yes -o ServerAliveInterval=2 -o ServerAliveCountMax=3"
PREAMBLE = re.compile(r"^.*(?:over|via) ssh: |^Task failed: ")  # Ansible's, before that of ssh
WHY_MAX = 2000  # characters
# For bash: runs a program. When standard input ends before it, all that it has started ends too.
STEP = 'exec "$@" < <(exec 2>/dev/null; cat; kill -0 $$ && kill -TERM -- -$$)'
# $1: the folder of the run; the rest: ssh(1). Waits for the end of the runner and of its last step,
# which have the other end of standard input. Runs the command in the file `last`, if it is there.
# ssh(1) would keep its connections open for a minute.
GUARD = """\
trap '' INT TERM HUP; cat >/dev/null; cd "$1" || exit; shift
[ ! -e last ] || sh last
for path in ssh/*; do "$@" -o ControlPath="$path" -O exit any; done
rm -rf "$PWD"
"""


def programs_find() -> Path:
    """The folder with the programs of Ansible; Failure without it."""
    chosen = os.environ.get(ANSIBLE_CHOICE)
    found = [Path(chosen).expanduser()] if chosen else pypi_find("ansible-*/bin")
    if not found:
        raise Failure(f"hosts=INVENTORY: ansible-core is missing: {setup_hint(ANSIBLE_TARGET)}")
    for name in PROGRAMS:
        if not os.access(found[-1] / name, os.X_OK):
            mend = f" ({ANSIBLE_CHOICE})" if chosen else f": {setup_hint(ANSIBLE_TARGET)}"
            raise Failure(f"hosts=INVENTORY: there is no {name} in {found[-1]}{mend}")
    return found[-1]


def environment_make() -> dict[str, str]:
    """The environment of Ansible."""
    ssh, *options = ssh_choose()
    common = [shlex.join(options), os.environ.get("ANSIBLE_SSH_COMMON_ARGS", "")]
    return {
        "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_EXTRA_ARGS": SSH_OPTIONS,
        "ANSIBLE_NOCOLOR": "1", **os.environ,
        "PATH": f"{programs_find()}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_ACTION_PLUGINS": str(ACTIONS),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True",
        "ANSIBLE_SSH_EXECUTABLE": ssh,
        "ANSIBLE_SSH_COMMON_ARGS": " ".join(filter(None, common)),
        "ANSIBLE_DEPRECATION_WARNINGS": "False"}


def complaint_find(stderr: str) -> str:
    marked = re.search(r"^\s*\[(?:WARNING|ERROR)\]: (.*?)\s*$", stderr, re.MULTILINE)
    return marked[1] if marked else complaint_text(stderr) or "it does not say why"


def inventory_list(path: str) -> JsonObject:
    """What `ansible-inventory --list` prints; UsageError where Ansible cannot read it."""
    if not Path(path).exists():
        raise UsageError("there is no such file")
    done = process_run(["ansible-inventory", "-i", str(Path(path).absolute()), "--list"], "",
                       LIST_LIMIT_S, env=environment_make())
    found = line_read(done.stdout) if done.returncode == 0 else None
    if found is None:
        raise UsageError(f"Ansible cannot read it: {complaint_find(done.stderr)}")
    return found


def outcome_read(folder: Path, host: str, silent: str) -> Outcome:
    """The outcome of a host, from the files of our action. silent: why there may be none."""
    try:
        found = json.loads((folder / f"{host}.result").read_bytes())
    except (OSError, ValueError):
        return Outcome(why=f"{host}: {silent}")
    if why := found.get("why"):
        lost = " cannot be reached" if found["unreachable"] else ""
        return Outcome(why=f"{host}{lost}: {PREAMBLE.sub('', ' '.join(why.split()))[-WHY_MAX:]}")
    return Outcome(status=found["status"], stderr=found["stderr"],
                   stdout=(folder / f"{host}.out").read_bytes())


class Fleet(Pairs):
    """All pairs of an inventory. values: of `target`, one for each pair."""

    keeps_servers = True

    def __init__(self, path: str) -> None:
        with error_in(f"hosts={path}: "):
            self.values = pairs_read(inventory_list(path))
        super().__init__(f"hosts={path}")
        self.path = path
        self.environment = environment_make() | {
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "ssh")}
        self.guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", self.folder, *ssh_choose(),
             *shlex.split(self.environment["ANSIBLE_SSH_COMMON_ARGS"])],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, process_group=0)

    def step_write(self, jobs: Mapping[str, Job], limit_s: float) -> tuple[Path, list[str]]:
        """A folder with the files of a step, and the command that runs it."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "hosts").write_text("".join(f"{host}\n" for host in jobs))
        for host, job in jobs.items():
            (folder / f"{host}.json").write_text(json.dumps({
                "command": shlex.join(job.argv), "script": SCRIPT,
                "files": [str(path) for path in job.files], "given": job.given}))
        return folder, [
            "ansible", "all", "-i", str(Path(self.path).absolute()),
            "--limit", f"@{folder}/hosts", "--forks", str(min(len(jobs), FORKS_MAX)),
            "--task-timeout", f"{limit_s:.0f}",
            "-m", ACTION, "-a", json.dumps({"folder": str(folder)})]

    def step(self, jobs: Mapping[str, Job], limit_s: float = STEP_LIMIT_S) -> dict[str, Outcome]:
        if not jobs:
            return {}
        folder, command = self.step_write(jobs, limit_s)
        turns = math.ceil(len(jobs) / FORKS_MAX)
        assert self.guard.stdin
        output = ProcessOutput(
            ("bash", "-c", STEP, "uncork", *command),
            turns * limit_s + STEP_MARGIN_S + HOST_MARGIN_S * len(jobs), env=self.environment,
            pass_fds=(self.guard.stdin.fileno(),))
        for _ in output.lines():
            pass  # outcomes are in files
        silent = (f"Ansible does not end a step of {limit_s:.0f} s" if output.overdue else
                  f"Ansible reports nothing about it ({complaint_find(output.stderr)})")
        outcomes = {host: outcome_read(folder, host, silent) for host in jobs}
        shutil.rmtree(folder)
        return outcomes

    def greet(self, hosts: Sequence[str], folder: Path) -> Reasons:
        """Afterwards the guard has the step that stops programs on all hosts greeted so far."""
        reasons = super().greet(hosts, folder)
        step, command = self.step_write(self.stops(), STEP_LIMIT_S)
        (step / "command").write_text(f"{shlex.join(command)}\n")
        (step / "command").replace(self.folder / "last")
        return reasons

    def stops(self) -> dict[str, Job]:
        """The jobs that stop all programs, on all hosts that have ever greeted."""
        return {host: Job("stop", (self.run_name(host),)) for host in self.boots}

    def by_hand(self, host: str, command: Sequence[str]) -> str:
        return shlex.join(["ansible", "-i", self.path, host, "-m", "raw", "-a",
                           shlex.join(command)])

    def close(self) -> None:
        """Stops all programs on all hosts; prints a line for each host where that failed."""
        try:
            for host, outcome in self.step(self.stops()).items():
                if outcome.failed:
                    why = outcome.reason(host).partition(": ")[2]
                    say(f"programs on {host} could not be stopped, and end by themselves: {why}")
            (self.folder / "last").unlink(missing_ok=True)
        finally:
            process_close(self.guard, ANSIBLE_END_LIMIT_S)
            super().close()

    def target(self, value: str, client: Client) -> Target:
        return RemoteTarget(value, client, self)
