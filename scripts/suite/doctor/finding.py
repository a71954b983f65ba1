# SPDX-License-Identifier: MIT
"""The words of the cells to be run, which decide which checks concern them; what a check finds, as
text and for JSON."""

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar

from suite.base.text import GAP, labelled_lines
from suite.base.units import size_parse

T = TypeVar("T")


class Status(StrEnum):
    """In the order in which findings are shown."""

    DISTURBS = "disturbs"  # figures differ from those of this machine without it
    NOTE = "note"  # worth knowing when figures are read; nothing is wrong
    UNKNOWN = "unknown"  # the system does not tell; never taken for fine
    FINE = "fine"


STATUS_TITLES = {Status.DISTURBS: "Will disturb", Status.NOTE: "To note", Status.UNKNOWN: "Unknown",
          Status.FINE: "Fine"}


@dataclass(frozen=True)
class Finding:
    """What one check found; texts without a full stop are phrases, those with one are sentences.
    `fix` is a command for root and `undo` takes it back. `remark` says why there is no command, or
    what to know about it. What is empty does not apply."""

    status: Status
    seen: str
    effect: str = ""
    fix: str = ""
    undo: str = ""
    remark: str = ""


class Unknown(Exception):
    """A fact that a check needs is missing; the text is the reason, one line."""


def known(value: T | Unknown) -> T:
    if isinstance(value, Unknown):
        raise value
    return value


def fine(seen: str) -> Finding:
    return Finding(Status.FINE, seen)


def sysctl_set(name: str, value: str) -> str:
    return f'sysctl -w {name}="{value}"' if " " in value else f"sysctl -w {name}={value}"


def finding_document(name: str, finding: Finding) -> dict[str, Any]:
    """The finding of a check, docs/record.md, "What the doctor finds"; empty texts are absent."""
    return {"name": name} | {key: value for key, value in asdict(finding).items() if value}


def finding_lines(name: str, finding: Finding, width: int) -> list[str]:
    """A finding at length; commands are never wrapped, so that they can be taken as they are."""
    texts = {label: text for label in ("effect", "fix", "undo", "remark")
             if (text := getattr(finding, label))}
    lines = textwrap.wrap(f"{name}: {finding.seen}", width, subsequent_indent=GAP)
    column = max(map(len, texts), default=0)
    for label, text in texts.items():
        lines += ([f"{GAP}{label.ljust(column)}{GAP}{text}"] if label in ("fix", "undo")
                  else labelled_lines([(label.ljust(column), text)], width, GAP))
    return lines


def findings_text(findings: Mapping[str, Finding], everything: bool, width: int) -> str:
    """What disturbs and what is to note at length, the unknown in a line each, the fine together;
    everything: these in a line each, too. findings: by the name of the check."""
    counts = Counter(finding.status for finding in findings.values())
    counted = ", ".join(f"{counts[status]} {title.lower()}"
                        for status, title in STATUS_TITLES.items())
    lines = textwrap.wrap(f"doctor: {counted}; nothing was changed, commands are for root", width,
                          subsequent_indent=GAP)
    for status, title in STATUS_TITLES.items():
        group = {name: finding for name, finding in findings.items() if finding.status is status}
        if status in (Status.DISTURBS, Status.NOTE):
            for number, (name, finding) in enumerate(group.items()):
                lines += [*(["", title] if number == 0 else [""]),
                          *finding_lines(name, finding, width)]
        elif group and status is Status.FINE and not everything:
            lines += ["", *textwrap.wrap(f"Fine: {', '.join(group)}", width, subsequent_indent=GAP,
                                         break_on_hyphens=False)]
        elif group:
            lines += ["", title, *labelled_lines(
                [(name, finding.seen) for name, finding in group.items()], width, GAP)]
    return "\n".join(lines) + "\n"


TCP_TRANSPORTS = ("tcp", "mptcp")
OWN_SERVER = "own"


@dataclass(frozen=True)
class CellWords:
    """The words of every cell, defaults included; None where no run is planned."""

    cells: tuple[Mapping[str, str], ...] | None = None

    @property
    def unplanned(self) -> bool:
        return self.cells is None

    def values(self, *keys: str) -> set[str]:
        """All values of these words, those of single ends (`server.rcvbuf`) included."""
        return {value for words in self.cells or () for name, value in words.items()
                if name.split(".")[-1] in keys}

    def has(self, keys: str, *beginnings: str) -> bool:
        """Whether some cell has a value with such a beginning; keys: words, separated by blanks."""
        return any(value.startswith(beginnings) for value in self.values(*keys.split()))

    def largest(self, key: str) -> int:
        """The largest number or size among the values of a word, 0 where there is none."""
        return int(max((size_parse(value) or 0 for value in self.values(key)), default=0))

    def tcp_is_local(self) -> set[bool]:
        """Of the cells that speak TCP: whether they speak to an end of their own on this machine,
        outside a lab. The others cross a device with a queue."""
        return {words.get("lab", "off") == "off" and "peer" not in words
                and words.get("server", OWN_SERVER) == OWN_SERVER
                for words in self.cells or () if words.get("transport") in TCP_TRANSPORTS}
