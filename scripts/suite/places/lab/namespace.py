# SPDX-License-Identifier: MIT
"""Network namespaces as open files, programs that run inside them, and their sysctls.

A namespace lives while an open file, a process or a name holds it. unshare(2) and setns(2) move one
thread. So a short-lived thread makes a namespace, and a thread enters one only while it starts a
program there.
"""

import contextlib
import ctypes
import errno
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

from suite.base.errors import Failure
from suite.base.installation import setup_hint

CLONE_NEWNET = 0x40000000
OWN_NAMESPACE = "/proc/thread-self/ns/net"
COMMAND_LIMIT_S = 30


class CommandRefused(Failure):
    """ip(8) or tc(8) refused a line. reason: why, without the line."""

    def __init__(self, reason: str, line: str) -> None:
        super().__init__(f"{reason} ({line})")
        self.reason = reason


def kernel_call(name: str, *arguments: int) -> None:
    """Calls a function of the C library that returns 0 or sets errno. Failure says which error."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, name):
        raise Failure("a lab needs network namespaces, which only Linux has")
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        needs = "a lab needs root: " if number == errno.EPERM else ""
        raise Failure(f"{needs}{name}(2): {os.strerror(number)}")


def namespace_make() -> FileIO:
    """A new network namespace, which ends with this file. It has only a loopback, which is down."""
    def make() -> FileIO:
        kernel_call("unshare", CLONE_NEWNET)
        return FileIO(OWN_NAMESPACE)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def namespace_enter(namespace: FileIO) -> None:
    kernel_call("setns", namespace.fileno(), CLONE_NEWNET)


@contextlib.contextmanager
def namespace_inside(namespace: FileIO | None) -> Iterator[None]:
    """Puts the calling thread into a namespace while the context is open; None: it stays."""
    if namespace is None:
        yield
        return
    with FileIO(OWN_NAMESPACE) as before:
        namespace_enter(namespace)
        try:
            yield
        finally:
            namespace_enter(before)


def udp_socket(namespace: FileIO) -> socket.socket:
    """A UDP socket of a namespace. A thread outside can use it."""
    with namespace_inside(namespace):
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def namespace_path(namespace: FileIO) -> str:
    """The path by which other processes open a namespace that this one holds."""
    return f"/proc/{os.getpid()}/fd/{namespace.fileno()}"


def refusal_reason(done: subprocess.CompletedProcess[str]) -> str:
    for line in filter(None, map(str.strip, done.stderr.splitlines())):
        if not line.startswith("Command failed"):
            return line.removeprefix("Error: ").removeprefix("RTNETLINK answers: ").rstrip(".")
    return f"ended with status {done.returncode}"


def output_read(namespace: FileIO | None, *command: str, lines: Sequence[str] = ()) -> str:
    """What ip(8) or tc(8) prints inside a namespace. CommandRefused names the line that fails."""
    with namespace_inside(namespace):
        try:
            done = subprocess.run(command, input="".join(f"{line}\n" for line in lines),
                                  capture_output=True, text=True, timeout=COMMAND_LIMIT_S)
        except FileNotFoundError:
            raise Failure(f"{command[0]} is missing (package iproute2): {setup_hint()}") from None
    if done.returncode != 0:
        given = [f"{command[0]} {line}" for line in lines] or [" ".join(command)]
        failed = re.search(r"^Command failed -:(\d+)", done.stderr, re.MULTILINE)
        raise CommandRefused(refusal_reason(done), given[int(failed[1]) - 1 if failed else 0])
    return done.stdout


def lines_run(namespace: FileIO, program: str, lines: Sequence[str]) -> None:
    if lines:
        output_read(namespace, program, "-batch", "-", lines=lines)


# ---- sysctls: below /proc/sys/net a thread sees the values of its own namespace ----

def sysctl_read(name: str, namespace: FileIO | None = None) -> str:
    """The value of a sysctl like `net.ipv4.tcp_sack`, with single blanks; Failure."""
    try:
        with namespace_inside(namespace):
            return " ".join(Path("/proc/sys", *name.split(".")).read_text().split())
    except OSError as error:
        raise Failure(f"sysctl {name} cannot be read in a network namespace: "
                      f"{error.strerror}") from None


def sysctl_write(name: str, value: str, namespace: FileIO | None = None) -> None:
    """Sets a sysctl; Failure where the kernel refuses the value or changes it."""
    try:
        with namespace_inside(namespace):
            Path("/proc/sys", *name.split(".")).write_text(f"{value}\n")
    except OSError as error:
        raise Failure(f"sysctl {name} does not take {value} in a network namespace: "
                      f"{error.strerror}") from None
    found = sysctl_read(name, namespace)
    if found != value:
        raise Failure(f"sysctl {name} was set to {value} and is {found}")
