# SPDX-License-Identifier: MIT
"""Tables of a page, from the columns that tables for terminals are made from. Pure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any

from suite.present.report.elements import element
from suite.result.machine import Machine, findings_last


def facts_flat(facts: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Nested facts by their whole name."""
    flat: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= facts_flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = " ".join(str(value).split())
    return flat


def machines_make(machines: Iterable[Machine]) -> ET.Element:
    """All that is known of each machine; what is not the same on all of them comes first and stands
    out."""
    flat = [facts_flat({**machine.facts, "doctor": findings_last(machine.looks)})
            for machine in machines]
    names = list(dict.fromkeys(name for facts in flat for name in facts))
    apart = [name for name in names if len({facts.get(name) for facts in flat}) > 1]
    rows = [element("tr", element("td", name, class_="name"),
                    *(element("td", facts.get(name, ""), class_="fact") for facts in flat),
                    **({"class_": "apart"} if name in apart else {}))
            for name in [*apart, *(name for name in names if name not in apart)]]
    head = element("tr", element("th", "fact", scope="col"),
                   *(element("th", f"machine {number}", scope="col")
                                                             for number in range(1, len(flat) + 1)))
    return element("div", element("table", element("thead", head), element("tbody", *rows)),
                   class_="wide")
