# SPDX-License-Identifier: MIT
"""sysctls of network namespaces: written, read back, and put back to what was there.

Below /proc/sys/net everyone sees the settings of the namespace that he is in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite.base.errors import Failure
from suite.places.lab.namespace import namespace_inside


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
