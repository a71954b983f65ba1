# SPDX-License-Identifier: MIT
"""Starts programs, here or at another place, reads their output, and ends them in time.

A place adds words before the command of a program and may change its standard input; the program
does not notice. Standard output arrives unchanged. Where standard input reaches the program, it
stays open: when it closes, the program ends.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from suite.base.errors import Failure

GRACE_S = 6.0  # the client needs up to 5 s to end its server; then both are killed
PIECE_BYTES = 1 << 16
SUITE = (sys.executable, "-P", "-m", "suite")  # the command that starts uncork from uncork
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PlacedCommand = tuple[tuple[str, ...], str]  # to start on this machine; its standard input


class Place(Protocol):
    """Where a program runs if it is not simply started here. Equal places are the same place."""

    @property
    def name(self) -> str:
        """The place as messages name it: `in gVisor`."""

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """The command that starts a program there. program: its path here; given: its standard
        input. Failure if nothing can be started there now."""


def process_close(child: subprocess.Popen[Any], grace_s: float) -> None:
    """Closes the child's standard input and waits for its end; kills its group after grace_s."""
    with contextlib.suppress(BrokenPipeError):
        if child.stdin:
            child.stdin.close()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdout:
        child.stdout.close()


def process_end(child: subprocess.Popen[Any]) -> None:
    """Asks the child's group to end, kills it after GRACE_S, and reaps the child."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    process_close(child, GRACE_S)


def signals_unblock() -> None:
    """Unblocks the signals of signals_blocked(); also in a child, which inherits the mask."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextlib.contextmanager
def signals_blocked() -> Iterator[None]:
    """Blocks signals while a child starts: one would end the runner without the child."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signals_unblock()


def process_start(argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a program with pipes, in a process group of its own. options: of Popen. Failure if it
    does not start."""
    try:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                process_group=0, **options)
    except OSError as error:
        raise Failure(f"{argv[0]} does not start: {error.strerror}") from None


def process_run(argv: Sequence[str], given: str = "", limit_s: float | None = None,
                name: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end. Failure if it does not start, or takes longer than limit_s. When
    an error or a signal is raised, all that it started has been ended. name: for messages."""
    child = None
    try:
        with signals_blocked():
            child = process_start(argv, text=True, errors="replace", preexec_fn=signals_unblock,
                                  **{"stderr": subprocess.PIPE, **options})
        stdout, errors = child.communicate(given, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"{name or argv[0]} did not answer in {limit_s:.0f} s") from None
    finally:
        if child and child.returncode is None:
            process_end(child)
    return subprocess.CompletedProcess(argv, child.returncode, stdout, errors)


def first_line(argv: Sequence[str], limit_s: float, failing: bool = False) -> str | None:
    """The first line that a program prints. None if it does not start, prints nothing, takes longer
    than limit_s, or fails. failing: use the line of a program that fails, too."""
    try:
        done = process_run(argv, "", limit_s)
    except Failure:
        return None
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0].strip() if lines and (failing or done.returncode == 0) else None


@dataclass
class Output:
    """The output of a program. The attributes are set after the last of lines(). status: its exit
    status, as in subprocess. torn: the bytes after the last whole line. overdue: whether the
    program was ended because limit_s was over. why: why it was not started elsewhere."""

    limit_s: float = 0.0
    status: int = 0
    stderr: str = ""
    torn: bytes = b""
    overdue: bool = False
    why: str = ""

    @abstractmethod
    def lines(self) -> Iterator[bytes]:
        """Each whole line."""


class ProcessOutput(Output):
    """The Output of a program, which starts now in a process group of its own and is ended after
    limit_s; with boot_s that limit counts from the first output. given: the first of its standard
    input, which then stays open. options: of Popen. Failure if the program does not start."""

    def __init__(self, argv: Sequence[str], limit_s: float, boot_s: float = 0.0, given: str = "",
                 **options: Any) -> None:
        super().__init__(boot_s or limit_s)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lines() closes it
        self.running_s = limit_s
        self.until = time.monotonic() + self.limit_s
        # a thread, because the program may print more than a pipe holds before it reads
        writer = threading.Thread(target=self.input_write, args=(given.encode(),), daemon=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until lines() can end the child
        try:
            self.child = process_start(argv, stderr=self.errors, bufsize=0,
                                       preexec_fn=signals_unblock, **options)
            writer.start()
        except BaseException:
            signals_unblock()
            raise

    def input_write(self, given: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has ended or reads no more
            while given and self.child.stdin:
                given = given[self.child.stdin.write(given):]

    def pieces(self) -> Iterator[bytes]:
        """Yields standard output as it arrives; TimeoutError when the time is over."""
        assert self.child.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, self.until - time.monotonic())):
                if not (piece := self.child.stdout.read(PIECE_BYTES)):
                    return
                yield piece
        raise TimeoutError

    def lines(self) -> Iterator[bytes]:
        """Yields each whole line as soon as it arrives. Afterwards the program has ended."""
        try:
            signals_unblock()
            for number, piece in enumerate(self.pieces()):
                if number == 0 and self.limit_s != self.running_s:
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
            process_close(self.child, 0)
            self.status = self.child.returncode
            with self.errors:
                self.errors.seek(0)
                self.stderr = self.errors.read().decode(errors="replace")
