# SPDX-License-Identifier: MIT
"""Network namespaces as descriptors, programs that run inside them, and their sysctls.

A namespace lives while a descriptor, a process or a name holds it. unshare(2) and setns(2) move one
thread. So a short-lived thread makes a namespace, and a thread that starts a program in one is
inside for that moment only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite.base.errors import Failure

CLONE_NEWNET = 0x40000000
OWN_NAMESPACE = "/proc/thread-self/ns/net"
COMMAND_S = 30


class Refused(Failure):
    """ip(8) or tc(8) refused a line; `reason` is why, without the line."""

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


def namespace_make() -> int:
    """The descriptor of a new network namespace: it has only a loopback, which is down."""
    def make() -> int:
        kernel_call("unshare", CLONE_NEWNET)
        return os.open(OWN_NAMESPACE, os.O_RDONLY)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


@contextlib.contextmanager
def namespace_scratch() -> Iterator[int]:
    """A namespace that exists while the context is open."""
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
    """The calling thread, and what it starts, is in the namespace while the context is open."""
    before = os.open(OWN_NAMESPACE, os.O_RDONLY)
    try:
        namespace_enter(descriptor)
        try:
            yield
        finally:
            namespace_enter(before)
    finally:
        os.close(before)


def udp_socket(descriptor: int) -> socket.socket:
    """A UDP socket of a namespace; the calling thread need not be inside to use it."""
    with namespace_inside(descriptor):
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def descriptor_path(descriptor: int) -> str:
    """The file by which other processes open a descriptor of this one."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def program_run(
    descriptor: int | None, command: Sequence[str], text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs ip(8) or tc(8) with text on standard input. descriptor: None is this process's own."""
    with contextlib.nullcontext() if descriptor is None else namespace_inside(descriptor):
        try:
            return subprocess.run(command, input=text, capture_output=True, text=True,
                                  timeout=COMMAND_S)
        except FileNotFoundError:
            raise Failure(f"{command[0]} is missing (package iproute2): "
                          "run scripts/demo, which installs it") from None


def refusal_reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why ip(8) or tc(8) refused, in one line."""
    for line in filter(None, map(str.strip, done.stderr.splitlines())):
        if not line.startswith("Command failed"):
            return line.removeprefix("Error: ").removeprefix("RTNETLINK answers: ").rstrip(".")
    return f"ended with status {done.returncode}"


def output_read(descriptor: int | None, *command: str) -> str:
    """What ip(8) or tc(8) prints. descriptor: None is this process's own namespace."""
    done = program_run(descriptor, command)
    if done.returncode != 0:
        raise Refused(refusal_reason(done), " ".join(command))
    return done.stdout


def lines_run(descriptor: int, program: str, lines: Sequence[str]) -> None:
    """Runs lines of ip(8) or tc(8) inside. Refused names the first line that fails."""
    if not lines:
        return
    done = program_run(descriptor, [program, "-batch", "-"], "\n".join(lines) + "\n")
    if done.returncode != 0:
        failed = re.search(r"^Command failed -:(\d+)", done.stderr, re.MULTILINE)
        line = lines[int(failed[1]) - 1] if failed else lines[0]
        raise Refused(refusal_reason(done), f"{program} {line}")


# ---- sysctls: below /proc/sys/net a thread sees the values of the namespace that it is in ----

def sysctl_file(name: str) -> Path:
    """The file of a sysctl like `net.ipv4.tcp_sack`."""
    return Path("/proc/sys", *name.split("."))


def value_read(name: str) -> str:
    """The value here, with single blanks; Failure where there is no such sysctl."""
    try:
        return " ".join(sysctl_file(name).read_text().split())
    except OSError as error:
        raise Failure(f"sysctl {name} cannot be read in a network namespace: "
                      f"{error.strerror}") from None


def value_write(name: str, value: str) -> None:
    """Sets the value here; Failure where the kernel refuses it or sets another one."""
    try:
        sysctl_file(name).write_text(f"{value}\n")
    except OSError as error:
        raise Failure(f"sysctl {name} does not take {value} in a network namespace: "
                      f"{error.strerror}") from None
    found = value_read(name)
    if found != value:
        raise Failure(f"sysctl {name} was set to {value} and is {found}")


def setting_write(namespaces: Mapping[str, int], name: str, values: Mapping[str, str]) -> None:
    """Sets the value of a sysctl in each host. namespaces: descriptors by host."""
    for host, value in values.items():
        with namespace_inside(namespaces[host]):
            value_write(name, value)


def setting_read(namespaces: Mapping[str, int], name: str) -> dict[str, str]:
    """The value of a sysctl by host. namespaces: descriptors by host."""
    values = {}
    for host, descriptor in namespaces.items():
        with namespace_inside(descriptor):
            values[host] = value_read(name)
    return values


@contextlib.contextmanager
def setting_hold(
    namespaces: Mapping[str, int], name: str, value: str,
) -> Iterator[dict[str, str]]:
    """Sets a sysctl while the context is open, then restores each host's value.

    It yields the values by host as they read while the setting holds.
    """
    before = setting_read(namespaces, name)
    try:
        setting_write(namespaces, name, dict.fromkeys(namespaces, value))
        yield setting_read(namespaces, name)
    finally:
        setting_write(namespaces, name, before)
