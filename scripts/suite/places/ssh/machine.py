# SPDX-License-Identifier: MIT
"""Starts programs and servers on a machine: this one, or another by ssh(1).

All sessions on another machine share one connection. Its master is a child of the runner, and runs
a shell there that reads a pipe of the runner. So the connection ends with the runner, however that
ends. ssh(1) probes the other machine every two seconds, and gives up after three missing answers.

ssh(1) passes a command to the login shell of the user: sh, csh or fish. They agree about text in
single quotes, if it is one line without a quote, a backslash and an exclamation mark. So commands
use only such text. What does more than start a program is a script for sh.
"""

import contextlib
import os
import re
import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from suite.base.client import complaint_text, line_read
from suite.base.errors import Failure, Unreachable, UsageError
from suite.base.installation import setup_hint
from suite.base.process import PIECE_BYTES, group_kill, process_close

SSH = "ssh"
SSH_CHOICE = "UNCORK_SSH"  # the environment variable that names another ssh, or ssh with options
OPTIONS = tuple(word for option in (
    "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=2", "ServerAliveCountMax=3",
    "ControlPersist=no", "ClearAllForwardings=yes", "ForwardAgent=no", "PermitLocalCommand=no",
    "RemoteCommand=none", "RequestTTY=no",
) for word in ("-o", option))
# A session that the master refuses must fail, and not open a connection of its own.
SESSION_OPTIONS = ("-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "LogLevel=ERROR")
CONNECT_LIMIT_S = 30.0
ANSWER_LIMIT_S = 4.0
READY_LIMIT_S = 20.0  # for the ready line of a server
SSH_END_LIMIT_S = 3.0
GREETING = "uncork-host"
CACHE = "${XDG_CACHE_HOME:-$HOME/.cache}"
# The boot is the id that the client reports too; without that file the name of the host.
GREETING_LINE = (
    'boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot=$(hostname); '
    f'echo "{GREETING}|$(uname -s) $(uname -m)|$boot|{CACHE}|${{SSH_CONNECTION:-}}"')
UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
KEY_BYTES = 32
KEY_FILE = "/dev/fd/3"  # where a program reads its key
# Reads a line, the key, from standard input and passes it to the program by a pipe, because other
# users could read an argument, the environment or a file. The program reads the rest of standard
# input; when it ends, the runner has ended.
KEYED = 'IFS= read -r key; exec 4<&0; echo "$key" | { exec 3<&0 0<&4 4<&-; exec "$@"; }'
ADDRESS_WORDS = {"server": "server", "proxy": "via"}  # the word with the address of each end


# ---- commands that a login shell of any kind understands ----

def word_quote(word: str) -> str:
    """A quoted argument for any shell; Failure for one that some shell would misread."""
    found = UNQUOTABLE.search(word)
    if found:
        raise Failure(
            f"{word!r} cannot be passed to the shell of another machine: {found[0]!r} is in it")
    return f"'{word}'"


def exec_line(argv: Sequence[str]) -> str:
    return " ".join(["exec", *map(word_quote, argv)])


def script_argv(script: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """The command that runs a script for sh; $1 is the first of the arguments."""
    return "sh", "-c", script, "sh", *arguments


def argv_with_key(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs a program whose key is the first line of standard input."""
    return script_argv(KEYED, argv)


def key_line(key: str) -> str:
    """A line of a key file. key: hexadecimal digits."""
    return f"uncork:{key}\n"


def key_options(ends: Mapping[str, str]) -> tuple[str, ...]:
    """The client's options for ends with a key. ends: the words with their addresses."""
    return ("--psk", KEY_FILE) if ends else ()


def endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


# ---- what comes back ----

@dataclass(frozen=True)
class Greeting:
    """What a machine says about itself. Addresses: of the connection, as that machine sees them."""

    system: str
    boot: str
    cache: str
    peer_address: str
    own_address: str


def greeting_parse(line: bytes) -> Greeting | None:
    """The line that GREETING_LINE prints; None for any other line of a login shell."""
    words = line.decode(errors="replace").strip().split("|")
    if len(words) != 5 or words[0] != GREETING:
        return None
    seen = words.pop().split()
    known = len(seen) == 4 and "UNKNOWN" not in seen
    return Greeting(*words[1:], *(seen[::2] if known else ("", "")))


def ready_parse(line: bytes) -> int | None:
    """The port of a ready line; None for any other."""
    ready = (line_read(line) or {}).get("ready")
    port = ready.get("port") if isinstance(ready, dict) else None
    return port if type(port) is int else None


class LineStream:
    """The lines of a stream as they arrive. ended: whether the stream has ended."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream
        self.stream = stream
        self.rest = b""
        self.ended = False

    def lines(self, limit_s: float) -> Iterator[bytes]:
        """Each whole line, until the stream ends or after limit_s."""
        until = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.stream, selectors.EVENT_READ)
            while not self.ended and selector.select(max(0.0, until - time.monotonic())):
                piece = os.read(self.stream.fileno(), PIECE_BYTES)
                self.ended = not piece
                *whole, self.rest = (self.rest + piece).split(b"\n")
                yield from whole


def log_complaint(path: Path) -> str:
    return complaint_text(path.read_text(errors="replace")) if path.exists() else ""


def ssh_choose(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """ssh(1) and its first options: $UNCORK_SSH, else ssh. UsageError where a quote is missing."""
    chosen = environ.get(SSH_CHOICE, "")
    try:
        return tuple(shlex.split(chosen)) or (SSH,)
    except ValueError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise UsageError(f"{SSH_CHOICE}={chosen}: {reason}: write it as for a shell") from None


class LocalMachine:
    """This machine; RemoteMachine overrides what differs."""

    name = "this machine"

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that starts a program there; Unreachable where that is impossible now."""
        return tuple(argv)

    def answers(self) -> bool:
        return True


class RemoteMachine(LocalMachine):
    """Another machine; opening it raises Failure. control: the path of the connection's socket.
    copies: the folders of programs there, by the folder here."""

    def __init__(self, host: str, control: Path) -> None:
        self.name = host
        self.control = control
        self.log = control.with_suffix(".log")
        self.ssh = ssh_choose()
        self.retried = False
        self.connect()
        self.boot = self.greeting.boot

    @property
    def lost(self) -> bool:
        return self.master.poll() is not None

    def connect(self) -> None:
        """Connects and reads the greeting; Failure where that fails."""
        self.control.unlink(missing_ok=True)
        line = exec_line(script_argv(f"{GREETING_LINE}; exec cat >/dev/null"))
        command = [*self.ssh, *OPTIONS, "-M", "-S", str(self.control), "--", self.name, line]
        try:
            with open(self.log, "wb") as log:
                master = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=log, process_group=0)
        except OSError as error:
            raise Failure(f"{self.ssh[0]} does not start ({error.strerror}): "
                          f"{setup_hint('ssh')}") from None
        try:
            greeting = next(filter(None, map(
                greeting_parse, LineStream(master.stdout).lines(CONNECT_LIMIT_S))), None)
        except BaseException:
            process_close(master, SSH_END_LIMIT_S)
            raise
        if greeting is None:
            process_close(master, 0)
            raise Failure(
                f"{self.name} cannot be reached by {shlex.join(self.ssh)}: {self.complaint()}")
        self.master, self.greeting = master, greeting
        self.copies: dict[Path, str] = {}

    def complaint(self) -> str:
        return log_complaint(self.log) or f"it did not run sh within {CONNECT_LIMIT_S:.0f} s"

    def require(self) -> None:
        """Reconnects a lost connection, once in a round. Unreachable where that fails, and where
        the machine was booted since the first connection: another boot needs another session."""
        if self.lost:
            lost = Unreachable(f"{self.name} was lost: {self.complaint()}")
            if self.retried:
                raise lost
            self.retried = True
            process_close(self.master, 0)
            try:
                self.connect()
            except Failure:
                raise lost from None
        if self.greeting.boot != self.boot:
            raise Unreachable(f"{self.name} was lost: it has been booted since")

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        self.require()
        return (*self.ssh, *OPTIONS, *SESSION_OPTIONS, "-S", str(self.control), "--", self.name,
                exec_line(argv))

    def run(self, script: str, arguments: Sequence[str], limit_s: float,
            given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Runs a script for sh there. Unreachable without an answer, or after limit_s."""
        command = self.command(script_argv(script, arguments))
        try:
            done = subprocess.run(command, input=given, capture_output=True, timeout=limit_s,
                                  process_group=0)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{self.name} does not answer within {limit_s:.0f} s") from None
        if done.returncode == 255 and self.lost:
            raise Unreachable(f"{self.name} was lost: {self.complaint()}")
        return done

    def answers(self) -> bool:
        """Whether the machine answers; kills the connection if not."""
        if not self.lost:
            with contextlib.suppress(Unreachable):
                if self.run("exit 0", (), ANSWER_LIMIT_S).returncode == 0:
                    return True
            group_kill(self.master)
            self.master.wait()
        return False


@contextlib.contextmanager
def server_started(machine: LocalMachine, program: str, address: str, key: str, log: Path,
                   options: Sequence[str] = ()) -> Iterator[str]:
    """Starts a server that ends with the context or with this process. Yields its endpoint. log:
    for its standard error."""
    command = machine.command(argv_with_key([
        program, "--with-parent", "--listen", endpoint(address, 0), "--psk", KEY_FILE, *options]))
    with open(log, "wb") as file:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=file, process_group=0)
    assert child.stdin
    port = None
    try:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(key_line(key).encode())
            child.stdin.flush()
            port = next(filter(None, map(
                ready_parse, LineStream(child.stdout).lines(READY_LIMIT_S))), None)
        if port is None:
            process_close(child, 0)
            reason = log_complaint(log).removeprefix("uncork-server: ")
            lost = "" if machine.answers() else f"{machine.name} was lost: "
            raise Unreachable(f"{lost}no server on {machine.name}: "
                              f"{reason or f'it was not ready within {READY_LIMIT_S:.0f} s'}")
        yield endpoint(address, port)
    finally:
        process_close(child, SSH_END_LIMIT_S)
