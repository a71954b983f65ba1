# SPDX-License-Identifier: MIT
"""Network namespaces as descriptors. One lives while a descriptor, a process or a name holds it.

unshare(2) and setns(2) move one thread, so a namespace is made by a thread that ends at once, and
whoever starts a program in one is inside only for that moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from suite.base.errors import Failure

CLONE_NEWNET = 0x40000000
OWN = "/proc/thread-self/ns/net"
COMMAND_SECONDS = 30


class Refused(Failure):
    """ip(8) or tc(8) refused a line; `reason` is why, without the line."""

    def __init__(self, reason: str, line: str) -> None:
        super().__init__(f"{reason} ({line})")
        self.reason = reason


def kernel_call(name: str, *arguments: int) -> None:
    """A call of the C library that gives 0 or sets errno; Failure says which and why."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, name):
        raise Failure("a lab needs network namespaces, which only Linux has")
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        needs = "a lab needs root: " if number == errno.EPERM else ""
        raise Failure(f"{needs}{name}(2): {os.strerror(number)}")


def namespace_make() -> int:
    """A descriptor of a new network namespace, which has nothing but a loopback that is down."""
    made: list[int | Failure] = []

    def make() -> None:
        try:
            kernel_call("unshare", CLONE_NEWNET)
            made.append(os.open(OWN, os.O_RDONLY | os.O_CLOEXEC))
        except Failure as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], Failure):
        raise made[0]
    return made[0]


@contextlib.contextmanager
def namespace_scratch() -> Iterator[int]:
    """A namespace to try something in."""
    descriptor = namespace_make()
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def namespace_enter(descriptor: int) -> None:
    """Moves the calling thread for good."""
    kernel_call("setns", descriptor, CLONE_NEWNET)


@contextlib.contextmanager
def namespace_inside(descriptor: int) -> Iterator[None]:
    """The calling thread, and what it starts, is in the namespace meanwhile."""
    before = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        namespace_enter(descriptor)
        try:
            yield
        finally:
            namespace_enter(before)
    finally:
        os.close(before)


def descriptor_path(descriptor: int) -> str:
    """The file by which other processes find what this one holds."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def program_run(
    descriptor: int | None, command: Sequence[str], text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs ip(8) or tc(8) with text on standard input, inside or (None) where this process is."""
    inside = contextlib.nullcontext() if descriptor is None else namespace_inside(descriptor)
    with inside:
        try:
            return subprocess.run(command, input=text, capture_output=True, text=True,
                                  timeout=COMMAND_SECONDS)
        except FileNotFoundError:
            raise Failure(f"{command[0]} is missing (package iproute2): "
                          "run scripts/demo, which installs it") from None


def complaint_text(done: subprocess.CompletedProcess[str]) -> str:
    """Why ip(8) or tc(8) refused, in one line."""
    told = [line.strip() for line in done.stderr.splitlines()
            if line.strip() and not line.startswith("Command failed")]
    if not told:
        return f"ended with status {done.returncode}"
    return told[0].removeprefix("Error: ").removeprefix("RTNETLINK answers: ").rstrip(".")


def output_read(descriptor: int | None, *command: str) -> str:
    """What ip(8) or tc(8) prints, inside or (None) where this process is."""
    done = program_run(descriptor, command)
    if done.returncode != 0:
        raise Refused(complaint_text(done), " ".join(command))
    return done.stdout


def lines_run(descriptor: int, program: str, lines: Sequence[str]) -> None:
    """Runs lines of ip(8) or tc(8) inside; Refused names the first that fails."""
    if not lines:
        return
    done = program_run(descriptor, [program, "-batch", "-"], "\n".join(lines) + "\n")
    if done.returncode != 0:
        failed = re.search(r"^Command failed -:(\d+)", done.stderr, re.MULTILINE)
        line = lines[int(failed[1]) - 1] if failed else lines[0]
        raise Refused(complaint_text(done), f"{program} {line}")


def setting_file(name: str) -> Path:
    """`net.ipv4.tcp_sack` as its file."""
    return Path("/proc/sys", *name.split("."))


def value_read(name: str) -> str:
    """The value here, with single blanks; Failure where there is no such setting."""
    try:
        return " ".join(setting_file(name).read_text().split())
    except OSError as error:
        raise Failure(f"sysctl {name} cannot be read in a network namespace: "
                      f"{error.strerror}") from None


def value_write(name: str, value: str) -> None:
    """Sets the value here; Failure where the kernel takes it not, or takes another."""
    try:
        setting_file(name).write_text(f"{value}\n")
    except OSError as error:
        raise Failure(f"sysctl {name} does not take {value} in a network namespace: "
                      f"{error.strerror}") from None
    found = value_read(name)
    if found != value:
        raise Failure(f"sysctl {name} was set to {value} and is {found}")


def setting_write(namespaces: Mapping[str, int], name: str, value: str) -> None:
    """Sets the value in all of the namespaces."""
    for descriptor in namespaces.values():
        with namespace_inside(descriptor):
            value_write(name, value)


def setting_read(namespaces: Mapping[str, int], name: str) -> dict[str, str]:
    """The value in each of the namespaces."""
    values = {}
    for host, descriptor in namespaces.items():
        with namespace_inside(descriptor):
            values[host] = value_read(name)
    return values


@contextlib.contextmanager
def setting_hold(
    namespaces: Mapping[str, int], name: str, value: str,
) -> Iterator[dict[str, str]]:
    """Sets the value meanwhile and puts back what each had; gives what was read back."""
    before = setting_read(namespaces, name)
    try:
        setting_write(namespaces, name, value)
        yield setting_read(namespaces, name)
    finally:
        for host, was in before.items():
            setting_write({host: namespaces[host]}, name, was)
