# SPDX-License-Identifier: MIT
"""hosts.json: the machines that a result was measured on, and what the doctor saw of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.result.checks import index, keys, list_of, map_of, object_of, scalar, text, whole

DISTURBS = "disturbs"  # the status of a finding (docs/record.md, "What the doctor finds")
DEVICE_FACTS = object_of({}, {"offloads": map_of(scalar)})
FINDING = object_of(keys(text, "name", "status", "seen"),
                    keys(text, "effect", "fix", "undo", "remark"))
LOOK = object_of({"findings": list_of(FINDING)}, {"unix_ns": whole})
GROUPS = object_of({}, {**keys(map_of(scalar), "mitigations", "sysctl", "versions"),
                        "device": DEVICE_FACTS,
                        "doctor": list_of(LOOK),
                        **keys(text, "system", "kernel", "cpu", "cmdline", "virtualisation"),
                        "cpus_online": index})
Look = Mapping[str, Any]  # one entry of `doctor`
# all that hosts.json has of a machine, by name; what is not known is absent
Facts = Mapping[str, Any]


def machine_check(value: Any) -> None:
    """The facts of one machine: what is one value is one line; groups of them are as GROUPS
    says."""
    map_of(lambda item: None if type(item) in (dict, list) else scalar(item))(value)
    GROUPS(value)


MACHINES = map_of(machine_check)


@dataclass(frozen=True)
class Machine:
    """One boot of a machine, or several of which all facts agree: hosts are the ids that records
    have of it."""

    hosts: tuple[str, ...]
    facts: Facts

    @property
    def host(self) -> str:
        """The id of its first boot."""
        return self.hosts[0]

    def fact(self, name: str) -> str:
        """A fact as text; empty where it is not known."""
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
        """What the doctor saw, once for each start of the runner."""
        return self.facts.get("doctor", ())


def machines_from(document: Mapping[str, Facts]) -> dict[str, Machine]:
    """The machines in hosts.json, by host id."""
    return {host: Machine((host,), facts) for host, facts in document.items()}


def disturbed_text(looks: Iterable[Look]) -> str:
    """What disturbed at any of these looks, in one line; empty where nothing did.

    Of several looks each finding is as it was last seen, with how many of them saw it.
    """
    looks = list(looks)
    seen: dict[str, list[str]] = {}
    for look in looks:
        for finding in look["findings"]:
            if finding["status"] == DISTURBS:
                seen.setdefault(finding["name"], []).append(finding["seen"])
    return ", ".join(texts[-1] +
                     (f" (at {len(texts)} of {len(looks)} starts)" if len(looks) > 1 else "")
                     for texts in seen.values())


def found_last(looks: Iterable[Look]) -> dict[str, str]:
    """What each check last saw, by name: `disturbs: load 3.1 on 2 CPUs`."""
    return {finding["name"]: f"{finding['status']}: {finding['seen']}"
            for look in looks for finding in look["findings"]}
