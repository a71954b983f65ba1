# SPDX-License-Identifier: MIT
"""hosts.json: the machines that measured a result, and what the doctor found there. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.base import grouped

DISTURBS = "disturbs"  # the status of a finding (docs/record.md, "What the doctor finds")
Inspection = Mapping[str, Any]  # an entry of `doctor`: what the doctor found at one start
Facts = Mapping[str, Any]  # of a machine in hosts.json, by name; unknown facts are absent


@dataclass(frozen=True)
class Machine:
    """One boot of a machine, or several with the same facts. hosts: their ids in records."""

    hosts: tuple[str, ...]
    facts: Facts

    @property
    def host(self) -> str:
        """The id of its first boot."""
        return self.hosts[0]

    def fact(self, name: str) -> str:
        return str(self.facts.get(name, ""))

    @property
    def cpu(self) -> str:
        """The name of its processor, with single blanks."""
        return " ".join(self.fact("cpu").split())

    @property
    def target(self) -> str | None:
        """The value of target= that named it; None for the runner's machine."""
        return self.facts.get("target")

    @property
    def inspections(self) -> Sequence[Inspection]:
        """The doctor's findings, one entry for each start of the runner."""
        return self.facts.get("doctor", ())


def disturbed_text(inspections: Iterable[Inspection]) -> str:
    """What disturbed in any inspection, in one line; empty where nothing did. A finding has its
    last text and, of several inspections, the number of those that had it."""
    inspections = list(inspections)
    seen = grouped((finding["name"], finding["seen"]) for inspection in inspections
                   for finding in inspection["findings"] if finding["status"] == DISTURBS)
    return ", ".join(texts[-1] +
                     (f" (at {len(texts)} of {len(inspections)} starts)"
                      if len(inspections) > 1 else "")
                     for texts in seen.values())


def findings_last(inspections: Iterable[Inspection]) -> dict[str, str]:
    """The last finding of each check, by its name: `disturbs: load 3.1 on 2 CPUs`."""
    return {finding["name"]: f"{finding['status']}: {finding['seen']}"
            for inspection in inspections for finding in inspection["findings"]}
