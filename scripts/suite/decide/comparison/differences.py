# SPDX-License-Identifier: MIT
"""Differences between the machines of two sides, from hosts.json, plan.json and sockets; and which
of them make a ratio invalid.

A fact has a kind, a name and a value. The kind is what a reader looks for (kernel, sysctl,
offloads). FACTS lists the single facts of hosts.json, FACT_GROUPS its groups. A fact that only one
side knows is a difference, because it may be one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from suite.base import grouped
from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import BUILD, SUBJECT, TARGET, build_of
from suite.decide.comparison.model import Comparison, Difference
from suite.observe.frame import Cell, Matrix, rounds_common
from suite.observe.machines import TIMES_INVALID, hosts_by_end, machine_find, machines_group
from suite.result.record import ENDS

FACTS = {
    "machine": ("host_name", "product", "architecture", "memory"),
    "cpu": ("cpu", "cpus_online", "smt", "cpus_isolated"),
    "virtualisation": ("virtualisation",),
    "kernel": ("system", "kernel", "kernel_version", "preemption", "transparent_hugepages"),
    "distribution": ("distribution",),
    "clocksource": ("clocksource",),
    "governor": ("governor", "frequency_driver", "idle_driver", "idle_governor"),
}
FACT_GROUPS = ("mitigations", "sysctl")  # each is a kind
BINARY_VERSIONS = ("uncork", "revision")  # these versions are of kind binaries, others: libraries
# kind and name of facts that a ratio refuses to differ in; "": the kind is unknown on one side
REFUSED_FACTS = {("virtualisation", "virtualisation"), ("cpu", "cpus_online"), ("cpu", ""),
                 ("congestion", "congestion")}
SOCKETS = {"congestion": "congestion", "libraries": "security"}  # facts of records: kind, name
# all kinds of facts about a machine
MACHINE_KINDS = (*FACTS, *FACT_GROUPS, "cmdline", "offloads", "boot", "binaries", *SOCKETS, SUBJECT)
# a declared name declares these kinds too
IMPLIED_KINDS = {"kernel": ("boot",), BUILD: ("binaries",), TARGET: MACHINE_KINDS}
UNKNOWN_FACT = "unknown"
DIFFERENCES_SHOWN = 3  # a line names so many

FlatFacts = dict[tuple[str, str], str]
Hosts = Mapping[str, Mapping[str, str]]  # by end: its hosts, each with its target
Matrices = tuple[Matrix, Matrix]  # base and new


def flat_machine(facts: Mapping[str, Any]) -> FlatFacts:
    """One machine of hosts.json as (kind, name): value."""
    flat = {(kind, name): str(facts[name]) for kind, names in FACTS.items() for name in names
            if name in facts}
    for word in facts.get("cmdline", "").split():  # a parameter may be there several times
        name, _, value = word.partition("=")
        before = flat.get(("cmdline", name))
        flat["cmdline", name] = (f"{before}," if before else "") + (value or "given")
    flat |= {(kind, name): " ".join(str(value).split()) for kind in FACT_GROUPS
             for name, value in facts.get(kind, {}).items()}
    device = facts.get("device", {})  # the device towards the peer: name, MTU, offloads
    states = {name: ("off", "on")[on] if isinstance(on, bool) else on
              for name, on in device.get("offloads", {}).items()}
    flat |= {("offloads", name): str(value) for name, value in (device | states).items()
             if name not in ("offloads", "local_address")}
    for name, value in facts.get("versions", {}).items():
        flat["binaries" if name in BINARY_VERSIONS else "libraries", name] = str(value)
    return flat


def plan_facts(matrix: Matrix) -> FlatFacts:
    """The facts of a plan: the digest of the programs, and the boots of its sessions."""
    plan = matrix.result.plan
    return {("binaries", "build"): plan.programs.digest,
            ("boot", "boot"): ",".join(dict.fromkeys(one.boots.here for one in plan.sessions))}


def socket_facts(matrix: Matrix, cell: Cell) -> FlatFacts:
    """The facts in the records of a cell: congestion control, security library, programs."""
    traits = matrix.traits_of(cell.name)
    names = {"congestion": {name for one in traits for name in one.congestion},
             "libraries": {end.library for one in traits for end in one.ends if end.library}}
    programs = {f"{one.version} {one.digest}": (SUBJECT, f"{one.subject}.program")
                for each in traits for one in each.subjects}
    return {(kind, SOCKETS[kind]): ", ".join(sorted(found)) for kind, found in names.items()
            if found} | {key: ", ".join(programs) for key in programs.values()}


def end_facts(matrix: Matrix, hosts: Mapping[str, str]) -> FlatFacts:
    """The facts of the machines of one end, each with all its values. hosts: with their targets."""
    boots = (machine_find(matrix.result, host, target) for host, target in hosts.items())
    values = grouped(fact for machine in machines_group(boots)
                     for fact in flat_machine(machine.facts).items())
    return {key: ", ".join(dict.fromkeys(found)) for key, found in values.items()}


def facts_compare(base: FlatFacts, new: FlatFacts) -> Iterator[Difference]:
    """The facts that differ, in order. If one side has several facts of a kind and the other none,
    the difference has only their number."""
    counts = [Counter(kind for kind, _ in facts) for facts in (base, new)]
    both = counts[0] + counts[1]
    several = {kind: f"{both[kind]} known" for kind in counts[0].keys() ^ counts[1].keys()
               if both[kind] > 1}
    sides = [{(kind, "" if kind in several else name): several.get(kind, value)
              for (kind, name), value in facts.items()} for facts in (base, new)]
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        one, two = (facts.get(key, UNKNOWN_FACT) for facts in sides)
        if one != two:
            yield Difference(*key, one, two, refuses=key in REFUSED_FACTS)


def hosts_compare(matrices: Matrices, sides: Sequence[Hosts]) -> tuple[Difference, ...]:
    """The differences between the machines of two sides. If all ends have the same difference, it
    is one; else the ends stand before its name."""
    ends = [end for end in ENDS if end in sides[0] or end in sides[1]]
    found = grouped((difference, end) for end in ends for difference in facts_compare(
        *(end_facts(matrix, hosts.get(end, {}))
          for matrix, hosts in zip(matrices, sides, strict=True))))
    return tuple(difference if where == ends else
                 replace(difference, name=".".join([*where, difference.name]).rstrip("."))
                 for difference, where in found.items())


def pair_hosts(matrices: Matrices, cells: Sequence[Cell]) -> list[Hosts]:
    """The hosts of two cells by end. If the cells share rounds, leaves out ends with a host in
    common: if such an end lacks another host, a run has failed there."""
    base, new = (hosts_by_end(matrix.result, {cell.name: cell.target})
                 for matrix, cell in zip(matrices, cells, strict=True))
    if matrices[0] is not matrices[1] or not rounds_common(cells):
        return [base, new]
    same = [end for end in base.keys() & new.keys() if base[end].keys() & new[end].keys()]
    return [{end: hosts for end, hosts in side.items() if end not in same} for side in (base, new)]


def cells_compare(matrices: Matrices, pairs: Sequence[Sequence[Cell]]) -> tuple[Difference, ...]:
    """The differences between the machines, and then the sockets, of pairs of cells, each once."""
    # each pair of host sets once: nearly all pairs of cells ran on the same machines
    hosts = {repr(sides): sides for sides in (pair_hosts(matrices, cells) for cells in pairs)}
    machines = (one for sides in hosts.values() for one in hosts_compare(matrices, sides))
    sockets = (one for cells in pairs for one in facts_compare(*map(socket_facts, matrices, cells))
               if UNKNOWN_FACT not in (one.base, one.new))
    return *dict.fromkeys(machines), *dict.fromkeys(sockets)


def builds_compare(matrices: Matrices, words: Sequence[Mapping[str, str]]
                   ) -> tuple[Difference, ...]:
    """The differences in revision and digest between the builds that the sides name."""
    if not any(BUILD in side for side in words):
        return ()
    named = list(map(build_of, words))
    builds = [matrix.result.plan.programs.build(name)
              for matrix, name in zip(matrices, named, strict=True)]
    facts = [{("binaries", key): getattr(build, key) for key in ("revision", "digest")}
             if build else {} for build in builds]
    return differences_declare(facts_compare(*facts), {BUILD} if named[0] != named[1] else ())


def difference_names(difference: Difference) -> set[str]:
    """The names that declare a difference: its kind (kernel), or its own (tcp_rmem)."""
    return {difference.kind, difference.name, difference.name.rsplit(".", 1)[-1]}


def differences_declare(differences: Iterable[Difference],
                        declared: Collection[str]) -> tuple[Difference, ...]:
    """The differences, those with a declared name marked as declared."""
    declared = {*declared, *(name for one in declared for name in IMPLIED_KINDS.get(one, ()))}
    return tuple(replace(one, declared=bool(declared & difference_names(one)))
                 for one in differences)


def differences_line(differences: Collection[Difference]) -> str:
    texts = [one.text for one in differences]
    more = [f"and {len(texts) - DIFFERENCES_SHOWN} more"] if len(texts) > DIFFERENCES_SHOWN else []
    return "; ".join([*texts[:DIFFERENCES_SHOWN], *more])


def times_check(comparison: Comparison, where: str) -> None:
    """UsageError if a cell was emulated. where: the output, which has times only."""
    for _, side, cell in comparison.cells():
        if cell.emulated:
            raise UsageError(
                f"{where}: {cell.name or side.matrix.result.folder}: {TIMES_INVALID}")


def declared_check(comparison: Comparison, declared: Iterable[str]) -> None:
    """UsageError for a declared axis in which the two results do not differ."""
    known = {name for one in comparison.differences for name in difference_names(one)}
    for name in declared:
        if name not in known:
            raise UsageError(
                f"axis={name}: the two results do not differ in it{nearest_hint(name, known)}")


def axis_hint(comparison: Comparison, declared: Iterable[str],
              others: Iterable[Difference]) -> str:
    """The hint which word declares these differences too; empty within a result."""
    axes = ",".join(dict.fromkeys([*declared, *(one.kind for one in others)]))
    return "" if comparison.within else f" (axis={axes} declares it)"


def refusals_check(comparison: Comparison, declared: Collection[str] = (), strict: bool = False,
                   force: bool = False) -> Comparison:
    """The comparison, with a note if it was forced. UsageError as declared_check(); if a difference
    refuses ratios, unless force; if strict, and anything that is not declared differs."""
    declared_check(comparison, declared)
    others = [one for one in comparison.differences if not one.declared]
    refusing = comparison.refusing
    if strict and others:
        raise UsageError("--strict: the sides differ in more than what is compared: "
                         f"{differences_line(others)}{axis_hint(comparison, declared, others)}")
    if not refusing:
        return comparison
    line = differences_line(refusing)
    if not force:
        raise UsageError(f"{line}: a ratio across this difference does not show what caused it"
                         f"{axis_hint(comparison, declared, refusing)}; "
                         "compare --force compares nevertheless")
    return replace(comparison, notes=(
        f"forced across {line}: no ratio here shows what caused it", *comparison.notes))
