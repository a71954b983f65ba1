# SPDX-License-Identifier: MIT
"""What is claimed on this very machine: nothing where nothing changed, and what was injected where
something was.

Takes minutes and wants a machine that does nothing else, so that it is not among the usual tests:
scripts/test honesty.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import TOP
from suite import stats
from suite.contrast.contrast import Verdict, same_contrasts
from suite.contrast.verdicts import Family, Judged
from suite.decide.comparison.build import compare_pair
from suite.decide.comparison.model import Change
from suite.observe.frame import Matrix, matrix_build
from suite.observe.metrics import METRICS
from suite.observe.results import result_load

TIME = METRICS["time_per_message"]
SAME_RUNS = 20
CLAIMS_ALLOWED = 3  # P(more of 20) is 1.6 % where each is wrong in 5 %
INJECTED = 0.03
TRIES = 4


def measured(folder: Path, *words: str) -> Matrix:
    """A matrix that was run here and now."""
    done = subprocess.run([TOP / "scripts/uncork", "run", *words, "-o", folder],
                          capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return matrix_build(result_load(folder))


def same_claimed(matrix: Matrix) -> bool:
    """Whether a change is claimed between the two runs of a baseline cell, as a comparison of so
    many cells would."""
    family = Family(same_contrasts(matrix, TIME.name))
    assert family.tested
    return any(Judged(one, family).verdict.claims for one in family.members.values())


def test_of_twenty_runs_of_quick_against_themselves_at_most_three_claim_a_change(
        tmp_path: Path) -> None:
    """Its baseline cells, which are those that run twice in a round."""
    claimed = [same_claimed(measured(tmp_path / str(number), "quick", "write=nodelay"))
               for number in range(SAME_RUNS)]
    print(f"{sum(claimed)} of {SAME_RUNS} claim a change")
    assert sum(claimed) <= CLAIMS_ALLOWED


def injected_change(folder: Path) -> tuple[Change, float]:
    """(what was found of a slow-down, what was injected as a fraction), of 10 rounds in which both
    ran."""
    words = ("message=15x2", "reply=2", "write=nodelay", "place=together", "warmup=50ms")
    before = measured(folder / "before", *words, "rounds=6", "duration=200ms")
    (cell,) = before.cells
    spin_ns = round(INJECTED * stats.median(before.series(cell, TIME.name).values.tolist()) * 1e9)
    matrix = measured(folder / "both", *words, f"spin=0s,{spin_ns}ns", "rounds=10",
                      "duration=500ms")
    spins = list(dict.fromkeys(cell.axes["spin"] for cell in matrix.cells.values()))
    (row,) = compare_pair([matrix], {"spin": spins[0]}, {"spin": spins[1]}, [TIME]).rows
    change = row.changes[TIME.name]
    return change, spin_ns / 1e9 / change.base.median


def test_a_slow_down_of_three_percent_is_found_and_its_interval_holds_it(tmp_path: Path) -> None:
    """On a quiet stretch; where it is not found, what would have been is larger, and said."""
    told = []
    for number in range(TRIES):
        change, injected = injected_change(tmp_path / str(number))
        assert change.ratio is not None and change.ratio.interval is not None
        within = change.ratio.interval
        told.append(
            f"injected {injected:.2%}, found {change.ratio.value - 1:+.2%} ({within.low - 1:+.2%} "
            f"to {within.high - 1:+.2%})")
        print(told[-1])
        if change.verdict is Verdict.CHANGED:
            assert within.contains(1 + injected), told[-1]
            return
        assert (change.judged.detectable or 0) > injected / 2, told[-1]
    pytest.skip("no quiet stretch: " + "; ".join(told))
