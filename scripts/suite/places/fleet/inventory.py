# SPDX-License-Identifier: MIT
"""Which hosts of an Ansible inventory work together, from what `ansible-inventory --list` says of
it.

Either groups `client` and `server`, and perhaps `proxy`: the first hosts of each are together, then
the second ones, and so on. Or a group `pairs`, whose hosts say by uncork_pair=NAME and
uncork_role=client, server or proxy which they are.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.base.errors import UsageError

WORD = "hosts"  # the word of a run: hosts=INVENTORY
CLIENT, SERVER, PROXY = ROLES = ("client", "server", "proxy")
PAIRS = "pairs"
PAIR_OF, ROLE_OF, ADDRESS_OF = "uncork_pair", "uncork_role", "uncork_address"  # variables of a host
# what stands in names of cells, patterns of Ansible and names of files
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Host:
    """A host by its name in the inventory; address: where its server is to listen, empty: where
    Ansible reaches it."""

    name: str
    address: str = ""

    @property
    def part(self) -> str:
        """The host as a part of the word `target`."""
        return f"ssh:{self.name}" + (f"/{self.address}" if self.address else "")


@dataclass(frozen=True)
class Pair:
    """Hosts that run cells together."""

    client: Host
    server: Host
    proxy: Host | None = None

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Its hosts, each once."""
        return tuple(dict.fromkeys(host for host in (self.client, self.server, self.proxy) if host))

    def host(self, role: str) -> Host:
        """The host that has a role; there is one."""
        found: Host | None = getattr(self, role)
        assert found
        return found

    @property
    def apart(self) -> bool:
        """Whether it is more than one host; one starts all ends itself."""
        return len(self.hosts) > 1

    @property
    def target(self) -> str:
        """The pair as a value of the word `target`."""
        parts = [host.part for host in (self.client, self.server, self.proxy) if host]
        return parts[0] if len(set(parts)) == 1 else "+".join(parts)


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


def host_make(listing: Mapping[str, Any], name: str, where: str) -> Host:
    """A host with what the inventory says of it."""
    variables = listing.get("_meta", {}).get("hostvars", {}).get(name, {})
    address = str(variables.get(ADDRESS_OF, ""))
    if not NAME.fullmatch(name):
        raise UsageError(
            f'{where}host "{name}": give it a name of letters, digits, ".", "_" and "-", and its address by '
                         "ansible_host")
    with contextlib.suppress(ValueError):
        if not address or not ipaddress.ip_address(address).is_unspecified:
            return Host(name, address)
    raise UsageError(f"{where}host {name}: {ADDRESS_OF}={address} is no address that others reach: "
                     "write numbers, like 192.0.2.1 or fd00::1")


def by_index(listing: Mapping[str, Any], where: str) -> list[Pair]:
    """Pairs of the groups client, server and proxy."""
    groups = {role: members(listing, role) for role in ROLES}
    counts = {role: len(hosts) for role, hosts in groups.items() if hosts or role != PROXY}
    if len(set(counts.values())) != 1:
        told = ", ".join(f"{role} has {count}" for role, count in counts.items())
        raise UsageError(
            f"{where}the first hosts of each group are together, so groups are of one size: {told}")
    rows = zip(*(groups[role] for role in counts), strict=True)
    return [Pair(*(host_make(listing, name, where) for name in row)) for row in rows]


def by_name(listing: Mapping[str, Any], where: str) -> list[Pair]:
    """Pairs of the group pairs, in the order in which their names first stand there."""
    found: dict[str, dict[str, Host]] = {}
    for name in members(listing, PAIRS):
        variables = listing.get("_meta", {}).get("hostvars", {}).get(name, {})
        pair, role = variables.get(PAIR_OF), variables.get(ROLE_OF)
        if pair is None or role not in ROLES:
            raise UsageError(
                f"{where}host {name} of the group {PAIRS} needs {PAIR_OF}=NAME and {ROLE_OF}="
                             f"{', '.join(ROLES[:-1])} or {ROLES[-1]}")
        taken = found.setdefault(str(pair), {})
        if role in taken:
            raise UsageError(
                f"{where}pair {pair} has two hosts of {ROLE_OF}={role}: {taken[role].name} and {name}")
        taken[role] = host_make(listing, name, where)
    for pair, hosts in found.items():
        for role in (CLIENT, SERVER):
            if role not in hosts:
                raise UsageError(f"{where}pair {pair} has no host of {ROLE_OF}={role}")
    return [Pair(hosts[CLIENT], hosts[SERVER], hosts.get(PROXY)) for hosts in found.values()]


def once_check(pairs: Sequence[Pair], where: str) -> None:
    """Refuses a host that two pairs have: they work at the same time."""
    counts = Counter(host.name for pair in pairs for host in pair.hosts)
    name, times = counts.most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"{where}host {name} is in {times} pairs, and all pairs work at the same time")


def pairs_read(listing: Mapping[str, Any], path: str) -> tuple[Pair, ...]:
    """The pairs of an inventory. UsageError in one line where it has none, or they are not
    clear."""
    where = f"{WORD}={path}: "
    named, indexed = PAIRS in listing, [role for role in ROLES if role in listing]
    if named and indexed:
        raise UsageError(
            f"{where}it has a group {PAIRS} and a group {indexed[0]}: leave one of them out")
    if not named and not {CLIENT, SERVER} <= set(indexed):
        raise UsageError(f"{where}it needs groups {CLIENT} and {SERVER}, or a group {PAIRS}")
    pairs = by_name(listing, where) if named else by_index(listing, where)
    if not pairs:
        raise UsageError(f"{where}there is no host in its groups")
    once_check(pairs, where)
    return tuple(pairs)
