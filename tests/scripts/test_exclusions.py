# SPDX-License-Identifier: MIT
"""docs/design/exclusions.md has the rows of common/words/exclusions.def, and when words have an
effect."""

from __future__ import annotations

import re

from conftest import ROOT
from suite.base.client import Client, client_list

PAGE = (ROOT / "docs/design/exclusions.md").read_text()


def rows(text: str) -> list[tuple[str, ...]]:
    """The rows of the tables in a text, without their headings."""
    cells = [tuple(map(str.strip, line[1:-1].split("|"))) for line in text.splitlines()
             if line.startswith("|")]
    return [row for row in cells if row[-1] not in ("reason", "and", "---")]


def premises(when: list[str]) -> tuple[str, str]:
    first, second = (*when, "", "")[:2]
    return first, second


def test_the_page_has_each_row_in_the_order_in_which_they_are_asked(binaries: Client) -> None:
    listed = client_list(binaries).document["excludes"]
    excludes, _, _ = PAGE.partition("## When a word has an effect")
    assert rows(excludes) == [(*premises(row["when"]), row["reason"]) for row in listed]
    declared = re.findall(r"^EXCLUDES\(", (ROOT / "common/words/exclusions.def").read_text(),
                          re.MULTILINE)
    assert len(listed) == len(declared) > 50


def test_the_page_says_when_each_word_has_an_effect(binaries: Client) -> None:
    _, _, effects = PAGE.partition("## When a word has an effect")
    assert rows(effects) == [(f"`{key}`", *premises(word["when"]))
                             for key, word in client_list(binaries).words.items() if word["when"]]


def test_each_stage_has_its_section_in_the_page(binaries: Client) -> None:
    stages = list(dict.fromkeys(row["stage"] for row in client_list(binaries).document["excludes"]))
    assert re.findall(r"\(Stage\s`(\w+)`\.\)", PAGE) == stages
