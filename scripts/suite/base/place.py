# SPDX-License-Identifier: MIT
"""Where a program runs: what stands before its command, and what it is given on standard input.

The measured programs know nothing of it. Standard output comes back as it is; where standard input
reaches the program it stays open as its lifeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Command:
    """What to start here. given: for its standard input, None where it is to have none."""

    argv: tuple[str, ...]
    given: str | None = ""


class Place(Protocol):
    """A place; two that are equal are one. name: as messages name it, empty for here."""

    @property
    def name(self) -> str:
        """`in gVisor`; empty for this machine."""

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """What starts a program there, whose path is one of here; given: what it reads. Failure
        where nothing can be started there now."""


@dataclass(frozen=True)
class Here:
    """This machine."""

    name: str = ""

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """The program itself."""
        return Command((str(program), *arguments), given)


HERE = Here()
