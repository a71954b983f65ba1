# SPDX-License-Identifier: MIT
"""What a check finds, as text and for JSON; the words of planned cells, which select the checks."""

import sys
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from suite.base import grouped
from suite.base.text import GAP, labelled_lines
from suite.base.units import size_parse

TEXTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("texts.toml").read_text("utf-8"))


class Status(StrEnum):
    """Findings are shown in this order."""

    DISTURBS = "disturbs"  # figures differ from those of this machine without it
    NOTE = "note"  # nothing is wrong, but readers of figures should know it
    UNKNOWN = "unknown"  # the system does not tell; this never counts as fine
    FINE = "fine"


@dataclass(frozen=True)
class Finding:
    """A finding with its texts, as texts.toml explains them."""

    status: Status
    seen: str
    effect: str = ""
    fix: str = ""
    undo: str = ""
    remark: str = ""


def found(status: Status, texts: str, seen: str, *, when: bool = True, **values: object
          ) -> Finding:
    """A finding of this status when that is so, else `fine`. It has texts of texts.toml: those of a
    check, or with `check.case` those of the case too. values: for the `{name}` in them."""
    if not when:
        return fine(seen)
    check, _, case = texts.partition(".")
    of_check = TEXTS[check]
    return Finding(status, seen, **{
        label: " ".join(text.split()).format(**values)
        for label, text in (of_check | of_check.get(case, {})).items() if isinstance(text, str)})


disturbs, note = partial(found, Status.DISTURBS), partial(found, Status.NOTE)
fine = partial(Finding, Status.FINE)


class Unknown(Exception):
    """A fact that a check needs is missing. The text is the reason, in one line."""


def findings_documents(findings: Mapping[str, Finding]) -> list[dict[str, Any]]:
    """Findings for JSON (docs/record.md, "What the doctor finds"), without their empty texts."""
    return [{"name": name} | {key: value for key, value in asdict(finding).items() if value}
            for name, finding in findings.items()]


def findings_text(findings: Mapping[str, Finding], everything: bool, width: int) -> str:
    """Findings by status. everything: not only the names of fine ones. findings: by check. Commands
    are not wrapped, so that they can be copied."""
    names = grouped((finding.status, name) for name, finding in findings.items())
    counts = ", ".join(f"{status} {len(names.get(status, ()))}" for status in Status)
    lines = textwrap.wrap(f"doctor: {counts}; nothing was changed, commands are for root", width,
                          subsequent_indent=GAP)
    for status, mine in names.items():
        lines += ["", status.capitalize()]
        if status is Status.FINE and not everything:
            lines += textwrap.wrap(", ".join(mine), width, break_on_hyphens=False)
            continue
        for name in mine:
            seen = f"{name}: {findings[name].seen}"
            lines += textwrap.wrap(seen, width, subsequent_indent=GAP)
            for label in ("effect", "fix", "undo", "remark"):
                if text := getattr(findings[name], label):
                    columns = sys.maxsize if label in ("fix", "undo") else width
                    lines += labelled_lines([(f"{label:6}", text)], columns, GAP)
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class CellWords:
    """The words of every cell, defaults included; None where no run is planned."""

    cells: tuple[Mapping[str, str], ...] | None = None

    @property
    def unplanned(self) -> bool:
        return self.cells is None

    def values(self, *keys: str) -> set[str]:
        """All values of these words, including words of one end (`server.rcvbuf`)."""
        return {value for words in self.cells or () for name, value in words.items()
                if name.split(".")[-1] in keys}

    def has(self, keys: str, *beginnings: str) -> bool:
        """Whether a value of some cell begins so. keys: words, separated by blanks."""
        return any(value.startswith(beginnings) for value in self.values(*keys.split()))

    def largest(self, key: str) -> int:
        """The largest number or size among the values of a word; 0 without one."""
        return int(max((size_parse(value) or 0 for value in self.values(key)), default=0))

    def tcp_is_local(self) -> set[bool]:
        """For the cells that use TCP: whether the server is one that they start on this machine,
        outside a lab. Other cells send through a device with a queue."""
        return {words.get("lab", "off") == "off" and "peer" not in words
                and words.get("server", "own") == "own"
                for words in self.cells or () if words.get("transport") in ("tcp", "mptcp")}
