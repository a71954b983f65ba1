# SPDX-License-Identifier: MIT
"""Real runs in which nothing differs: 900 short ones of ten cells that are the same program, judged
as scheduled and with roles permuted.

Within a round the cells run in random order, so that which of them is called the baseline may be
drawn again: each such permutation is one more result of the same machine.
"""

from __future__ import annotations

import math
import subprocess

import numpy as np
import pytest

from claimed import COMMANDS
from conftest import TOP
from simulated import matrix_simulated
from suite import stats
from suite.observe.frame import Matrix, matrix_build
from suite.observe.results import result_load

CELLS, ROUNDS = 9, 90        # with the second run of the baseline 10 runs in each round
BLOCK = 10                   # rounds of one comparison
BLOCKS = ROUNDS // BLOCK
PERMUTED = 60
ERRORS = 4
NAMES = ("time_per_message", "latency_p99", "latency_max")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """900 counted runs of cells that differ in the name of the folder of one build only."""
    folder = tmp_path_factory.mktemp("identical")
    builds = []
    for number in range(CELLS):
        (folder / f"build{number}").mkdir()
        (folder / f"build{number}" / "bin").symlink_to(TOP / "build" / "release" / "bin")
        builds.append(str(folder / f"build{number}"))
    words = ("message=64", "reply=64", "write=nodelay", "place=together",
             f"build={','.join(builds)}",
             # set work: each run knows its p99
             "messages=1000", "warmup=5ms", f"rounds={ROUNDS}", "seed=16")
    done = subprocess.run([TOP / "scripts/uncork", "run", *words, "-o", folder / "result"],
                          capture_output=True,
                          text=True, timeout=840)
    assert done.returncode == 0, done.stderr
    return matrix_build(result_load(folder / "result"))


def runs_of(matrix: Matrix, metric: str) -> np.ndarray:
    """The values of all runs of a metric, (run of the round, round): nine cells, and the second run
    of the first."""
    frame = matrix.frame[matrix.frame["round"] > 0]
    assert (frame["status"] == "ok").all() and len(frame) == (CELLS + 1) * ROUNDS
    table = frame.pivot_table(index=["label", "cell"], columns="round", values=metric)
    values = table.to_numpy()
    assert values.shape == (CELLS + 1, ROUNDS) and not np.isnan(values).any(), metric
    return values


def permuted(values: np.ndarray, seed: int) -> np.ndarray:
    """The same with the runs of each round in another order; seed 0: as scheduled."""
    return np.random.default_rng(seed).permuted(values, axis=0) if seed else values


def results_of(values: np.ndarray) -> list[Matrix]:
    """A result of ten rounds for each block, by the functions that make them of records."""
    blocks = values.reshape(CELLS + 1, BLOCKS, BLOCK)
    return [matrix_simulated(blocks[None, :CELLS, block], blocks[None, CELLS, block])
            for block in range(BLOCKS)]


def excluded(values: np.ndarray) -> list[bool]:
    """Whether the uncorrected interval excludes 1, of pairs of runs that share nothing, in each
    block."""
    blocks = values.reshape(CELLS + 1, BLOCKS, BLOCK)
    pairs = [(blocks[number, block], blocks[number + 1, block])
             for block in range(BLOCKS) for number in range(0, CELLS + 1, 2)]
    return [not stats.ratio_make(*pair, True).estimate().interval.contains(1) for pair in pairs]


def error_of(share: float, independent: int) -> float:
    """How far a share may be off; independent: of how many results it is that share no run."""
    return ERRORS * math.sqrt(share * (1 - share) / independent)


@pytest.mark.parametrize("metric", NAMES)
def test_the_uncorrected_interval_excludes_1_no_more_often_than_its_level_says(
    measured: Matrix, metric: str
) -> None:
    values, null = runs_of(measured, metric), stats.signed_rank_null(BLOCK)
    level = 1 - null.level_of(null.rank_at(stats.ALPHA))
    for seeds, what in (((0,), "as scheduled"), (range(1, PERMUTED + 1), "permuted")):
        outcomes = [outcome for seed in seeds for outcome in excluded(permuted(values, seed))]
        error = error_of(level, BLOCKS * (CELLS + 1) // 2)
        print(
            f"{metric}, {what}: {np.mean(outcomes):.2%} of {len(outcomes)}, at most {level:.2%} "
            f"+ {error:.2%}")
        assert np.mean(outcomes) <= level + error


@pytest.mark.parametrize("metric", NAMES)
def test_of_results_with_identical_rows_at_most_5_percent_have_any_claim_by_any_command(
        measured: Matrix, metric: str) -> None:
    values = runs_of(measured, metric)
    results = [matrix for seed in range(PERMUTED // 3)
               for matrix in results_of(permuted(values, seed))]
    for command in COMMANDS:
        outcomes = [command(matrix) for matrix in results]
        print(
            f"{metric}, {command.__name__}: {np.mean(outcomes):.2%} of {len(outcomes)} results "
            "have a claim")
        assert np.mean(outcomes) <= 0.05 + error_of(0.05, BLOCKS), command
