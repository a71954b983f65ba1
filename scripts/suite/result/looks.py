# SPDX-License-Identifier: MIT
"""What the doctor saw of a machine, as hosts.json keeps it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DISTURBS = "disturbs"  # the status of a finding (docs/record.md, "What doctor finds")


def disturbed_text(looks: Sequence[Mapping[str, Any]]) -> str:
    """What disturbed at any of these looks (of hosts.json), in one line; empty where nothing did.

    Of several looks each finding is as it was last seen, with how many of them saw it.
    """
    seen: dict[str, list[str]] = {}
    for look in looks:
        for finding in look["findings"]:
            if finding["status"] == DISTURBS:
                seen.setdefault(finding["name"], []).append(finding["seen"])
    return ", ".join(texts[-1] + (f" (at {len(texts)} of {len(looks)} starts)" if len(looks) > 1 else "")
                     for texts in seen.values())


def found_last(looks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What each check last saw, by name: `disturbs: load 3.1 on 2 CPUs`."""
    return {finding["name"]: f"{finding['status']}: {finding['seen']}"
            for look in looks for finding in look["findings"]}


ENDS = ("client", "server", "proxy")  # that a record may have
