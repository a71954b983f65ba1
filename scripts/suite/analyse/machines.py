# SPDX-License-Identifier: MIT
"""On which machines the cells of a result ran, and which of them were only emulated. Pure.

A host id of hosts.json is one boot. Boots whose facts agree are one machine, booted several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.analyse.results import Result
from suite.base.runner_words import TARGET, boot_of, target_of

EMULATION = "tcg"
FUNCTIONAL_ONLY = "functional only"
EMULATED, UNCERTAIN = "emulated", "perhaps emulated"
OF_A_BOOT = ("memory",)  # facts that no two boots of one machine have quite the same
SYSCTLS_OF_A_BOOT = ("net.ipv4.tcp_mem",)
OF_THE_RUNNER = ("runner", "doctor", TARGET)  # what hosts.json has beside the facts of a machine

NO_ROWS = np.array([], dtype=int)
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Machine:
    """Boots of which all facts agree: their host ids, and the facts of the first."""

    hosts: tuple[str, ...]
    facts: Facts


def host_find(result: Result, host: str, target: str) -> Facts:
    """What is known of a host: by its id, else of another of its target, for each batch of which a system starts anew;
    empty where nothing is."""
    alike = (facts for facts in result.hosts.values() if facts.get(TARGET) == target)
    return result.hosts.get(host) or next(alike, {})


def hosts_by_end(result: Result, cells: Mapping[str, str], counted: bool = False) -> dict[str, dict[str, str]]:
    """For each end the hosts on which it ran in these cells, in order, each with its target.

    cells: their targets by name. counted: only in good rounds.
    """
    runs = result.runs
    found: dict[str, dict[str, str]] = {}
    for cell, target in cells.items():
        rows = runs.rows_of_cells.get(cell, NO_ROWS)
        codes = runs.traits.codes[rows[runs.good[rows]] if counted else rows]
        for end in (end for code in dict.fromkeys(codes.tolist()) for end in runs.traits.values[code].ends):
            if end.host:
                found.setdefault(end.name, {}).setdefault(end.host, target)
    return found


def hosts_of(result: Result, cells: Mapping[str, str], counted: bool = False) -> dict[str, Facts]:
    """The facts of every host on which these cells ran, by its id; as hosts_by_end()."""
    ends = hosts_by_end(result, cells, counted).values()
    return {host: host_find(result, host, target) for end in ends for host, target in end.items()}


def facts_alike(facts: Facts) -> dict[str, Any]:
    """The facts in which all boots of one machine agree."""
    kept = {key: value for key, value in facts.items() if key not in (*OF_A_BOOT, *OF_THE_RUNNER)}
    sysctls = kept.get("sysctl", {})
    return kept | {"sysctl": {name: value for name, value in sysctls.items() if name not in SYSCTLS_OF_A_BOOT}}


def machines_group(hosts: Mapping[str, Facts]) -> tuple[Machine, ...]:
    """The machines of these hosts, in order."""
    groups: list[tuple[dict[str, Any], list[str]]] = []
    for host, facts in hosts.items():
        alike = facts_alike(facts)
        same = next((group for group in groups if group[0] == alike), None)
        if same is None:
            groups.append((alike, [host]))
        else:
            same[1].append(host)
    return tuple(Machine(tuple(ids), hosts[ids[0]]) for _, ids in groups)


def functional_of(facts: Facts, booted: bool) -> str:
    """Why times of a machine say nothing; empty where they do. A kernel that was booted is known not to be emulated, or
    taken for it."""
    if facts.get("virtualisation") == EMULATION or EMULATION.upper() in str(facts.get("cpu", "")).split():
        return EMULATED
    return UNCERTAIN if booted and "virtualisation" not in facts else ""


def cells_functional(result: Result) -> dict[str, str]:
    """The cells of which some good run was on a machine whose times say nothing, and why."""
    found = {}
    for cell in result.plan["cells"]:
        name, words = cell["cell"], {**cell["words"], **cell.get("given", {})}
        if result.runs.good[result.runs.rows_of_cells.get(name, NO_ROWS)].any():
            hosts = hosts_of(result, {name: target_of(words)}, counted=True) or result.hosts
            reasons = (functional_of(facts, bool(boot_of(words))) for facts in hosts.values())
            found[name] = next(filter(None, reasons), "")
    return {name: reason for name, reason in found.items() if reason}
