# SPDX-License-Identifier: MIT
"""What differs between the machines of two results, from hosts.json, plan.json and what sockets told.

Facts are flat here: of which kind, name, value. A kind is what a reader would look for (kernel, sysctl,
offloads); FACTS is the list of those that stand by themselves in hosts.json, GROUPS of those that stand
together. A fact that only one side knows differs, because nobody knows that it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from suite.builds import build_facts, build_of
from suite.comparison.model import Difference
from suite.frame import Matrix
from suite.heading import congestion_text
from suite.measured import ENDS
from suite.withheld import BUILD

FACTS = {
    "machine": ("host_name", "product", "architecture", "memory"),
    "cpu": ("cpu", "cpus_online", "smt", "cpus_isolated"),
    "virtualisation": ("virtualisation",),
    "kernel": ("system", "kernel", "kernel_version", "preemption", "transparent_hugepages"),
    "distribution": ("distribution",),
    "clocksource": ("clocksource",),
    "governor": ("governor", "frequency_driver", "idle_driver", "idle_governor"),
}
GROUPS = {"mitigations": "mitigations", "sysctl": "sysctl"}  # in hosts.json: kind
DEVICE = "device"
LIBRARIES = "versions"
BINARIES = ("uncork", "revision")  # of the versions those that say which binaries these are
REFUSES = {("virtualisation", "virtualisation"), ("cpu", "cpus_online"), ("congestion", "congestion")}
IMPLIES = {"kernel": ("boot",), BUILD: ("binaries",)}  # what cannot but differ with what is declared
EMULATION = "tcg"
ABSENT = "unknown"

Facts = dict[tuple[str, str], str]


def cmdline_facts(text: str) -> Iterator[tuple[str, str]]:
    """The parameters of a kernel's command line; one given several times has all of its values."""
    found: dict[str, list[str]] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        found.setdefault(name, []).append(value or "given")
    yield from ((name, ",".join(values)) for name, values in found.items())


def device_facts(device: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name, MTU and offloads of the device by which an end reaches its peer."""
    for key, value in device.items():
        if key == "offloads":
            yield from ((name, "on" if on is True else "off" if on is False else str(on))
                        for name, on in value.items())
        elif key != "local_address":
            yield key, str(value)


def host_facts(facts: Mapping[str, Any]) -> Facts:
    """One machine of hosts.json as (kind, name): value."""
    flat = {(kind, name): str(facts[name]) for kind, names in FACTS.items() for name in names if name in facts}
    flat |= {("cmdline", name): value for name, value in cmdline_facts(facts.get("cmdline", ""))}
    for key, kind in GROUPS.items():
        flat |= {(kind, name): " ".join(str(value).split()) for name, value in facts.get(key, {}).items()}
    flat |= {("offloads", name): value for name, value in device_facts(facts.get(DEVICE, {}))}
    for name, value in facts.get(LIBRARIES, {}).items():
        flat["binaries" if name in BINARIES else "libraries", name] = str(value)
    return flat


def plan_facts(matrix: Matrix) -> Facts:
    """What plan.json and the records tell of binaries, boots, congestion control and security layers."""
    plan = matrix.result.plan
    boots = dict.fromkeys(str(entry["boot"]) for entry in plan.get("sessions", ()) if "boot" in entry)
    facts = {("binaries", "build"): str(plan.get("build", ABSENT)),
             ("boot", "boot"): ",".join(boots) or str(plan.get("boot", ABSENT)),
             ("congestion", "congestion"): congestion_text(matrix)}
    libraries = sorted({end.library for traits in matrix.traits for end in traits.ends if end.library})
    return facts | ({("libraries", "security"): ",".join(libraries)} if libraries else {})


def hosts_by_end(matrix: Matrix) -> dict[str, tuple[str, ...]]:
    """The ids of the machines on which each end ran, in the order in which they were met."""
    found: dict[str, dict[str, None]] = {}
    for traits in matrix.result.runs.traits_counts():
        for end in traits.ends:
            if end.host:
                found.setdefault(end.name, {})[end.host] = None
    return {end: tuple(hosts) for end, hosts in found.items()}


def end_facts(matrix: Matrix, hosts: Iterable[str]) -> Facts:
    """The facts of one end's machines; of several machines, or boots, all values that a fact had."""
    values: dict[tuple[str, str], dict[str, None]] = {}
    for host in hosts:
        for key, value in host_facts(matrix.result.hosts.get(host, {})).items():
            values.setdefault(key, {})[value] = None
    return {key: ", ".join(found) for key, found in values.items()}


def facts_compare(base: Facts, new: Facts) -> Iterator[Difference]:
    """What is not the same, in the order of the facts."""
    for key in dict.fromkeys([*base, *new]):
        one, two = base.get(key, ABSENT), new.get(key, ABSENT)
        if one != two:
            yield Difference(key[0], key[1], one, two, refuses=key in REFUSES)


def machines_compare(base: Matrix, new: Matrix) -> tuple[Difference, ...]:
    """Everything in which the machines and binaries of two results differ.

    What is the same difference for several ends is told once; else the end stands before the name.
    """
    sides = hosts_by_end(base), hosts_by_end(new)
    found: dict[Difference, list[str]] = {}
    ends = [end for end in ENDS if end in sides[0] or end in sides[1]]
    for end in ends:
        facts = [end_facts(matrix, hosts.get(end, ())) for matrix, hosts in zip((base, new), sides, strict=True)]
        for difference in facts_compare(*facts):
            found.setdefault(difference, []).append(end)
    named = [difference if where == ends else
             Difference(difference.of, f"{'.'.join([*where, difference.name])}", difference.base, difference.new,
                        refuses=difference.refuses)
             for difference, where in found.items()]
    return (*named, *facts_compare(plan_facts(base), plan_facts(new)))


def builds_compare(sides: Iterable[tuple[Matrix, Mapping[str, str]]]) -> tuple[Difference, ...]:
    """Revision and digest of the builds that the words of the sides name, where these are not the same."""
    base, new = ((matrix.result.plan, words) for matrix, words in sides)
    if BUILD not in base[1] and BUILD not in new[1]:
        return ()
    facts = [{("binaries", name): value for name, value in build_facts(plan, build_of(words)).items()}
             for plan, words in (base, new)]
    return differences_declare(facts_compare(*facts), {BUILD} if build_of(base[1]) != build_of(new[1]) else ())


def differences_declare(differences: Iterable[Difference], declared: Collection[str]) -> tuple[Difference, ...]:
    """The differences with those marked that the comparison is about: by kind (kernel) or name (tcp_rmem)."""
    declared = {*declared, *(name for one in declared for name in IMPLIES.get(one, ()))}
    return tuple(Difference(one.of, one.name, one.base, one.new,
                            one.of in declared or one.name.rsplit(".", 1)[-1] in declared or one.name in declared,
                            one.refuses) for one in differences)


def emulated(matrix: Matrix) -> bool:
    """Whether some machine of a result is emulated, so that its times say nothing."""
    return any(facts.get("virtualisation") == EMULATION or EMULATION.upper() in str(facts.get("cpu", "")).split()
               for facts in matrix.result.hosts.values())
