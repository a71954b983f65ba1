# SPDX-License-Identifier: MIT
"""target=ssh:HOST: other machines by ssh(1). `ssh:C+ssh:S+ssh:P`: client, server and proxy on a
machine each; `local` is this machine.

All sessions on another machine share one connection. Its master is a child of the runner, and runs
a shell there that reads a pipe of the runner, then ends all that runs there. So all of it ends with
the runner, however that ends. ssh(1) probes the other machine every two seconds, and gives up after
three missing answers.
"""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from suite.base.client import Client, complaint_text
from suite.base.errors import Failure, UsageError
from suite.base.installation import setup_hint
from suite.base.process import process_close
from suite.places.remote.hosts import HERE, STEP_LIMIT_S, Reasons
from suite.places.remote.pairs import Pairs, RemoteTarget, parts_parse
from suite.places.remote.shell import GREETING, OVERDUE_STATUS, Job, Outcome, exec_line

SSH_CHOICE = "UNCORK_SSH"  # the environment variable that names another ssh, or ssh with options
OPTIONS = (
    "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=2", "-oServerAliveCountMax=3",
    "-oControlPersist=no", "-oClearAllForwardings=yes", "-oForwardAgent=no",
    "-oPermitLocalCommand=no", "-oRemoteCommand=none", "-oRequestTTY=no")
# A session that the master refuses must fail, and not open a connection of its own.
SESSION_OPTIONS = ("-oControlMaster=no", "-oProxyCommand=false", "-oLogLevel=ERROR")
CONNECT_LIMIT_S = 30.0
POLL_S = 0.01
SSH_END_LIMIT_S = 8.0  # programs there are killed after 3 s


def ssh_choose() -> tuple[str, ...]:
    """ssh(1) and its first options: $UNCORK_SSH, else ssh. UsageError where a quote is missing."""
    chosen = os.environ.get(SSH_CHOICE, "")
    try:
        return tuple(shlex.split(chosen)) or ("ssh",)
    except ValueError as error:
        raise UsageError(f"{SSH_CHOICE}={chosen}: {error}: write it as for a shell") from None


class SshPairs(Pairs):
    """masters: the process of each connection, by host. This machine has one too: a shell."""

    def __init__(self, value: str) -> None:
        super().__init__(f"target={value}")
        self.ssh = ssh_choose()
        self.paths = {part.host: self.folder / str(number)
                      for number, part in enumerate(parts_parse(value))}
        self.masters: dict[str, subprocess.Popen[bytes]] = {}

    def line(self, host: str, options: Sequence[str], argv: Sequence[str]) -> tuple[str, ...]:
        if host == HERE:
            return tuple(argv)
        return (*self.ssh, *OPTIONS, *options, "-S", str(self.paths[host]), "--", host,
                exec_line(argv))

    def is_connected(self, host: str) -> bool:
        return host in self.masters and self.masters[host].poll() is None

    def prepare(self, hosts: Iterable[str], folder: Path) -> Reasons:
        self.ready = {key for key in self.ready if self.is_connected(key[0])}
        return super().prepare(hosts, folder)

    def greet(self, hosts: Sequence[str], folder: Path) -> Reasons:
        reasons = {host: why for host in hosts
                   if not self.is_connected(host) and (why := self.master_start(host))}
        return reasons | super().greet([host for host in hosts if host not in reasons], folder)

    def failure(self, host: str, why: str = "") -> str:
        log = self.paths[host].with_suffix(".log").read_text(errors="replace")
        what = "was lost" if host in self.boots else f"cannot be reached by {shlex.join(self.ssh)}"
        return f"{host} {what}: {complaint_text(log) or why}"

    def master_start(self, host: str) -> str:
        """Connects to a host. Returns why that fails; empty if it does not."""
        hold, path = Job("hold", (self.run_name(host),)), self.paths[host]
        path.unlink(missing_ok=True)
        printed = path.with_suffix(".out")
        try:
            with open(path.with_suffix(".log"), "wb") as log, open(printed, "wb") as out:
                master = subprocess.Popen(self.line(host, ["-M"], hold.argv), process_group=0,
                                          stdin=subprocess.PIPE, stdout=out, stderr=log)
        except OSError as error:
            return f"{self.ssh[0]} does not start ({error.strerror}): {setup_hint('ssh')}"
        self.masters[host] = master
        assert master.stdin
        with suppress(BrokenPipeError):
            master.stdin.write(hold.input)
            master.stdin.flush()
        until = time.monotonic() + CONNECT_LIMIT_S
        while self.is_connected(host) and time.monotonic() < until:
            if GREETING.encode() in map(bytes.strip, printed.read_bytes().splitlines()):
                return ""
            time.sleep(POLL_S)
        process_close(self.masters.pop(host), 0)
        return self.failure(host, f"it did not run sh within {CONNECT_LIMIT_S:.0f} s")

    def step(self, jobs: Mapping[str, Job], limit_s: float = STEP_LIMIT_S) -> dict[str, Outcome]:
        """One job after the other, because the few hosts of a target wait for each other anyway."""
        return {host: self.job_run(host, job, limit_s) for host, job in jobs.items()}

    def job_run(self, host: str, job: Job, limit_s: float) -> Outcome:
        done = None
        if self.is_connected(host):
            try:
                done = subprocess.run(self.line(host, SESSION_OPTIONS, job.argv),
                                      input=job.input, capture_output=True, timeout=limit_s,
                                      process_group=0)
            except subprocess.TimeoutExpired:
                return Outcome(limit_s, OVERDUE_STATUS,
                               f"it does not answer within {limit_s:.0f} s")
        if done is None or not self.is_connected(host):
            return Outcome(why=self.failure(host, "the connection has ended"))
        return Outcome(limit_s, done.returncode, done.stderr.decode(errors="replace"),
                       stdout=done.stdout)

    def lose(self, reasons: Reasons) -> None:
        super().lose(reasons)
        for host in reasons.keys() & self.masters.keys():
            process_close(self.masters.pop(host), 0)

    def by_hand(self, host: str, command: Sequence[str]) -> str:
        line = shlex.join(command)
        return line if host == HERE else shlex.join([*self.ssh, host, line])

    def close(self) -> None:
        """Closes the connections, which ends all that runs elsewhere."""
        for master in self.masters.values():
            process_close(master, SSH_END_LIMIT_S)
        super().close()


class Ssh(RemoteTarget):
    """Ends on one or several machines. Each cell has a server and a proxy of its own."""

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client, SshPairs(value))

    @classmethod
    def require(cls, value: str) -> None:
        if shutil.which(program := ssh_choose()[0]) is None:
            raise Failure(f"target=ssh: {program} is missing: {setup_hint('ssh')}")

    def close(self) -> None:
        self.pairs.close()
