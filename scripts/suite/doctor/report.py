# SPDX-License-Identifier: MIT
"""Findings as text. Pure."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping

from suite.base.text import GAP, labelled_lines
from suite.doctor.finding import Finding, Status

STATUS_TITLES = {Status.DISTURBS: "Will disturb", Status.NOTE: "To note", Status.UNKNOWN: "Unknown",
          Status.FINE: "Fine"}


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
            pairs = [(name, finding.seen) for name, finding in group.items()]
            lines += ["", title, *labelled_lines(pairs, width, GAP)]
    return "\n".join(lines) + "\n"
