# SPDX-License-Identifier: MIT
"""What a check answers: a status, what was seen, what it does to figures, and the command that ends
it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """In the order in which findings are shown."""

    DISTURBS = "disturbs"  # figures differ from those of this machine without it
    NOTE = "note"  # worth knowing when figures are read; nothing is wrong
    UNKNOWN = "unknown"  # the system does not tell; never taken for fine
    FINE = "fine"


@dataclass(frozen=True)
class Answer:
    """What one check found; texts without a full stop are phrases, those with one are sentences.

    `fix` is a command for root and `undo` the one that takes it back; `remark` says why there is
    none or what to know about it. What is empty does not apply.
    """

    status: Status
    seen: str
    effect: str = ""
    fix: str = ""
    undo: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Finding:
    """The answer of the check with that name."""

    name: str
    answer: Answer


class Unknown(Exception):
    """A fact that a check needs is not to be had; the text is the reason, one line."""


def fine(seen: str) -> Answer:
    """Nothing that concerns a figure."""
    return Answer(Status.FINE, seen)


def sysctl_set(name: str, value: str) -> str:
    """The command that sets a sysctl until the next boot."""
    return f'sysctl -w {name}="{value}"' if " " in value else f"sysctl -w {name}={value}"


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding as docs/record.md, "What doctor finds", says; what does not apply is absent."""
    return {"name": finding.name} | {key: value for key, value in asdict(finding.answer).items()
                                     if value}
