# SPDX-License-Identifier: MIT
"""The words of a lab, its hosts, and how its facts are shown. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from suite.base.units import value_text

RATE_UNITS = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
LINK_WORDS = ("link_rate", "link_mtu", "link_delay", "link_loss")
SYSCTL_WORD = "sysctl"
LAB_WORDS = ("lab", *LINK_WORDS, SYSCTL_WORD)
LAB_HOSTS = CLIENT_HOST, ROUTER_HOST, SERVER_HOST = "a", "b", "c"
PROXY_ADDRESS, SERVER_ADDRESS = "198.18.1.2", "198.18.2.3"
# the namespaces of the lab that `uncork lab up` makes; ip(8) makes their files
NAMES = {host: f"uncork-{host}" for host in LAB_HOSTS}
NAMED = {host: f"/run/netns/{name}" for host, name in NAMES.items()}


def lab_wanted(words: Mapping[str, str]) -> bool:
    return words.get("lab") == "on"


def lab_text(words: Mapping[str, str]) -> str:
    """The lab of a cell as `uncork lab up` takes it."""
    return " ".join(f"{key}={words[key]}" for key in (*LINK_WORDS, SYSCTL_WORD) if key in words)


def place_arguments(words: Mapping[str, str], namespaces: Mapping[str, str]) -> tuple[str, ...]:
    """The client's options for its ends in a lab. namespaces: the files of the hosts."""
    server = ("--server-in", f"{SERVER_ADDRESS}@{namespaces[SERVER_HOST]}")
    if words.get("workload") != "proxy":
        return server
    return (*server, "--proxy-in", f"{PROXY_ADDRESS}@{namespaces[ROUTER_HOST]}")


def queue_text(queue: Mapping[str, Any]) -> str:
    """A queue and its options, as tc(8) prints them: `tbf 1 Gbit/s burst=250000`."""
    options = dict(queue.get("options", {}))
    rate = options.pop("rate", None)  # tc(8) gives it in bytes
    shaped = [value_text(8 * rate, "bit/s")] if isinstance(rate, int) else []
    return " ".join([queue["kind"], *shaped,
                     *(f"{key}={json.dumps(value)}" for key, value in options.items())])


def facts_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(host and device, description) of every device of a lab, and its sysctl."""
    rows = [(f"{host} {device['device']}",
             f"{device['address']}, mtu {device['mtu_bytes']}, "
             f"{'; '.join(map(queue_text, device['queues'])) or 'no queue'}")
            for host in LAB_HOSTS for device in facts.get(host, ())]
    if sysctl := facts.get(SYSCTL_WORD):
        values = ", ".join(f"{sysctl[host]} in {host}" for host in LAB_HOSTS if host in sysctl)
        rows.append((SYSCTL_WORD, f"{sysctl['name']} is {values}"))
    return rows
