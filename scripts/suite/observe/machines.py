# SPDX-License-Identifier: MIT
"""The machines on which the cells of a result ran, and which of these were emulated. Pure. A host
id of hosts.json is one boot. Boots with the same facts are one machine, booted several times."""

import json
from collections.abc import Iterable, Mapping

from suite.base import grouped
from suite.base.runner_words import EXACT_ONLY, TARGET, boot_of, target_of
from suite.observe.results import Result
from suite.result.machine import Machine

EMULATION = "tcg"
EMULATED, UNCERTAIN = "emulated", "perhaps emulated"
TIMES_INVALID = f"{EMULATED}: {EXACT_ONLY}"
# facts of a boot, which differ slightly in the next one, or of the runner
BOOT_FACTS, BOOT_SYSCTLS = ("memory", "runner", "doctor", TARGET), ("net.ipv4.tcp_mem",)


def hosts_by_end(result: Result, cells: Mapping[str, str],
                 counted: bool = False) -> dict[str, dict[str, Machine]]:
    """By end, the machines on which it ran in these cells, in order, by host id. cells: their
    targets by name. counted: only good runs of counted rounds. A host without facts has those of
    another boot of its target, which may boot for each batch; without any it has none."""
    runs, found = result.runs, dict[str, dict[str, Machine]]()
    rows_of = runs.good_rows if counted else runs.rows_of
    boots = {machine.target: machine.facts for machine in reversed([*result.machines.values()])}
    for cell, target in cells.items():
        for end in (end for one in runs.traits_counts(rows_of(cell)) for end in one.ends):
            if end.host:
                found.setdefault(end.name, {})[end.host] = result.machines.get(
                    end.host, Machine((end.host,), boots.get(target, {})))
    return found


def machines_of(result: Result, cells: Mapping[str, str],
                counted: bool = False) -> tuple[Machine, ...]:
    """Every machine on which these cells ran, each once; as hosts_by_end()."""
    return tuple(dict(host for machines in hosts_by_end(result, cells, counted).values()
                      for host in machines.items()).values())


def machines_group(boots: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machines of these boots, in order, each with the facts of its first boot."""
    def lasting(boot: Machine) -> str:
        """The facts that are the same in all boots of one machine."""
        facts = {key: value for key, value in boot.facts.items() if key not in BOOT_FACTS}
        sysctls = {name: value for name, value in boot.facts.get("sysctl", {}).items()
                   if name not in BOOT_SYSCTLS}
        return json.dumps(facts | {"sysctl": sysctls}, sort_keys=True)

    return tuple(Machine(tuple(host for boot in group for host in boot.hosts), group[0].facts)
                 for group in grouped((lasting(boot), boot) for boot in boots).values())


def emulation_of(machine: Machine, booted: bool) -> str:
    """Why times of a machine mean nothing; empty if they are valid. booted: the run booted its
    kernel. Such a machine may be emulated if its facts do not say how it was virtualised."""
    if machine.fact("virtualisation") == EMULATION or EMULATION.upper() in machine.cpu.split():
        return EMULATED
    return UNCERTAIN if booted and "virtualisation" not in machine.facts else ""


def cells_emulated(result: Result) -> dict[str, str]:
    """The cells with a good run on a machine whose times mean nothing: the reason by cell."""
    found = {}
    for cell in result.plan.cells:
        target, booted = target_of(cell.all_words), bool(boot_of(cell.all_words))
        ran = machines_of(result, {cell.name: target}, counted=True) or result.machines.values()
        reasons = filter(None, (emulation_of(machine, booted) for machine in ran))
        if len(result.runs.good_rows(cell.name)) and (reason := next(reasons, "")):
            found[cell.name] = reason
    return found
