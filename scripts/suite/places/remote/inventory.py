# SPDX-License-Identifier: MIT
"""The pairs of an Ansible inventory, from what `ansible-inventory --list` prints. Pure.

An inventory has groups `client` and `server`, and perhaps `proxy`: the first hosts of each are a
pair, then the second ones, and so on. Or it has a group `pairs`, whose hosts have the variables
uncork_pair=NAME and uncork_role=client, server or proxy.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from suite.base.errors import UsageError
from suite.places.remote.pairs import CLIENT, JOIN, PROXY, SERVER, part_parse
from suite.result.record import ENDS as ROLES

PAIRS = "pairs"
# variables of a host
PAIR_VARIABLE, ROLE_VARIABLE, ADDRESS_VARIABLE = "uncork_pair", "uncork_role", "uncork_address"
# a name becomes part of names of cells, patterns of Ansible and names of files
HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def members(listing: Mapping[str, Any], group: str) -> list[str]:
    """The hosts of a group and of its subgroups, each once, in the order of the inventory."""
    found, groups = list[str](), [group]
    for name in groups:  # the loop adds subgroups
        entry = listing.get(name, {})
        found += entry.get("hosts", ())
        groups += [child for child in entry.get("children", ()) if child not in groups]
    return list(dict.fromkeys(found))


def variables_of(listing: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return listing.get("_meta", {}).get("hostvars", {}).get(name, {})


def part_text(listing: Mapping[str, Any], name: str) -> str:
    """A host as a part of a value of `target`; UsageError for an unusable name or address."""
    if not HOST_NAME.fullmatch(name):
        raise UsageError(f'host "{name}": give it a name of letters, digits, ".", "_" and '
                         '"-", and its address by ansible_host')
    address = variables_of(listing, name).get(ADDRESS_VARIABLE)
    text = f"ssh:{name}/{address}" if address else f"ssh:{name}"
    part_parse(text)
    return text


def pairs_by_index(listing: Mapping[str, Any]) -> list[dict[str, str]]:
    """The hosts of each pair by role, from the groups client, server and proxy."""
    groups = {role: hosts for role in ROLES if (hosts := members(listing, role)) or role != PROXY}
    if len({len(hosts) for hosts in groups.values()}) != 1:
        counts = ", ".join(f"{role} has {len(hosts)}" for role, hosts in groups.items())
        raise UsageError("the first hosts of each group are a pair, and so on: groups must have "
                         f"one size, but {counts}")
    return [dict(zip(groups, hosts, strict=True)) for hosts in zip(*groups.values(), strict=True)]


def pairs_by_name(listing: Mapping[str, Any]) -> list[dict[str, str]]:
    """The hosts of each pair by role, from the group pairs."""
    found: dict[str, dict[str, str]] = {}
    for name in members(listing, PAIRS):
        variables = variables_of(listing, name)
        pair, role = variables.get(PAIR_VARIABLE), variables.get(ROLE_VARIABLE)
        if pair is None or role not in ROLES:
            raise UsageError(f"host {name} of the group {PAIRS} needs {PAIR_VARIABLE}=NAME "
                             f"and {ROLE_VARIABLE}={CLIENT}, {SERVER} or {PROXY}")
        hosts = found.setdefault(str(pair), {})
        if hosts.setdefault(role, name) != name:
            raise UsageError(f"pair {pair} has two hosts of {ROLE_VARIABLE}={role}: "
                             f"{hosts[role]} and {name}")
    for pair, hosts in found.items():
        if missing := {CLIENT, SERVER} - hosts.keys():
            raise UsageError(f"pair {pair} has no host of {ROLE_VARIABLE}={min(missing)}")
    return list(found.values())


def pairs_read(listing: Mapping[str, Any]) -> tuple[str, ...]:
    """The pairs of an inventory, as values of `target`. listing: from Ansible."""
    indexed = [role for role in ROLES if role in listing]
    if PAIRS in listing and indexed:
        raise UsageError(f"it has a group {PAIRS} and a group {indexed[0]}: leave one of them out")
    if PAIRS not in listing and not {CLIENT, SERVER} <= set(indexed):
        raise UsageError(f"it needs groups {CLIENT} and {SERVER}, or a group {PAIRS}")
    pairs = pairs_by_name(listing) if PAIRS in listing else pairs_by_index(listing)
    if not pairs:
        raise UsageError("there is no host in its groups")
    name, times = Counter(name for pair in pairs for name in set(pair.values())).most_common(1)[0]
    if times > 1:
        raise UsageError(f"host {name} is in {times} pairs, and all pairs run at the same time")
    values = [[part_text(listing, pair[role]) for role in ROLES if role in pair] for pair in pairs]
    # a host that has all ends starts them itself
    return tuple(JOIN.join(parts if len(set(parts)) > 1 else parts[:1]) for parts in values)
