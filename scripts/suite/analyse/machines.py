# SPDX-License-Identifier: MIT
"""On which machines the cells of a result ran, and which of them were only emulated. Pure. A host
id of hosts.json is one boot. Boots whose facts agree are one machine, booted several times."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from suite.analyse.results import Result
from suite.base.runner_words import TARGET, boot_of, target_of
from suite.result.machine import Facts, Machine

EMULATION = "tcg"
TIMES_INVALID = "functional only"
EMULATED, UNCERTAIN = "emulated", "perhaps emulated"
BOOT_FACTS = ("memory",)  # facts that no two boots of one machine have quite the same
BOOT_SYSCTLS = ("net.ipv4.tcp_mem",)
RUNNER_FACTS = ("runner", "doctor", TARGET)  # in hosts.json, but no facts of a machine


def machine_find(result: Result, host: str, target: str) -> Machine:
    """What is known of a host: by its id, else of another of its target, for each batch of which a
    system starts anew; no facts where nothing is."""
    alike = (machine for machine in result.machines.values() if machine.target == target)
    return Machine((host,), (result.machines.get(host) or next(alike, Machine((host,), {}))).facts)


def hosts_by_end(result: Result, cells: Mapping[str, str],
                 counted: bool = False) -> dict[str, dict[str, str]]:
    """For each end the hosts on which it ran in these cells, in order, each with its target. cells:
    their targets by name. counted: only in good rounds."""
    runs = result.runs
    found: dict[str, dict[str, str]] = {}
    for cell, target in cells.items():
        rows = runs.rows_of(cell)
        traits = runs.take(rows[runs.good[rows]] if counted else rows).traits_counts()
        for end in (end for one in traits for end in one.ends):
            if end.host:
                found.setdefault(end.name, {}).setdefault(end.host, target)
    return found


def machines_of(result: Result, cells: Mapping[str, str],
                counted: bool = False) -> tuple[Machine, ...]:
    """Every host on which these cells ran, each once; as hosts_by_end()."""
    ends = hosts_by_end(result, cells, counted).values()
    found = {host: machine_find(result, host, target) for end in ends
             for host, target in end.items()}
    return tuple(found.values())


def lasting_facts(facts: Facts) -> dict[str, Any]:
    """The facts in which all boots of one machine agree."""
    lasting = {name: value for name, value in facts.get("sysctl", {}).items()
               if name not in BOOT_SYSCTLS}
    return {key: value for key, value in facts.items()
            if key not in (*BOOT_FACTS, *RUNNER_FACTS)} | {"sysctl": lasting}


def machines_group(boots: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machines of these boots, in order, each with the facts of its first boot."""
    groups: dict[str, list[Machine]] = {}
    for boot in boots:
        alike = json.dumps(lasting_facts(boot.facts), sort_keys=True)
        groups.setdefault(alike, []).append(boot)
    return tuple(Machine(tuple(host for boot in group for host in boot.hosts), group[0].facts)
                 for group in groups.values())


def emulation_of(machine: Machine, booted: bool) -> str:
    """Why times of a machine say nothing; empty where they do. A kernel that was booted is known
    not to be emulated, or taken for it."""
    if machine.fact("virtualisation") == EMULATION or EMULATION.upper() in machine.cpu.split():
        return EMULATED
    return UNCERTAIN if booted and "virtualisation" not in machine.facts else ""


def cells_emulated(result: Result) -> dict[str, str]:
    """The cells of which some good run was on a machine whose times say nothing, and why."""
    found: dict[str, str] = {}
    for cell in result.plan.cells:
        if result.runs.good[result.runs.rows_of(cell.name)].any():
            words = cell.all_words
            ran = machines_of(result, {cell.name: target_of(words)},
                              counted=True) or result.machines.values()
            reasons = (emulation_of(machine, bool(boot_of(words))) for machine in ran)
            if reason := next(filter(None, reasons), ""):
                found[cell.name] = reason
    return found
