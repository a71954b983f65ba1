# SPDX-License-Identifier: MIT
"""The machines on which the cells of a result ran, and which of these were emulated. Pure. A host
id of hosts.json is one boot. Boots with the same facts are one machine, booted several times."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from suite.base import grouped
from suite.base.runner_words import EXACT_ONLY, TARGET, boot_of, target_of
from suite.observe.results import Result
from suite.result.machine import Facts, Machine

EMULATION = "tcg"
EMULATED, UNCERTAIN = "emulated", "perhaps emulated"
TIMES_INVALID = f"{EMULATED}: {EXACT_ONLY}"
BOOT_FACTS = ("memory",)  # they differ slightly between two boots of one machine
BOOT_SYSCTLS = ("net.ipv4.tcp_mem",)  # the same
RUNNER_FACTS = ("runner", "doctor", TARGET)  # in hosts.json, but no facts of a machine


def machine_find(result: Result, host: str, target: str) -> Machine:
    """The machine of a host id. Without facts under this id, it has those of another boot of the
    same target: a target may boot for each batch. Without any it has no facts."""
    others = (machine for machine in result.machines.values() if machine.target == target)
    return Machine((host,), (result.machines.get(host) or next(others, Machine((host,), {}))).facts)


def hosts_by_end(result: Result, cells: Mapping[str, str],
                 counted: bool = False) -> dict[str, dict[str, str]]:
    """By end, the hosts on which it ran in these cells, in order, each with its target. cells:
    their targets by name. counted: only good runs of counted rounds."""
    runs = result.runs
    found: dict[str, dict[str, str]] = {}
    for cell, target in cells.items():
        rows = runs.good_rows(cell) if counted else runs.rows_of(cell)
        for end in (end for one in runs.traits_counts(rows) for end in one.ends):
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
    """The facts that are the same in all boots of one machine."""
    sysctls = {name: value for name, value in facts.get("sysctl", {}).items()
               if name not in BOOT_SYSCTLS}
    return {key: value for key, value in facts.items()
            if key not in (*BOOT_FACTS, *RUNNER_FACTS)} | {"sysctl": sysctls}


def machines_group(boots: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machines of these boots, in order, each with the facts of its first boot."""
    groups = grouped((json.dumps(lasting_facts(boot.facts), sort_keys=True), boot)
                     for boot in boots)
    return tuple(Machine(tuple(host for boot in group for host in boot.hosts), group[0].facts)
                 for group in groups.values())


def emulation_of(machine: Machine, booted: bool) -> str:
    """Why times of a machine mean nothing; empty if they are valid. booted: the run booted its
    kernel. Such a machine may be emulated if its facts do not say how it was virtualised."""
    if machine.fact("virtualisation") == EMULATION or EMULATION.upper() in machine.cpu.split():
        return EMULATED
    return UNCERTAIN if booted and "virtualisation" not in machine.facts else ""


def cells_emulated(result: Result) -> dict[str, str]:
    """The cells with a good run on a machine whose times mean nothing: the reason by cell."""
    found: dict[str, str] = {}
    for cell in result.plan.cells:
        if len(result.runs.good_rows(cell.name)):
            words = cell.all_words
            ran = machines_of(result, {cell.name: target_of(words)},
                              counted=True) or result.machines.values()
            reasons = (emulation_of(machine, bool(boot_of(words))) for machine in ran)
            if reason := next(filter(None, reasons), ""):
                found[cell.name] = reason
    return found
