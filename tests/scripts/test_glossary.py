# SPDX-License-Identifier: MIT
"""What docs/glossary.md names is in the code."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

LINES = (ROOT / "docs/glossary.md").read_text().splitlines()
NAMES = re.findall(r"`([^`]+)`", "\n".join(line.split("|")[-2] for line in LINES if "|" in line))


def sources(*patterns: str) -> str:
    """The text of all files that match."""
    return "\n".join(path.read_text() for pattern in patterns for path in ROOT.glob(pattern))


CORE = sources("common/*/*.[ch]", "client/*.[ch]", "server/*.[ch]")
SUITE = sources("scripts/suite/**/*.py")


def test_the_glossary_has_at_most_40_lines() -> None:
    assert len(LINES) <= 40
    assert len(NAMES) > 30


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_glossary_is_in_the_code(name: str) -> None:
    if "/" in name:
        assert (ROOT / name).is_file()
    elif name.startswith(("struct ", "enum ")):
        assert re.search(rf"^\s*{name} {{", CORE, re.MULTILINE)
    else:
        assert re.search(rf"^\s*(?:class|def) {name}\b", SUITE, re.MULTILINE)
