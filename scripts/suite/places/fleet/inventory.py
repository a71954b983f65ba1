# SPDX-License-Identifier: MIT
"""The pairs of an Ansible inventory, from what `ansible-inventory --list` prints. Pure.

An inventory has groups `client` and `server`, and perhaps `proxy`: the first hosts of each are a
pair, then the second ones, and so on. Or it has a group `pairs`, whose hosts have the variables
uncork_pair=NAME and uncork_role=client, server or proxy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.base.errors import UsageError
from suite.places.remote import JOIN, address_usable
from suite.result.record import ENDS as ROLES

WORD = "hosts"  # the word of a run: hosts=INVENTORY
CLIENT, SERVER, PROXY = ROLES
PAIRS = "pairs"
# variables of a host
PAIR_VARIABLE, ROLE_VARIABLE, ADDRESS_VARIABLE = "uncork_pair", "uncork_role", "uncork_address"
# a name is part of names of cells, of patterns of Ansible and of names of files
HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Host:
    """A host by its name in the inventory. address: where its server listens; empty: where Ansible
    connects to it."""

    name: str
    address: str = ""


@dataclass(frozen=True)
class HostPair:
    """Hosts that run cells together. ends: client, server and perhaps proxy."""

    ends: tuple[Host, ...]

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Its hosts, each once."""
        return tuple(dict.fromkeys(self.ends))

    @property
    def client(self) -> Host:
        """The host of the client."""
        return self.ends[0]

    def host(self, role: str) -> Host:
        """The host with one of the roles that the pair has."""
        return self.ends[ROLES.index(role)]

    @property
    def apart(self) -> bool:
        """Whether it is more than one host; the client of one host starts all ends."""
        return len(self.hosts) > 1

    @property
    def target(self) -> str:
        """The pair as a value of the word `target`."""
        return JOIN.join(f"ssh:{host.name}" + (f"/{host.address}" if host.address else "")
                         for host in (self.ends if self.apart else self.hosts))


def members(listing: Mapping[str, Any], group: str) -> list[str]:
    """The hosts of a group and of the groups in it, each once, in the order of the inventory."""
    found: dict[str, None] = {}
    waiting, seen = [group], set()
    while waiting:
        name = waiting.pop(0)
        entry = listing.get(name, {})
        found.update(dict.fromkeys(entry.get("hosts", ())))
        seen.add(name)
        waiting += [child for child in entry.get("children", ()) if child not in seen]
    return list(found)


def variables_of(listing: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The variables of a host."""
    return listing.get("_meta", {}).get("hostvars", {}).get(name, {})


def host_make(listing: Mapping[str, Any], name: str, where: str) -> Host:
    """A host of the inventory; UsageError for a name or an address that is none."""
    address = str(variables_of(listing, name).get(ADDRESS_VARIABLE, ""))
    if not HOST_NAME.fullmatch(name):
        raise UsageError(f'{where}host "{name}": give it a name of letters, digits, ".", "_" and '
                         '"-", and its address by ansible_host')
    if address and not address_usable(address):
        raise UsageError(
            f"{where}host {name}: {ADDRESS_VARIABLE}={address} is no address that others reach: "
            "write numbers, like 192.0.2.1 or fd00::1")
    return Host(name, address)


def pairs_by_index(listing: Mapping[str, Any], where: str) -> list[HostPair]:
    """Pairs of the groups client, server and proxy."""
    groups = {role: hosts for role in ROLES if (hosts := members(listing, role)) or role != PROXY}
    if len({len(hosts) for hosts in groups.values()}) != 1:
        counts = ", ".join(f"{role} has {len(hosts)}" for role, hosts in groups.items())
        raise UsageError(f"{where}the first hosts of each group are together, so groups are of one "
                         f"size: {counts}")
    return [HostPair(tuple(host_make(listing, name, where) for name in row))
            for row in zip(*groups.values(), strict=True)]


def pairs_by_name(listing: Mapping[str, Any], where: str) -> list[HostPair]:
    """Pairs of the group pairs, in the order of their first hosts."""
    found: dict[str, dict[str, Host]] = {}
    for name in members(listing, PAIRS):
        variables = variables_of(listing, name)
        pair, role = variables.get(PAIR_VARIABLE), variables.get(ROLE_VARIABLE)
        if pair is None or role not in ROLES:
            raise UsageError(f"{where}host {name} of the group {PAIRS} needs {PAIR_VARIABLE}=NAME "
                             f"and {ROLE_VARIABLE}={CLIENT}, {SERVER} or {PROXY}")
        hosts = found.setdefault(str(pair), {})
        if role in hosts:
            raise UsageError(f"{where}pair {pair} has two hosts of {ROLE_VARIABLE}={role}: "
                             f"{hosts[role].name} and {name}")
        hosts[role] = host_make(listing, name, where)
    for pair, hosts in found.items():
        for role in (CLIENT, SERVER):
            if role not in hosts:
                raise UsageError(f"{where}pair {pair} has no host of {ROLE_VARIABLE}={role}")
    return [HostPair(tuple(hosts[role] for role in ROLES if role in hosts))
            for hosts in found.values()]


def pairs_read(listing: Mapping[str, Any], path: str) -> tuple[HostPair, ...]:
    """The pairs of an inventory.

    UsageError where it has none, where they are ambiguous, and where two of them, which run at the
    same time, have the same host. listing: from Ansible; path: for messages.
    """
    where = f"{WORD}={path}: "
    by_name, indexed = PAIRS in listing, [role for role in ROLES if role in listing]
    if by_name and indexed:
        raise UsageError(
            f"{where}it has a group {PAIRS} and a group {indexed[0]}: leave one of them out")
    if not by_name and not {CLIENT, SERVER} <= set(indexed):
        raise UsageError(f"{where}it needs groups {CLIENT} and {SERVER}, or a group {PAIRS}")
    pairs = (pairs_by_name if by_name else pairs_by_index)(listing, where)
    if not pairs:
        raise UsageError(f"{where}there is no host in its groups")
    name, times = Counter(host.name for pair in pairs for host in pair.hosts).most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"{where}host {name} is in {times} pairs, and all pairs work at the same time")
    return tuple(pairs)
