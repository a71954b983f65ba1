# SPDX-License-Identifier: MIT
"""What a check finds, as text and for JSON; the words of planned cells, which select the checks."""

import contextlib
import functools
import textwrap
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from suite.base.text import GAP, labelled_lines
from suite.base.units import size_parse


class Status(StrEnum):
    """Findings are shown in this order."""

    DISTURBS = "disturbs"  # figures differ from those of this machine without it
    NOTE = "note"  # nothing is wrong, but readers of figures should know it
    UNKNOWN = "unknown"  # the system does not tell; this never counts as fine
    FINE = "fine"


STATUS_TITLES = {Status.DISTURBS: "Will disturb", Status.NOTE: "To note",
                 Status.UNKNOWN: "Unknown", Status.FINE: "Fine"}


@dataclass(frozen=True)
class Finding:
    """A finding with its texts, as texts.toml explains them."""

    status: Status
    seen: str
    effect: str = ""
    fix: str = ""
    undo: str = ""
    remark: str = ""


@functools.cache
def texts_read() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))


def found(status: Status, texts: str, seen: str, **values: object) -> Finding:
    """A finding with texts of texts.toml: those of a check, or with `check.case` those of the case
    too. values: for the `{name}` in them."""
    check, _, case = texts.partition(".")
    of_check = texts_read()[check]
    return Finding(status, seen, **{
        label: " ".join(text.split()).format(**values)
        for label, text in (of_check | of_check.get(case, {})).items() if isinstance(text, str)})


disturbs, note = partial(found, Status.DISTURBS), partial(found, Status.NOTE)
fine = partial(Finding, Status.FINE)


class Unknown(Exception):
    """A fact that a check needs is missing. The text is the reason, in one line."""


@contextlib.contextmanager
def question(name: str) -> Iterator[None]:
    """Makes an error of the system Unknown, with the name of what was asked. Also a decorator."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise Unknown(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def finding_document(name: str, finding: Finding) -> dict[str, Any]:
    """A finding for JSON (docs/record.md, "What the doctor finds"), without its empty texts."""
    return {"name": name} | {key: value for key, value in asdict(finding).items() if value}


def finding_lines(name: str, finding: Finding, width: int) -> list[str]:
    """A finding with all its texts. Commands are not wrapped, so that they can be copied."""
    texts = {label: text for label in ("effect", "fix", "undo", "remark")
             if (text := getattr(finding, label))}
    lines = textwrap.wrap(f"{name}: {finding.seen}", width, subsequent_indent=GAP)
    column = max(map(len, texts), default=0)
    for label, text in texts.items():
        lines += ([f"{GAP}{label.ljust(column)}{GAP}{text}"] if label in ("fix", "undo")
                  else labelled_lines([(label.ljust(column), text)], width, GAP))
    return lines


def findings_text(findings: Mapping[str, Finding], everything: bool, width: int) -> str:
    """Findings by status: those that disturb or are to note with all texts, unknown ones in a line
    each, fine ones by name. everything: fine ones in a line each too. findings: by check."""
    counts = Counter(finding.status for finding in findings.values())
    counted = ", ".join(f"{counts[status]} {title.lower()}"
                        for status, title in STATUS_TITLES.items())
    lines = textwrap.wrap(f"doctor: {counted}; nothing was changed, commands are for root", width,
                          subsequent_indent=GAP)
    for status, title in STATUS_TITLES.items():
        group = {name: finding for name, finding in findings.items() if finding.status is status}
        if not group:
            continue
        if status in (Status.DISTURBS, Status.NOTE):
            lines += ["", title]
            for name, finding in group.items():
                lines += [*finding_lines(name, finding, width), ""]
            lines.pop()
        elif status is Status.FINE and not everything:
            lines += ["", *textwrap.wrap(f"Fine: {', '.join(group)}", width, subsequent_indent=GAP,
                                         break_on_hyphens=False)]
        else:
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
        """All values of these words, including words of one end (`server.rcvbuf`)."""
        return {value for words in self.cells or () for name, value in words.items()
                if name.split(".")[-1] in keys}

    @property
    def status(self) -> Status:
        """Of what disturbs only the cells that a check concerns."""
        return Status.NOTE if self.unplanned else Status.DISTURBS

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
                and words.get("server", OWN_SERVER) == OWN_SERVER
                for words in self.cells or () if words.get("transport") in TCP_TRANSPORTS}
