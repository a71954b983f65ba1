# SPDX-License-Identifier: MIT
"""docs/stability.md lists every public name of the programs, and no other.

UNCORK_GOLDEN=write writes the lists again: a name that goes needs what the page promises.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from conftest import ROOT
from suite.base.client import Client, client_list
from suite.commands import COMMANDS, ENVIRONMENT, EXIT, parser_make
from suite.observe.metrics import METRICS
from suite.present.comparison import FORMATS
from suite.present.tables import RENDERERS
from suite.present.tables.mail import STYLES
from suite.result.checks import SCHEMA
from suite.scenario.scenario import HISTOGRAMS, PARTS, PICTURES, TOP, Scenario, part_keys
from suite.scenario.toml import keys_of

PAGE = ROOT / "docs/stability.md"


def code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)


def arguments_text(actions: Iterable[argparse.Action]) -> str:
    """The arguments of a command, those of its options with their values."""
    return ", ".join("/".join(f"`{name}`" for name in action.option_strings) + (
        f" {'|'.join(action.choices) if action.choices else action.metavar}"
        if action.nargs != 0 else "") for action in actions
        if action.option_strings and action.dest != "help")


def commands_list() -> str:
    return table(["command", "options", "its own words"], [
        [f"`uncork {name}`",
         arguments_text(parser_make(name)._actions) or code(COMMANDS[name].parts),
         code(f"{key}=" for key in command.own)] for name, command in COMMANDS.items()])


def programs_list(client: Client) -> str:
    rows = []
    for name in ("uncork-client", "uncork-server"):
        text = subprocess.run([str(client.folder / name), "--help"], capture_output=True,
                              text=True, check=True).stdout
        rows.append([f"`{name}`", code(re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.MULTILINE))])
    return table(["program", "options"], rows)


def values_text(word: dict[str, Any], variants: Sequence[dict[str, Any]]) -> str:
    """The values of a word that have names, or the kind of its values."""
    takes = {one["name"]: f"{one['name']}:{one['takes']}" for one in variants if one.get("takes")}
    takes |= {one["name"]: f"{one['name']}[:SIZE]" for one in variants if one.get("parameter")}
    names = word.get("choices") or word.get("names")
    return code(takes.get(name, name) for name in names) if names else str(word["kind"])


def words_list(client: Client) -> str:
    """Every word with its values and its default; words that follow each other and differ in their
    name only share a row."""
    document = client_list(client).document
    rows = []
    for word in document["words"]:
        variants = next((found for found in document["variants"].values()
                         if [one["name"] for one in found] == word.get("choices")), [])
        rows.append([word["key"], word["scope"], "yes" if word["ends"] else "",
                     values_text(word, variants),
                     "" if word["default"] is None else f"`{word['default']}`"])
    return table(["word", "of a", "ends", "values", "default"], [
        [code(row[0] for row in group), *rest]
        for rest, group in itertools.groupby(rows, lambda row: row[1:])])


def metrics_list() -> str:
    """Every metric; those that follow each other with the same first word, unit and direction share
    a row."""
    groups = itertools.groupby(METRICS.values(), lambda one: (one.name.split("_")[0], one.unit,
                                                              one.better))
    return table(["metric", "unit", "better"], [
        [code(one.name for one in group), unit, better] for (_, unit, better), group in groups])


def scenario_list() -> str:
    parts = {TOP: "in front of the first table"} | {
        key: f"`{key}`" for key, field in keys_of(Scenario).items() if not field.metadata["means"]}
    return table(["part", "keys"], [
        [text, code(key.name for key in part_keys(part))
         + (" and words" if part == "arm" else "" if part in PARTS else "words")]
        for part, text in parts.items()])


def formats_list() -> str:
    return table(["kind", "names"], [
        ["formats", code(f"--{name}" for name in (*RENDERERS, *FORMATS))],
        ["styles of `uncork paste`", code(STYLES)], ["pictures", code(PICTURES)],
        ["histograms", code(HISTOGRAMS)]])


LISTS: dict[str, Callable[[Client], str]] = {
    "commands": lambda client: commands_list(), "programs": programs_list, "words": words_list,
    "metrics": lambda client: metrics_list(),
    "scenario": lambda client: scenario_list(), "formats": lambda client: formats_list(),
    "exit": lambda client: table(["command", "statuses"], [["every command", EXIT], *(
        [f"`uncork {name}`", command.exit]
        for name, command in COMMANDS.items() if command.exit)]),
    "environment": lambda client: table(["variable", "is"], [
        [f"`{name}`", text] for name, text in ENVIRONMENT.items()]),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_page_of_public_words_lists_what_the_programs_have(binaries: Client, name: str) -> None:
    page = PAGE.read_text()
    head, mark, rest = page.partition(f"<!-- {name} -->\n")
    assert mark, f"{PAGE} has no list of {name}"
    listed, end, tail = rest.partition("<!-- end -->\n")
    fresh = f"\n{LISTS[name](binaries)}\n"
    if os.environ.get("UNCORK_GOLDEN") == "write":
        PAGE.write_text(head + mark + fresh + end + tail)
    else:
        assert listed == fresh


def test_every_kind_of_values_is_described(binaries: Client) -> None:
    page = PAGE.read_text().partition("| kind | is written |\n")[2].partition("\n\n")[0]
    described = set(re.findall(r"\w+", " ".join(re.findall(r"^\| (.*?) \|", page, re.MULTILINE))))
    words = client_list(binaries).words.values()
    assert {word["kind"] for word in words if "choices" not in word and "names" not in word
            } <= described
    assert described <= {word["kind"] for word in words}


def test_the_page_has_no_list_that_nothing_checks() -> None:
    assert set(re.findall(r"<!-- (\w+) -->", PAGE.read_text())) == {*LISTS, "end"}


def test_names_that_may_change_are_names_and_the_schema_is_the_one_that_is_written(
    binaries: Client,
) -> None:
    page = PAGE.read_text()
    part = page.partition("## What may change\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
    words = client_list(binaries).words
    for name in re.findall(r"`([^`]+)`", " ".join(rows)):
        key, _, value = name.partition("=")
        assert (key in words and (not value or value in words[key]["choices"])
                or name.removeprefix("uncork ") in COMMANDS
                or f"`{name}`" in programs_list(binaries)), name
    assert rows and f"schema {SCHEMA}:" in page
