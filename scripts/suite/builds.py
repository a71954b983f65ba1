# SPDX-License-Identifier: MIT
"""Builds of the programs as an axis: with `build=DIR,DIR` each cell is run by the client, and so the server, of its DIR.

The word is the runner's. A build is asked and started without it: it is the only build it knows, and an older one does
not know the word at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suite.lab.network import PROGRAM, client_command

WORD = "build"
THIS = "this"  # the build that is asked for the words: $UNCORK_BIN or build/release


def build_of(words: Mapping[str, str]) -> str:
    """The build that runs a cell of these words."""
    return words.get(WORD, THIS)


def words_own(words: Mapping[str, str]) -> dict[str, str]:
    """The words that a build is given."""
    return {key: value for key, value in words.items() if key != WORD}


def line_own(line: str) -> str:
    """The same of a line of words."""
    return " ".join(word for word in line.split() if not word.startswith(f"{WORD}="))


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


def command_by_hand(given: Mapping[str, str], reach: Sequence[str], folders: Mapping[str, str]) -> str:
    """The command that runs a cell once by hand; folders: of the programs, by build."""
    folder = folders.get(build_of(given))
    program = f"{folder}/{PROGRAM}" if folder else PROGRAM
    return client_command(words_own(given), reach, program)


def record_mark(record: dict[str, Any], words: Mapping[str, str]) -> None:
    """Puts the build into the words of a record, whose client knows only `this`."""
    if WORD in words and "words" in record:
        record["words"][WORD] = words[WORD]
