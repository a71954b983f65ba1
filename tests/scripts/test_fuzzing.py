# SPDX-License-Identifier: MIT
"""docs/fuzzing.md has each fuzz target, and each target has a small corpus."""

from __future__ import annotations

import re

from conftest import ROOT

FUZZ = ROOT / "tests/fuzz"
TARGETS = {path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c")}
TABLE = (ROOT / "docs/fuzzing.md").read_text().partition("## Running")[0]


def test_the_page_has_each_target() -> None:
    first_columns = re.findall(r"^\| (`[^|]*`) \|", TABLE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(first_columns))) == TARGETS


def test_each_target_has_a_small_corpus() -> None:
    folders = {path.name: [*path.iterdir()] for path in (FUZZ / "corpus").iterdir()}
    assert set(folders) == TARGETS and all(folders.values())
    seeds = [seed for folder in folders.values() for seed in folder]
    assert len(seeds) < 400 and max(seed.stat().st_size for seed in seeds) <= 8 << 10
