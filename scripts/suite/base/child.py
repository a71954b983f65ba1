# SPDX-License-Identifier: MIT
"""A process under way: its lines as they come, its time limit, and its end, with all that it
started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

GRACE_S = 6.0  # the client tells its server within 5 s; after that both are killed
PIECE_BYTES = 1 << 16
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def group_kill(child: subprocess.Popen[bytes]) -> None:
    """Kills the child's process group: the client and the server it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def child_end(child: subprocess.Popen[bytes]) -> None:
    """Asks the child's group to end, kills it if it does not, and reaps the child."""
    if child.stdin:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        group_kill(child)
        child.wait()


def signals_release() -> None:
    """Lets the signals of signals_held() through, in a child too, which inherits that they are
    held."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Holds back what ends the runner: one that came between the start of a child and its first
    mention here would leave the child behind."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signals_release()


def child_ask(argv: Sequence[str], given: str, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Starts a program, gives it text and waits until it has ended. TimeoutExpired, or whatever
    else interrupts it, after it has been ended with all that it started; OSError where it does not
    start."""
    child = None
    try:
        with signals_held():
            child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, errors="replace",
                                     process_group=0, preexec_fn=signals_release)
        stdout, stderr = child.communicate(given, timeout=limit_s)
    except BaseException:
        if child:
            child_end(child)
        raise
    return subprocess.CompletedProcess(argv, child.returncode, stdout, stderr)


class Heard(Protocol):
    """What a program has said: `lines()` first, then what the others tell of its end."""

    torn: bytes
    limit_s: float

    @property
    def stderr(self) -> str:
        """What it said on standard error."""

    @property
    def status(self) -> int:
        """How it ended, as subprocess has it."""

    @property
    def overdue(self) -> bool:
        """Whether it had to be ended."""

    def lines(self) -> Iterator[bytes]:
        """Each whole line."""


class Listener:
    """Listens to a child until both of its outputs have ended, or the time is over: then it is
    ended.

    Meanwhile the child is given its standard input, which then stays open: it may say more than a
    pipe holds before it reads.

    After `lines()`: `torn` is what stood behind the last whole line, `stderr` what the child said
    of itself, `status` how it ended, `overdue` that it had to be ended. limit_s counts from the
    first that it prints, which may take boot_s where that is not 0.
    """

    def __init__(self, child: subprocess.Popen[bytes], limit_s: float, boot_s: float = 0.0,
                 given: bytes = b"") -> None:
        self.child = child
        self.given = given  # what is not written yet
        self.once_started_s = limit_s
        self.limit_s = boot_s or limit_s
        self.started = not boot_s
        self.until = time.monotonic() + self.limit_s
        self.torn = b""
        self.said = bytearray()
        self.overdue = False

    @property
    def stderr(self) -> str:
        """What it said on standard error."""
        return self.said.decode(errors="replace")

    @property
    def status(self) -> int:
        """How it ended, as subprocess has it."""
        return self.child.returncode

    def pieces(self) -> Iterator[bytes]:
        """Standard output as it comes. Standard error is kept, and standard input is given."""
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
                    given = key.fileobj is self.child.stdin
                    piece = self.give(key.fd) if given else os.read(key.fd, PIECE_BYTES)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self.child.stdout:
                        yield piece
                    elif key.fileobj is self.child.stderr:
                        self.said += piece

    def give(self, descriptor: int) -> bytes:
        """Writes as much as there is room for; gives what is left to be written."""
        try:
            self.given = self.given[os.write(descriptor, self.given[:PIECE_BYTES]):]
        except BrokenPipeError:  # the child has ended, or does not read: its status says so
            self.given = b""
        return self.given

    def note_start(self) -> None:
        """From its first output on the limit counts."""
        if not self.started:
            self.started = True
            self.limit_s = self.once_started_s
            self.until = time.monotonic() + self.limit_s

    def wait(self) -> None:
        """Until it has ended."""
        try:
            self.child.wait(max(0.0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def lines(self) -> Iterator[bytes]:
        """Each whole line as soon as it has come. Whatever interrupts it, the child has ended
        afterwards."""
        try:
            for piece in self.pieces():
                self.note_start()
                *whole, self.torn = (self.torn + piece).split(b"\n")
                yield from whole
            self.wait()
        except TimeoutError:
            self.overdue = True
        finally:
            if self.child.returncode is None:
                child_end(self.child)
            for stream in filter(None, (self.child.stdin, self.child.stdout, self.child.stderr)):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
