# SPDX-License-Identifier: MIT
"""arrival=poisson: each round of a result meets a sequence of its own, which its records name."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from suite.base.client import Client
from suite.measure.hyperfine import hyperfine_run
from suite.measure.plan import plan_make
from suite.measure.runner import cells_run
from suite.measure.schedule import round_order
from suite.places.targets import Targets
from suite.scenario.scenario import Scenario

WORDS = ("rate=4000", "arrival=poisson", "write=nodelay,writev", "place=free", "seed=5",
         "duration=50ms", "warmup=0s")


def seeds_of(folder: Path) -> dict[int, set[str]]:
    """The seeds of the counted rounds, as the records name them."""
    seeds: dict[int, set[str]] = {}
    for record in records_of(folder):
        assert record["status"] == "ok", record
        seeds.setdefault(record["run"]["round"], set()).add(record["words"]["arrival_seed"])
    del seeds[0]
    return seeds


def due(record: dict[str, Any]) -> int:
    """How many requests were due, which is a function of the seed."""
    return sum(thread["due"] for thread in record["client"]["threads"])


@pytest.fixture
def folder(uncork: Uncork) -> Path:
    folder = uncork.results / "mine"
    done = uncork.run("run", *WORDS, "rounds=2", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def test_a_session_that_is_added_goes_on_with_arrivals_of_its_own(
    uncork: Uncork, folder: Path
) -> None:
    before = seeds_of(folder)
    done = uncork.run("run", *WORDS, "rounds=2", "-o", str(folder), "--more")
    assert done.returncode == 0, done.stderr
    after = seeds_of(folder)
    assert [len(seeds) for seeds in after.values()] == [1] * 4
    assert {number: after[number] for number in before} == before
    assert len(set.union(*after.values())) == 4


def test_a_record_names_what_replays_its_arrivals_by_hand(
    uncork: Uncork, binaries: Client, folder: Path,
) -> None:
    records = [record for record in records_of(folder) if record["run"]["round"] == 1]
    text = uncork.run("show", str(folder), "write=writev").stdout
    assert "each round has arrivals of its own" in text
    by_hand = text.splitlines()[-1].strip()
    planned = uncork.run("run", "-n", *WORDS, "rounds=2").stdout.splitlines()
    assert by_hand in planned  # -n shows the commands of round 1
    _, *words = shlex.split(by_hand)
    done = subprocess.run([binaries.program, "--json", *words], capture_output=True, text=True,
                          timeout=60)
    assert {due(record) for record in records} == {due(json.loads(done.stdout))}


def test_n_says_that_the_seed_of_the_rounds_is_not_drawn_yet(uncork: Uncork) -> None:
    words = [word for word in WORDS if not word.startswith("seed=")]
    text = uncork.run("run", "-n", *words).stdout
    assert "each round draws an arrival_seed of its own; the commands have the default" in text


@pytest.mark.parametrize("timed", [(), ("timer=hyperfine", "messages=50")])
def test_a_record_of_any_timer_is_that_of_its_run(binaries: Client, timed: tuple[str, ...]) -> None:
    words = [word for word in WORDS if not (timed and word.startswith("duration="))]
    plan = plan_make(Targets(binaries), Scenario("words"), None, [*words, *timed]).plan
    run = hyperfine_run if timed else cells_run
    for planned in round_order(plan.cells, 5, 1):
        ((_, record),) = run(binaries, [planned.cell], 60)
        assert record["status"] == "ok", record
        assert record["words"]["arrival_seed"] == planned.cell.given["arrival_seed"] != "default"
