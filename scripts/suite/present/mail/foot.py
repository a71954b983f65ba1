# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: where and how it was measured, what differs. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from suite.base.lab_words import lab_wanted
from suite.base.runner_words import EXACT_ONLY
from suite.base.units import counted_text
from suite.decide.comparison.model import Comparison, Difference
from suite.observe.frame import Cell, Matrix
from suite.observe.machines import hosts_by_end
from suite.present import heading
from suite.present.tables.model import Pair
from suite.result.machine import Machine
from suite.result.plan import builds_text

# what a block names of the facts that differ, by kind, or by kind and name; of others their number
NAMED = frozenset(("words", "binaries", "subject", ("kernel", "kernel"),
                   ("clocksource", "clocksource")))
PATH = re.compile(r"(^|[:,])[~.]*/")  # a word with a path: base, new and the command have it
LOOPBACK = "lo"  # the loopback device of every system begins so
NO_NETWORK = {"null": "none, nothing is sent", "unix": "Unix sockets"}  # by transport


def mitigations_text(machine: Machine) -> str:
    """`mitigations spectre_v1 spectre_v2 (vulnerable: mds)`, the latter without a mitigation."""
    facts: Mapping[str, str] = machine.facts.get("mitigations", {})
    done = [name for name, text in facts.items() if "Mitigation" in text]
    open_ = [name for name, text in facts.items() if name not in done and "ulnerable" in text]
    vulnerable = f" (vulnerable: {' '.join(sorted(open_))})" if open_ else ""
    return f"mitigations {' '.join(sorted(done)) or ('none' if facts else 'unknown')}{vulnerable}"


def device_text(machine: Machine) -> str:
    """`eth0 MTU 1500`: the network device through which a machine reaches its peer."""
    device = machine.facts.get("device", {})
    mtu = f" MTU {device['mtu_bytes']}" if "mtu_bytes" in device else ""
    return f"{device.get('name', '')}{mtu}".strip() or "device unknown"


def carrier_text(matrix: Matrix, cell: Cell) -> str:
    """What carries the bytes of a cell outside a lab: nothing, a Unix socket, loopback, devices."""
    transport = cell.words.get("transport", "")
    if transport in NO_NETWORK:
        return NO_NETWORK[transport]
    ends = hosts_by_end(matrix.result, {cell.name: cell.target}, counted=True)
    devices = {end: ", ".join(dict.fromkeys(map(device_text, machines.values())))
               for end, machines in ends.items()}
    if len(ends) > 1 and len({frozenset(hosts) for hosts in ends.values()}) == 1:
        device = devices["client"]
        return f"loopback ({device})" if device.startswith(LOOPBACK) else "loopback"
    return "hosts: " + ", ".join(f"{end} {device}" for end, device in devices.items())


def network_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """Each network path of these cells once, and the congestion control of their sockets."""
    ran = [cell for cell in cells if cell.runs_ok]
    paths = dict.fromkeys(carrier_text(matrix, cell) for cell in ran if not lab_wanted(cell.words))
    links = heading.labs_text(ran)
    name = heading.congestion_text(matrix)
    congestion = {"none": "", "unknown": "congestion unknown"}.get(name, name)
    return "; ".join(filter(None, [
        *paths, f"lab of three namespaces, {links}" if links else "", congestion]))


def is_named(difference: Difference) -> bool:
    kind, name = difference.kind, difference.name.rsplit(".", 1)[-1]  # without the end before it
    path = kind == "words" and (PATH.search(difference.base) or PATH.search(difference.new))
    return difference.refuses or not path and not NAMED.isdisjoint((kind, (kind, name)))


def differences_text(differences: Iterable[Difference]) -> str:
    """`kernel 6.17.0 -> 6.18.0; and 14 other settings`, which `uncork compare` lists. A boot is no
    setting."""
    found = sorted((one for one in differences if one.kind != "boot"),
                   key=lambda one: not one.refuses)
    named = [one.text for one in found if is_named(one)]
    if others := len(found) - len(named):
        named.append(("and " if named else "") + counted_text(others, "other setting"))
    return "; ".join(named)


def measured_pairs(matrix: Matrix, cells: Sequence[Cell], comparison: Comparison | None = None
                   ) -> list[Pair]:
    """Where and how these cells were measured, and what else differs between the sides."""
    differences = comparison.differences if comparison else ()
    matrices = [side.matrix for side in comparison.sides] if comparison else [matrix]
    compared, others = (differences_text(one for one in differences if one.declared is declared)
                        for declared in (True, False))
    programs = matrix.result.plan.programs
    emulated = sum(bool(cell.emulated) for cell in (
        (cell for _, _, cell in comparison.cells()) if comparison else cells))
    builds = "" if any(one.kind == "binaries" for one in differences) else builds_text(
        matrix.result.plan)
    secure = any(cell.words.get("security", "plain") != "plain" for cell in cells)
    pairs = [
        ("subject", "; ".join(filter(None, dict.fromkeys(map(heading.subjects_text, matrices))))),
        ("machine", heading.machines_text(matrix, cells, lambda machine: ", ".join(
            (heading.machine_text(machine), mitigations_text(machine))))),
        ("emulated", f"{counted_text(emulated, 'cell')}: {EXACT_ONLY}" if emulated else ""),
        ("network", network_text(matrix, cells)),
        ("tls", heading.security_text(matrix) if secure else ""),
        ("uncork", "; ".join(filter(None, [
            f"version {programs.own.uncork}, revision {programs.own.revision}", programs.homepage,
            builds]))),
        ("compared", compared),
        ("differs", others or "nothing else" if comparison else ""),
        ("disturbed", "; ".join(filter(None, dict.fromkeys(
            map(heading.disturbances_text, matrices)))))]
    return [pair for pair in pairs if pair[1]]
