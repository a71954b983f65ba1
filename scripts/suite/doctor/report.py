# SPDX-License-Identifier: MIT
"""Findings as text, as one line, and as what JSON and hosts.json hold. Pure."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from suite.base.text import labelled_lines
from suite.doctor.finding import Finding, Status

INDENT = "  "


def counts_text(findings: Sequence[Finding]) -> str:
    """How many findings there are of each status."""
    counts = Counter(finding.answer.status for finding in findings)
    words = {Status.DISTURBS: "will disturb", Status.NOTE: "to note", Status.UNKNOWN: "unknown",
             Status.FINE: "fine"}
    return ", ".join(f"{counts[status]} {word}" for status, word in words.items())


def finding_lines(finding: Finding, width: int) -> list[str]:
    """A finding at length; commands are never wrapped, so that they can be taken as they are."""
    answer = finding.answer
    pairs = [("effect", answer.effect), ("fix", answer.fix), ("undo", answer.undo),
             ("remark", answer.remark)]
    lines = textwrap.wrap(f"{finding.name}: {answer.seen}", width, subsequent_indent=INDENT)
    column = max((len(label) for label, text in pairs if text), default=0)
    for label, text in pairs:
        if label in ("fix", "undo") and text:
            lines.append(f"{INDENT}{label.ljust(column)}  {text}")
        elif text:
            lines += labelled_lines([(label.ljust(column), text)], width, INDENT)
    return lines


def findings_text(findings: Sequence[Finding], everything: bool, width: int) -> str:
    """All findings: what disturbs and what is to note at length, the unknown in a line each, the
    fine together."""
    by_status = {status: [finding for finding in findings if finding.answer.status is status]
                 for status in Status}
    lines = textwrap.wrap(
        f"doctor: {counts_text(findings)}; nothing was changed, commands are for root", width,
                          subsequent_indent=INDENT)
    for status, title in ((Status.DISTURBS, "Will disturb"), (Status.NOTE, "To note")):
        for number, finding in enumerate(by_status[status]):
            lines += ["", title] if number == 0 else [""]
            lines += finding_lines(finding, width)
    for status, title in ((Status.UNKNOWN, "Unknown"), (Status.FINE, "Fine")):
        pairs = [(finding.name, finding.answer.seen) for finding in by_status[status]]
        if pairs and status is Status.FINE and not everything:
            names = ", ".join(name for name, _ in pairs)
            lines += ["", *textwrap.wrap(f"Fine: {names}", width, subsequent_indent=INDENT,
                                         break_on_hyphens=False)]
        elif pairs:
            lines += ["", title, *labelled_lines(pairs, width, INDENT)]
    return "\n".join(lines) + "\n"
