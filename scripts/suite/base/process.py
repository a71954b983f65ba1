# SPDX-License-Identifier: MIT
"""A program: where it runs, its process with all that this started, its output, time limit and end.

A place is what stands before the command of a program, and what the program is given on standard
input. The measured programs know nothing of it. Standard output comes back as it is; where standard
input reaches the program it stays open as its lifeline.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

GRACE_S = 6.0  # the client tells its server within 5 s; after that both are killed
PIECE_BYTES = 1 << 16
SUITE = (sys.executable, "-P", "-m", "suite")  # uncork, as it runs itself
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class PlacedCommand:
    """What to start here. given: for its standard input."""

    argv: tuple[str, ...]
    given: str = ""


class Place(Protocol):
    """Where a program runs that is not started as it is; two places that are equal are one."""

    @property
    def name(self) -> str:
        """The place as messages name it: `in gVisor`."""

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """What starts a program there, whose path is one of here; given: what it reads. Failure
        where nothing can be started there now."""


def group_kill(child: subprocess.Popen[Any]) -> None:
    """Kills the child's process group: the client and the server it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def process_close(child: subprocess.Popen[Any], grace_s: float) -> None:
    """Closes a child's lifeline, its standard input, reaps it; kills its group after grace_s."""
    with contextlib.suppress(BrokenPipeError):
        if child.stdin:
            child.stdin.close()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        group_kill(child)
        child.wait()
    if child.stdout:
        child.stdout.close()


def process_end(child: subprocess.Popen[Any]) -> None:
    """Asks the child's group to end, kills it after GRACE_S, and reaps the child."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    process_close(child, GRACE_S)


def signals_release() -> None:
    """Lets the signals of signals_held() through, also in a child, which inherits the mask."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Holds back signals that end the runner: one before a child is known here would leave it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signals_release()


def process_run(argv: Sequence[str], given: str, limit_s: float,
                stderr: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Starts a program, gives it text and waits until it has ended. stderr: as of Popen. OSError
    where it does not start. Before TimeoutExpired or another interruption leaves this function, the
    program has been ended with all that it started."""
    child = None
    try:
        with signals_held():
            child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=stderr, text=True, errors="replace",
                                     process_group=0, preexec_fn=signals_release)
        stdout, said = child.communicate(given, timeout=limit_s)
    except BaseException:
        if child:
            process_end(child)
        raise
    return subprocess.CompletedProcess(argv, child.returncode, stdout, said)


def first_line(argv: Sequence[str], limit_s: float, failing: bool = False) -> str | None:
    """The first line that a program prints; None where it does not start, prints nothing, takes
    longer, or fails. failing: its status does not matter."""
    try:
        done = process_run(argv, "", limit_s)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0].strip() if lines and (failing or done.returncode == 0) else None


class Output(Protocol):
    """The output of a program: `lines()` first, then the others tell of its end. torn: what stood
    behind the last whole line. stderr: its standard error. status: as subprocess has it."""

    torn: bytes
    stderr: str
    status: int
    limit_s: float

    @property
    def overdue(self) -> bool:
        """Whether it had to be ended after limit_s."""

    def lines(self) -> Iterator[bytes]:
        """Each whole line."""


class ProcessOutput:
    """The Output of a child, until both of its outputs have ended, or the time is over: then it is
    ended. Meanwhile the child is given its standard input, which then stays open: it may print more
    than a pipe holds before it reads. limit_s counts from its first output, which may take boot_s
    where that is not 0."""

    def __init__(self, child: subprocess.Popen[bytes], limit_s: float, boot_s: float = 0.0,
                 given: bytes = b"") -> None:
        self.child = child
        self.given = given  # what is not written yet
        self.boots, self.running_s = boot_s > 0, limit_s
        self.limit_s = boot_s or limit_s
        self.until = time.monotonic() + self.limit_s
        self.torn, self.stderr, self.status, self.overdue = b"", "", 0, False

    def pieces(self, stderr: bytearray) -> Iterator[bytes]:
        """Standard output as it comes; keeps standard error, gives standard input. TimeoutError."""
        with selectors.DefaultSelector() as selector:
            for stream in filter(None, (self.child.stdout, self.child.stderr)):
                selector.register(stream, selectors.EVENT_READ)
            if self.child.stdin and self.given:
                os.set_blocking(self.child.stdin.fileno(), False)
                selector.register(self.child.stdin, selectors.EVENT_WRITE)
            while any(key.events == selectors.EVENT_READ for key in selector.get_map().values()):
                ready = selector.select(max(0.0, self.until - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    writes = key.fileobj is self.child.stdin
                    piece = self.give(key.fd) if writes else os.read(key.fd, PIECE_BYTES)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self.child.stdout:
                        yield piece
                    elif key.fileobj is self.child.stderr:
                        stderr += piece

    def give(self, descriptor: int) -> bytes:
        """Writes as much as there is room for; gives what is left to be written."""
        try:
            self.given = self.given[os.write(descriptor, self.given[:PIECE_BYTES]):]
        except BrokenPipeError:  # the child has ended, or does not read: its status says so
            self.given = b""
        return self.given

    def lines(self) -> Iterator[bytes]:
        """Each whole line as soon as it comes. Afterwards the child has ended in any case."""
        stderr = bytearray()
        try:
            for number, piece in enumerate(self.pieces(stderr)):
                if number == 0 and self.boots:
                    self.limit_s = self.running_s
                    self.until = time.monotonic() + self.limit_s
                *whole, self.torn = (self.torn + piece).split(b"\n")
                yield from whole
            self.child.wait(max(0.0, self.until - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            self.overdue = True
        finally:
            if self.child.returncode is None:
                process_end(self.child)
            for stream in filter(None, (self.child.stdin, self.child.stdout, self.child.stderr)):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self.stderr, self.status = stderr.decode(errors="replace"), self.child.returncode
