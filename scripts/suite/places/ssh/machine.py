# SPDX-License-Identifier: MIT
"""A machine on which programs are started: this one, or another by ssh(1).

All sessions on another machine share one connection, whose master is a child of ours with a pipe of
ours as its standard input: what it runs there reads that pipe, so that the connection ends when we
do, however that is. ssh(1) asks the other end every two seconds and gives up after the third answer
that does not come.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from suite.base.child import group_kill
from suite.base.errors import Failure, Unreachable, UsageError
from suite.places.ssh.shell import script_words, words_line

PROGRAM = "ssh"
CHOICE = "UNCORK_SSH"  # the environment's word for another ssh, or the same with options
OPTIONS = tuple(word for option in (
    "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=2", "ServerAliveCountMax=3",
    "ControlPersist=no",
    "ClearAllForwardings=yes", "ForwardAgent=no", "PermitLocalCommand=no", "RemoteCommand=none",
    "RequestTTY=no",
) for word in ("-o", option))
# A session that the master does not take shall fail, and not make a connection of its own.
SESSION_OPTIONS = ("-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "LogLevel=ERROR")
OPENS_S = 30.0
ANSWERS_S = 4.0
ENDS_S = 3.0
GREETING = "uncork-host"
CACHE = "${XDG_CACHE_HOME:-$HOME/.cache}"
# Its boot as the client tells it: the name where there is no such file.
GREETING_LINE = ('boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot=$(hostname); '
              f'echo "{GREETING}|$(uname -s) $(uname -m)|$boot|{CACHE}|${{SSH_CONNECTION:-}}"')
GREETING_SCRIPT = f"{GREETING_LINE}; exec cat >/dev/null"
INSTALL = "scripts/setup/target ssh installs it"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Greeting:
    """What a machine said of itself. seen_from, seen_at: the addresses of both ends of the
    connection, as it sees them."""

    system: str
    boot: str
    cache: str
    seen_from: str
    seen_at: str


def greeting_parse(line: bytes) -> Greeting | None:
    """What stands in the line that GREETING_LINE prints; None for any other, which a login shell may
    print before it."""
    words = line.decode(errors="replace").strip().split("|")
    if len(words) != 5 or words[0] != GREETING:
        return None
    _, system, boot, cache, connection = words
    seen = connection.split()
    seen_from, seen_at = (seen[0], seen[2]) if len(seen) == 4 and "UNKNOWN" not in seen else ("",
        "")
    return Greeting(system, boot, cache, seen_from, seen_at)


def line_await(stream: IO[bytes], parse: Callable[[bytes], Found | None],
               limit_s: float) -> Found | None:
    """What the first line means that means something; None where none does before the output ends
    or the time is over."""
    until, rest = time.monotonic() + limit_s, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select(max(0.0, until - time.monotonic())):
            piece = os.read(stream.fileno(), 4096)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            found = next(filter(None, map(parse, lines)), None)
            if found is not None:
                return found
    return None


def child_leave(child: subprocess.Popen[bytes], grace_s: float = ENDS_S) -> None:
    """Closes the pipe that a child lives by, and waits for its end; it is killed where that does
    not come."""
    if child.stdin:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        group_kill(child)
        child.wait()
    if child.stdout:
        child.stdout.close()


def said_last(path: Path) -> str:
    """The last line that a program has said, without its end."""
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def ssh_choose(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """ssh(1) and its first options: $UNCORK_SSH, else ssh. UsageError where it has a quote too
    few."""
    chosen = environ.get(CHOICE, "")
    try:
        return tuple(shlex.split(chosen)) or (PROGRAM,)
    except ValueError as error:
        raise UsageError(
            f"{CHOICE}={chosen}: {str(error)[:1].lower()}{str(error)[1:]}: write it as for a shell") from None


class LocalMachine:
    """This machine: what the others have in common with it."""

    name = "this machine"
    lost = False

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        """What starts a program there. Unreachable where nothing can be started there now."""
        return tuple(words)

    def answers(self) -> bool:
        """Whether it is there: asks it."""
        return True

    def round_begin(self) -> None:
        """A machine that was lost may be tried again, once."""

    def close(self) -> None:
        """Ends the connection, and by that all that it has started there."""


class RemoteMachine(LocalMachine):
    """Another machine. Opening it raises Failure; `control` is a path of ours for its socket,
    `control`.log what ssh says."""

    def __init__(self, host: str, control: Path) -> None:
        self.name = host
        self.control = control
        self.ssh = ssh_choose()
        self.tried = False
        # so many were made: what was found on one may be different on the next
        self.connections = 0
        self.master, self.greeting = self.connect()
        self.boot = self.greeting.boot

    @property
    def log(self) -> Path:
        """What the master has said."""
        return self.control.with_suffix(".log")

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self.master.poll() is not None

    def connect(self) -> tuple[subprocess.Popen[bytes], Greeting]:
        """A new connection, and what the machine says of itself. Failure where there is none within
        the time."""
        self.control.unlink(missing_ok=True)
        line = words_line(script_words(GREETING_SCRIPT))
        command = [*self.ssh, *OPTIONS, "-M", "-S", str(self.control), "--", self.name, line]
        try:
            with open(self.log, "wb") as log:
                master = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=log,
                                          process_group=0)
        except OSError as error:
            raise Failure(f"{self.ssh[0]} does not start ({error.strerror}): {INSTALL}") from None
        assert master.stdout
        try:
            greeting = line_await(master.stdout, greeting_parse, OPENS_S)
        except BaseException:
            child_leave(master)
            raise
        if greeting is None:
            child_leave(master, 0)
            raise Failure(
                f"{self.name} cannot be reached by {shlex.join(self.ssh)}: {self.complaint()}")
        self.connections += 1
        return master, greeting

    def complaint(self) -> str:
        """Why there is no connection."""
        return said_last(self.log) or f"it did not run sh within {OPENS_S:.0f} s"

    def require(self) -> None:
        """Makes a new connection where the last was lost, once a round; Unreachable where there is
        none, or where the machine was booted meanwhile: what it measures now is of another
        session."""
        if self.lost:
            reason = self.complaint()
            if self.tried:
                raise Unreachable(f"{self.name} was lost: {reason}")
            self.tried = True
            child_leave(self.master, 0)
            try:
                self.master, self.greeting = self.connect()
            except Failure:
                raise Unreachable(f"{self.name} was lost: {reason}") from None
        if self.greeting.boot != self.boot:
            raise Unreachable(f"{self.name} was lost: it has been booted since")

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        """A session on the connection."""
        self.require()
        return (*self.ssh, *OPTIONS, *SESSION_OPTIONS, "-S", str(self.control), "--", self.name,
                words_line(words))

    def run(
        self, script: str, arguments: Sequence[str], limit_s: float, given: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """What a script for sh does there. Unreachable where the connection or the time is over."""
        command = self.command(script_words(script, arguments))
        try:
            done = subprocess.run(command, input=given, capture_output=True, timeout=limit_s,
                                  process_group=0)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{self.name} does not answer within {limit_s:.0f} s") from None
        if done.returncode == 255 and self.lost:
            raise Unreachable(f"{self.name} was lost: {self.complaint()}")
        return done

    def answers(self) -> bool:
        """Whether it does; a connection over which nothing comes back is given up."""
        if not self.lost:
            with contextlib.suppress(Unreachable):
                if self.run("exit 0", (), ANSWERS_S).returncode == 0:
                    return True
            group_kill(self.master)
            self.master.wait()
        return False

    def round_begin(self) -> None:
        """May be tried again, once."""
        self.tried = False

    def close(self) -> None:
        """Ends the connection."""
        child_leave(self.master)
