# SPDX-License-Identifier: MIT
"""What a check finds: a status, what it saw, the effect on figures, and the command that ends it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")


class Status(StrEnum):
    """In the order in which findings are shown."""

    DISTURBS = "disturbs"  # figures differ from those of this machine without it
    NOTE = "note"  # worth knowing when figures are read; nothing is wrong
    UNKNOWN = "unknown"  # the system does not tell; never taken for fine
    FINE = "fine"


@dataclass(frozen=True)
class Finding:
    """What one check found; texts without a full stop are phrases, those with one are sentences.

    `fix` is a command for root and `undo` takes it back. `remark` says why there is no command, or
    what to know about it. What is empty does not apply.
    """

    status: Status
    seen: str
    effect: str = ""
    fix: str = ""
    undo: str = ""
    remark: str = ""


class Unknown(Exception):
    """A fact that a check needs is missing; the text is the reason, one line."""


def known(value: T | Unknown) -> T:
    """The value; raises an Unknown that stands in its place."""
    if isinstance(value, Unknown):
        raise value
    return value


def fine(seen: str) -> Finding:
    """Nothing that concerns a figure."""
    return Finding(Status.FINE, seen)


def sysctl_set(name: str, value: str) -> str:
    """The command that sets a sysctl until the next boot."""
    return f'sysctl -w {name}="{value}"' if " " in value else f"sysctl -w {name}={value}"


def finding_document(name: str, finding: Finding) -> dict[str, Any]:
    """The finding of a check as in docs/record.md, "What doctor finds"; empty texts are absent."""
    return {"name": name} | {key: value for key, value in asdict(finding).items() if value}
