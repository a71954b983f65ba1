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
from suite.contrast.contrast import Unit
from suite.decide.comparison.model import Comparison, Difference, Row, Side
from suite.decide.comparison.sides import words_compared
from suite.observe.frame import Cell, Matrix
from suite.observe.machines import TIMES_INVALID, hosts_by_end, machines_group
from suite.result.machine import Machine
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
# all kinds of facts about a machine
MACHINE_KINDS = (*FACTS, *FACT_GROUPS, "cmdline", "offloads", "boot", "binaries", "congestion",
                 "libraries", SUBJECT)
# a declared name declares these kinds too
IMPLIED_KINDS = {"kernel": ("boot",), BUILD: ("binaries",), TARGET: MACHINE_KINDS}
UNKNOWN_FACT = "unknown"
DIFFERENCES_SHOWN = 3  # a line names so many

FlatFacts = dict[tuple[str, str], str]
Hosts = Mapping[str, Mapping[str, Machine]]  # by end: its machines by host id


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


def facts_join(facts: Iterable[tuple[tuple[str, str], str]]) -> FlatFacts:
    """Each fact with all its values."""
    return {key: ", ".join(sorted(set(values))) for key, values in grouped(facts).items()}


def end_facts(boots: Iterable[Machine]) -> FlatFacts:
    """The facts of the machines of one end."""
    return facts_join(fact for machine in machines_group(boots)
                      for fact in flat_machine(machine.facts).items())


def socket_facts(matrix: Matrix, cell: Cell) -> FlatFacts:
    """The facts in the records of a cell: congestion control, security library, programs."""
    traits = matrix.traits_of(cell.name)
    return facts_join([
        *((("congestion", "congestion"), name) for one in traits for name in one.congestion),
        *((("libraries", "security"), end.library) for one in traits for end in one.ends
          if end.library),
        *(((SUBJECT, f"{one.subject}.program"), f"{one.version} {one.digest}")
          for each in traits for one in each.subjects)])


def plan_facts(side: Side, named: bool) -> FlatFacts:
    """The digest of the programs and the boots of the sessions; if a side has named its build, its
    revision and digest."""
    plan = side.matrix.result.plan
    build = plan.programs.builds.get(build_of(side.words)) if named else None
    return {("binaries", "build"): plan.programs.own.digest,
            ("boot", "boot"): ",".join(dict.fromkeys(one.boots[""] for one in plan.sessions)),
            **({("binaries", "revision"): build.revision, ("binaries", "digest"): build.digest}
               if build else {})}


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


def hosts_compare(hosts: Sequence[Hosts], unit: Unit) -> Iterator[Difference]:
    """The differences between these machines of two sides. If all ends have the same difference, it
    is one; else the ends stand before its name."""
    ends = [end for end in ENDS if any(end in own for own in hosts)]
    if unit is Unit.ROUND:  # both ran on a common host: if one lacks another, a run failed there
        ends = [end for end in ends if set.isdisjoint(*(set(own.get(end, {})) for own in hosts))]
    found = grouped((difference, end) for end in ends for difference in facts_compare(*(
        end_facts(own.get(end, {}).values()) for own in hosts)))
    for difference, where in found.items():
        name = difference.name if where == ends else ".".join([*where, difference.name])
        yield replace(difference, name=name.rstrip("."))


def words_differences(sides: Sequence[Side], rows: Sequence[Row], compared: Collection[str],
                      within: bool) -> Iterator[Difference]:
    """The words in which partners differ; within one result only words that vary and are not
    compared."""
    axes = {axis: "" for side in sides for axis in side.matrix.axes}
    words = [[cell.axes if within else axes | {**cell.words} for cell in row.pair]
             for row in rows if row.pair]
    found = grouped((key, (base[key] or "none", new[key] or "none")) for base, new in words
                    for key in words_compared(base, new) if not (within and key in compared))
    for key, values in found.items():
        base, new = (",".join(dict.fromkeys(side)) for side in zip(*values, strict=True))
        yield Difference("words", key, base, new)


def differences_find(sides: Sequence[Side], rows: Sequence[Row], unit: Unit,
                     declared: Collection[str]) -> tuple[Difference, ...]:
    """The differences between two sides, each once: of machines, sockets, plans and words.
    declared: the compared words, and the names of axis=."""
    pairs = [list(zip(sides, row.pair, strict=True)) for row in rows
             if row.pair and all(cell.runs_ok for cell in row.pair)]
    ran = [[hosts_by_end(side.matrix.result, {cell.name: cell.target}) for side, cell in pair]
           for pair in pairs]
    # each pair of host sets once: nearly all pairs of cells ran on the same machines
    different = {repr([{end: list(own[end]) for end in own} for own in hosts]): hosts
                 for hosts in ran}
    found = [one for hosts in different.values() for one in hosts_compare(hosts, unit)]
    found += (one for pair in pairs for one in facts_compare(
        *(socket_facts(side.matrix, cell) for side, cell in pair))
        if UNKNOWN_FACT not in (one.base, one.new))
    named = any(BUILD in side.words for side in sides)
    found += facts_compare(*(plan_facts(side, named) for side in sides))
    found += words_differences(sides, rows, declared, unit is not Unit.SESSION)
    names = {*declared, *(name for one in declared for name in IMPLIED_KINDS.get(one, ()))}
    return tuple(replace(one, declared=bool(names & one.names)) for one in dict.fromkeys(found))


def times_check(comparison: Comparison, where: str) -> None:
    """UsageError if a cell was emulated. where: the output, which has times only."""
    for _, side, cell in comparison.cells():
        if cell.emulated:
            raise UsageError(
                f"{where}: {cell.name or side.matrix.result.folder}: {TIMES_INVALID}")


def differences_told(comparison: Comparison, declared: Iterable[str],
                     differences: Sequence[Difference]) -> tuple[str, str]:
    """These differences in a line, and which axis= declares them too; empty within a result."""
    texts = [one.text for one in differences[:DIFFERENCES_SHOWN]]
    left = len(differences) - len(texts)
    axes = ",".join(dict.fromkeys([*declared, *(one.kind for one in differences)]))
    return ("; ".join([*texts, *([f"and {left} more"] if left else [])]),
            "" if comparison.within else f" (axis={axes} declares it)")


def refusals_check(comparison: Comparison, declared: Collection[str] = (), strict: bool = False,
                   force: bool | None = None) -> Comparison:
    """The comparison, with a note if it was forced. UsageError for a declared axis in which the two
    results do not differ; if a difference refuses ratios, unless force; if strict, and anything
    that is not declared differs. force: None if the command has no --force."""
    known = {name for one in comparison.differences for name in one.names}
    for name in declared:
        if name not in known:
            raise UsageError(
                f"axis={name}: the two results do not differ in it{nearest_hint(name, known)}")
    others = [one for one in comparison.differences if not one.declared]
    if strict and others:
        line, hint = differences_told(comparison, declared, others)
        raise UsageError("--strict: the sides differ in more than what is compared: "
                         f"{line}{hint}")
    if not comparison.refusing:
        return comparison
    line, hint = differences_told(comparison, declared, comparison.refusing)
    if not force:
        way = "" if force is None else "; --force compares nevertheless"
        raise UsageError(
            f"{line}: a ratio across this difference does not show what caused it{hint}{way}")
    return replace(comparison, notes=(
        f"forced across {line}: no ratio here shows what caused it", *comparison.notes))
