# SPDX-License-Identifier: MIT
"""docs/security.md has the limits of common/base/limits.def, and names tests that exist;
docs/reliability.md is made from stored results."""

from __future__ import annotations

import re
import subprocess

from conftest import ROOT

PAGE = (ROOT / "docs/security.md").read_text()
LIMITS = (ROOT / "common/base/limits.def").read_text()


def test_the_page_has_each_limit_with_its_preset_in_the_order_of_the_help() -> None:
    declared = re.findall(r'^LIMIT\(\w+, "([\w-]+)", .*?, "\w+", "\w+", "(\w+)", ', LIMITS,
                          re.MULTILINE)
    assert len(declared) == LIMITS.count("\nLIMIT(") > 5
    assert re.findall(r"^\| `--([\w-]+)` \| (\w+) \|", PAGE, re.MULTILINE) == declared


def test_each_threat_has_a_test_that_exists() -> None:
    _, _, threats = PAGE.partition("## What holds it")
    named = re.findall(r"`(tests/[\w/.]+)`", threats)
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_page_of_reliability_is_made_from_its_results() -> None:
    done = subprocess.run([ROOT / "scripts/reliability", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
