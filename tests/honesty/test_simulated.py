# SPDX-License-Identifier: MIT
"""Simulated results, from records through every command: what is claimed where nothing differs, and
what is found where something does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from claimed import COMMANDS, by_best
from simulated import (
    METRIC,
    NOISES,
    Draw,
    correlated,
    matrix_identical,
    matrix_sessions,
    matrix_simulated,
    normal,
    regimes,
)
from suite import stats
from suite.contrast.contrast import Verdict
from suite.contrast.verdicts import baseline_judged

ERRORS = 4  # standard errors by which a share may be off
RESULTS = {1: 1000, 10: 400, 40: 200}  # simulated results, by their rows
RESULTS_FOUND = 400
ROUNDS = (10, 20, 60)
NULLS = (*NOISES, regimes, correlated(0.2), correlated(0.4))


def most(share: float, number: int) -> float:
    """The largest share of so many that is within ERRORS of this one."""
    return share + ERRORS * math.sqrt(share * (1 - share) / number)


def check_claims(matrices: list, rows: int, what: str) -> None:
    """That at most 5 % of these results have any claim by a command."""
    for command in COMMANDS:
        if command is by_best and rows > 10:  # 780 pairs in each result
            continue
        claims = np.mean([command(matrix) for matrix in matrices])
        print(f"{what}, {command.__name__}: {claims:.2%} of {len(matrices)} results have a claim")
        assert claims <= most(stats.ALPHA, len(matrices)), (what, command.__name__)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("rows", RESULTS)
@pytest.mark.parametrize("noise", NULLS, ids=lambda noise: noise.__name__)
def test_of_results_with_identical_rows_at_most_5_percent_have_any_claim(
    noise: Draw, rows: int, rounds: int
) -> None:
    matrices = [matrix_identical(noise, 1, rows + 1, rounds, seed) for seed in range(RESULTS[rows])]
    check_claims(matrices, rows, f"{noise.__name__}, {rows} rows, n={rounds}")


@pytest.mark.parametrize("sessions, rounds", [(2, 10), (4, 10), (6, 10), (4, 15), (10, 6)])
@pytest.mark.parametrize("rows", (1, 10))
def test_of_sessions_that_differ_by_2_percent_at_most_5_percent_have_any_claim(
    rows: int, sessions: int, rounds: int
) -> None:
    matrices = [matrix_sessions(rows + 1, sessions, rounds, 0.02, 0.03, seed)
                for seed in range(RESULTS[rows])]
    check_claims(matrices, rows, f"{sessions} sessions of {rounds} rounds, {rows} rows")


@pytest.mark.parametrize("rows, least", [(1, 0.8), (10, 0.5)])
def test_a_change_of_5_percent_in_noise_of_3_percent_is_found_by_20_rounds(
    rows: int, least: float
) -> None:
    found = 0
    for seed in range(RESULTS_FOUND):
        matrix = matrix_identical(quiet, 1, rows + 1, 20, seed, 1.05)
        found += verdict_of_second(matrix) is Verdict.CHANGED
    print(f"a change of 5 % in one of {rows} rows is found in {found / RESULTS_FOUND:.1%}")
    assert found / RESULTS_FOUND >= least


def quiet(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise of 3 %."""
    return np.exp(chance.normal(0, 0.03, shape))


def verdict_of_second(matrix) -> Verdict:
    cell = list(matrix.cells.values())[1]
    judged = baseline_judged(matrix, cell, METRIC)
    assert judged is not None
    return judged.verdict


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("rows", (1, 10))
def test_the_printed_minimum_detectable_effect_is_found_in_75_to_85_percent(
    rows: int, rounds: int
) -> None:
    found, tried = 0, 0
    for seed in range(RESULTS_FOUND):
        matrix = matrix_identical(quiet, 1, rows + 1, rounds, seed)
        cell = list(matrix.cells.values())[1]
        judged = baseline_judged(matrix, cell, METRIC)
        effect = stats.smallest_detectable(judged.contrast.ratio, judged.family.alpha)
        if effect is None:
            continue
        again = matrix_identical(quiet, 1, rows + 1, rounds, RESULTS_FOUND + seed, 1 + effect)
        tried += 1
        found += verdict_of_second(again) is Verdict.CHANGED
    print(f"{rows} rows, n={rounds}: the printed effect is found in {found / tried:.1%}")
    assert 0.75 - 0.04 <= found / tried <= 0.85 + 0.04  # two standard errors of the simulation


def test_two_regimes_that_contradict_each_other_are_never_a_change() -> None:
    """Three quarters of the rounds are faster, the others ten times slower."""
    changed = 0
    for seed in range(RESULTS_FOUND):
        chance = np.random.default_rng((seed, 7))
        first = 1e-5 * normal(chance, (1, 2, 60))
        first[0, 1] *= chance.permutation(np.repeat([0.85, 10], [45, 15]))
        matrix = matrix_simulated(first, 1e-5 * normal(chance, (1, 60)))
        changed += verdict_of_second(matrix) is not Verdict.WITHHELD
    assert changed == 0
