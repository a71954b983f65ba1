# SPDX-License-Identifier: MIT
"""Where the figures of a block were measured: machines, network path, programs. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from suite.analyse.frame import Cell, Matrix
from suite.analyse.machines import hosts_by_end, machine_find
from suite.base.lab_words import lab_wanted
from suite.present.heading import congestion_text, labs_text, machine_text, machines_text
from suite.result.machine import Machine

# what makers add to the names of their processors
CPU_NOISE = re.compile(r"\((?:R|TM)\)|(?: CPU)? @ \S+| CPU$", re.IGNORECASE)
LOOPBACK = "lo"  # how the name of its device begins, in every system
NO_NETWORK = {"null": "none, nothing is sent", "unix": "Unix sockets"}  # by transport


def cpu_name(name: str) -> str:
    """The name of a processor as people say it."""
    return " ".join(CPU_NOISE.sub(" ", name).split())


def mitigations_text(machine: Machine) -> str:
    """`mitigations spectre_v1 spectre_v2 (vulnerable: mds)`: what the kernel mitigates, and what it
    does not although the processor needs it."""
    told: Mapping[str, str] = machine.facts.get("mitigations", {})
    done = [name for name, text in told.items() if "Mitigation" in text]
    open_ = [name for name, text in told.items() if name not in done and "ulnerable" in text]
    vulnerable = f" (vulnerable: {' '.join(sorted(open_))})" if open_ else ""
    return f"mitigations {' '.join(sorted(done)) or ('none' if told else 'unknown')}{vulnerable}"


def machines_tell(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """The machines of cells, each with the mitigations of its kernel."""
    return machines_text(matrix, cells, lambda machine: ", ".join(
        (machine_text(machine, cpu_name), mitigations_text(machine))))


def device_text(machine: Machine) -> str:
    """`eth0 MTU 1500`: the device by which a machine reaches its peer; empty where it is not
    known."""
    device = machine.facts.get("device", {})
    mtu = f"MTU {device['mtu_bytes']}" if "mtu_bytes" in device else ""
    return " ".join(filter(None, (str(device.get("name", "")), mtu)))


def carrier_text(matrix: Matrix, cell: Cell) -> str:
    """What carries the bytes of a cell that is in no lab: nothing, a Unix socket, loopback, or the
    devices of its hosts."""
    transport = cell.words.get("transport", "")
    if transport in NO_NETWORK:
        return NO_NETWORK[transport]
    ends = hosts_by_end(matrix.result, {cell.name: cell.target}, counted=True)
    devices = {end: ", ".join(dict.fromkeys(
        device_text(machine_find(matrix.result, *host)) or "device unknown"
        for host in hosts.items())) for end, hosts in ends.items()}
    if len(ends) > 1 and len({frozenset(hosts) for hosts in ends.values()}) == 1:
        device = devices["client"]
        return f"loopback ({device})" if device.startswith(LOOPBACK) else "loopback"
    return "hosts: " + ", ".join(f"{end} {device}" for end, device in devices.items())


def network_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """Every path of these cells once, and the congestion control of their sockets."""
    ran = [cell for cell in cells if cell.runs_ok]
    paths = dict.fromkeys(carrier_text(matrix, cell) for cell in ran if not lab_wanted(cell.words))
    links = labs_text(ran)
    name = congestion_text(matrix)
    congestion = {"none": "", "unknown": "congestion unknown"}.get(name, name)
    return "; ".join(filter(None, [
        *paths, f"lab of three namespaces, {links}" if links else "", congestion]))


def programs_text(matrix: Matrix) -> str:
    """Version, revision and address of the programs that measured."""
    programs = matrix.result.plan.programs
    return "; ".join(filter(None, (f"version {programs.uncork}, revision {programs.revision}",
                                   programs.homepage)))
