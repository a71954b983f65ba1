# SPDX-License-Identifier: MIT
"""What is claimed of cells that do not differ, from records to answers: as often as the level says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulated import BASE, METRIC, NOISES, Draw, cell_name, exponential, matrix_identical, matrix_simulated
from suite import stats
from suite.frame import Matrix, noise_floor
from suite.optimum import optima_build
from suite.metrics import METRICS
from suite.summary import summary_build

GROUPS = 1500
ERRORS = 4  # standard errors by which a share may be off


def share_check(outcomes: list[bool], share: float) -> None:
    """That so many outcomes are true, within ERRORS standard errors."""
    error = ERRORS * math.sqrt(share * (1 - share) / len(outcomes))
    assert np.mean(outcomes) == pytest.approx(share, abs=error)


def ratios_of(matrix: Matrix) -> list[stats.Estimate]:
    """The ratios to the baseline that a table shows."""
    figures = summary_build(matrix, (METRIC,)).figures.values()
    return [found[METRIC].ratio for found in figures if found[METRIC].ratio]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_ratios_of_identical_cells_exclude_1_as_often_as_their_level_says(noise: Draw) -> None:
    ratios = ratios_of(matrix_identical(noise, GROUPS, 2, 20, seed=1))
    assert len(ratios) == GROUPS
    share_check([not ratio.interval.contains(1) for ratio in ratios], 1 - ratios[0].interval.level)
    share_check([ratio.value > 1 for ratio in ratios], 0.5)


def test_the_best_of_six_identical_values_is_the_baseline_in_one_group_of_six() -> None:
    matrix = matrix_identical(exponential, GROUPS, 6, 10, seed=2)
    optima = optima_build(matrix, "write", METRICS[METRIC])
    share_check([optimum.best == BASE for optimum in optima], 1 / 6)


def test_the_second_run_stands_in_where_the_first_failed_and_only_there() -> None:
    first, again = np.array([[[1.0, np.nan, 3.0], [5.0, 6.0, 7.0]]]), np.array([[10.0, 20.0, np.nan]])
    matrix = matrix_simulated(first, again)
    assert matrix.rounds_of(cell_name(0, 0), METRIC).tolist() == [1, 20, 3]
    assert matrix.rounds_of(cell_name(0, 1), METRIC).tolist() == [5, 6, 7]


def test_a_rate_and_the_time_that_it_is_the_reciprocal_of_have_reciprocal_ratios() -> None:
    first, again = np.random.default_rng(5).exponential(1, (2, 3, 2, 12))
    times, rates = (ratios_of(matrix_simulated(power(first), power(again[:, 0])))
                    for power in (lambda values: values, lambda values: 1 / values))
    assert [ratio.value for ratio in times] == pytest.approx([1 / ratio.value for ratio in rates])
    assert [ratio.p for ratio in times] == [ratio.p for ratio in rates]


def test_the_noise_floor_of_a_row_is_that_of_its_own_baseline() -> None:
    quiet, noisy = (np.exp(np.random.default_rng(6).normal(0, width, (3, 10))) for width in (0.01, 1.5))
    matrix = matrix_simulated(np.array([quiet[:2], noisy[:2]]), np.array([quiet[2], noisy[2]]))
    floors = summary_build(matrix, (METRIC,)).floors[METRIC]
    assert 1 < floors[cell_name(0, 0)] < 1.1 and floors[cell_name(1, 0)] > 2
    for group in (0, 1):
        for place in (0, 1):
            cell = matrix.cells[cell_name(group, place)]
            assert noise_floor(matrix, cell, METRIC) == floors[cell_name(group, 0)]
