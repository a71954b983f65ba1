# SPDX-License-Identifier: MIT
"""Builds of the programs as an axis: with `build=DIR,DIR` each cell is run by the client, and so the server, of its DIR.

The word is one of those that no client is told of (withheld.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suite.base.runner_words import THIS, build_of


def folders_of(plan: Mapping[str, Any]) -> dict[str, str]:
    """The folders of a result's builds, from its plan.json."""
    return {value: build["folder"] for value, build in plan.get("builds", {}).items()}


def build_facts(plan: Mapping[str, Any], value: str) -> dict[str, str]:
    """Revision and digest of one build of a result; empty where the plan does not know them."""
    own = {"revision": plan.get("revision"), "digest": plan.get("build")}
    build = own if value == THIS else plan.get("builds", {}).get(value, {})
    return {name: str(build[name]) for name in own if build.get(name) is not None}


def revision_of(plan: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """The revision of the build that ran the cells of these words; empty where nobody knows."""
    return build_facts(plan, build_of(words)).get("revision", "")


def builds_text(plan: Mapping[str, Any]) -> str:
    """A result's builds for a heading: value, revision and digest; empty where the word was not given."""
    named = list(plan.get("builds", {}))
    if named and any(build_of(cell["words"]) == THIS for cell in plan["cells"]):
        named = [THIS, *named]
    facts = {value: build_facts(plan, value) for value in named}
    return "; ".join(f"{value}: revision {build['revision']}, {build['digest']}" for value, build in facts.items())
