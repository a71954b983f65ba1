# SPDX-License-Identifier: MIT
"""hosts.json: the machines that a result was measured on, and what the doctor found there. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.result.checks import INDEX, TEXT, WHOLE, keys, list_of, map_of, object_of, scalar_check

DISTURBS = "disturbs"  # the status of a finding (docs/record.md, "What the doctor finds")
FINDING_SHAPE = object_of(keys(TEXT, "name", "status", "seen"),
                          keys(TEXT, "effect", "fix", "undo", "remark"))
LOOK_SHAPE = object_of({"findings": list_of(FINDING_SHAPE)}, {"unix_ns": WHOLE})
MACHINES_SHAPE = map_of(object_of(
    {}, {**keys(map_of(scalar_check), "mitigations", "sysctl", "versions"),
         "device": object_of({}, {"offloads": map_of(scalar_check)}), "doctor": list_of(LOOK_SHAPE),
         "cpus_online": INDEX, **keys(TEXT, "system", "kernel", "cpu", "cmdline",
                                      "virtualisation")},
    # another fact is one value, or a group of them
    others=lambda item: None if type(item) in (dict, list) else scalar_check(item)))
Look = Mapping[str, Any]  # one entry of `doctor`
Facts = Mapping[str, Any]  # all that hosts.json has of a machine, by name; unknown facts are absent


@dataclass(frozen=True)
class Machine:
    """One boot of a machine, or several that agree in all facts. hosts: their ids in records."""

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
        """The name of its processor, without blanks that say nothing."""
        return " ".join(self.fact("cpu").split())

    @property
    def target(self) -> str | None:
        """The value of target= that put an end there; None for the runner's own machine."""
        return self.facts.get("target")

    @property
    def looks(self) -> Sequence[Look]:
        """The doctor's findings, one entry for each start of the runner."""
        return self.facts.get("doctor", ())


def disturbed_text(looks: Iterable[Look]) -> str:
    """What disturbed at any of these looks, in one line; empty where nothing did. Of several looks
    each finding has the text of the last one, and the number of looks that had it."""
    looks = list(looks)
    seen: dict[str, list[str]] = {}
    for look in looks:
        for finding in look["findings"]:
            if finding["status"] == DISTURBS:
                seen.setdefault(finding["name"], []).append(finding["seen"])
    return ", ".join(texts[-1] +
                     (f" (at {len(texts)} of {len(looks)} starts)" if len(looks) > 1 else "")
                     for texts in seen.values())


def findings_last(looks: Iterable[Look]) -> dict[str, str]:
    """The last finding of each check, by its name: `disturbs: load 3.1 on 2 CPUs`."""
    return {finding["name"]: f"{finding['status']}: {finding['seen']}"
            for look in looks for finding in look["findings"]}
