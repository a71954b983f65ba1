# SPDX-License-Identifier: MIT
"""Simulated results in which nothing differs, from records through every command: what is claimed
of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from claimed import COMMANDS
from simulated import BASE, METRIC, NOISES, Draw, drifting, matrix_identical, normal
from suite import stats
from suite.analyse.comparison.build import compare_baseline
from suite.analyse.comparison.model import Unit
from suite.analyse.comparison.samples import change_make, changes_geomean
from suite.analyse.frame import Matrix
from suite.analyse.metrics import METRICS
from suite.analyse.optimum import optima_build
from suite.analyse.summary import summary_build
from suite.analyse.verdicts import Verdict, baseline_verdict, pairs_compare

ERRORS = 4  # standard errors by which a share may be off its exact value
GROUPS = 2000
ROUNDS = (6, 10, 20, 100)
MEANS, ROWS = 200, 24  # geometric means of so many rows
RESULTS, CELLS = 400, 12  # results of which each has a family of 11 rows
TENTH = 0.9  # a change that is there
POWER = 0.95  # of finding it in noise of 2 %
TIME = METRICS[METRIC]


def share_check(outcomes: list[bool], share: float, what: str) -> None:
    """That so many outcomes are true, within ERRORS standard errors; prints the share."""
    error = ERRORS * math.sqrt(share * (1 - share) / len(outcomes))
    print(
        f"{what}: {np.mean(outcomes):.2%} of {len(outcomes)}, exactly {share:.2%}, allowed +/- "
        f"{error:.2%}")
    assert np.mean(outcomes) == pytest.approx(share, abs=error), what


def share_interval(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson)."""
    z, share = 1.96, count / of
    centre, half = share + z * z / 2 / of, z * math.sqrt(share * (1 - share) / of
                                                        + z * z / 4 / of / of)
    return (centre - half) / (1 + z * z / of), (centre + half) / (1 + z * z / of)


def level_of(rounds: int) -> float:
    """How often an interval over so many shared rounds excludes 1 where nothing differs."""
    null = stats.signed_rank_null(rounds)
    return 1 - null.level_of(null.rank_at(stats.ALPHA))


def by_table(matrix: Matrix) -> Iterator[stats.Estimate]:
    """The ratios to the baseline in a table."""
    for found in summary_build(matrix, (METRIC,)).figures.values():
        if found[METRIC].ratio:
            yield found[METRIC].ratio


def by_gain(matrix: Matrix) -> Iterator[stats.Estimate]:
    """The ratios behind gains, those of A' to A too."""
    yield from (gain.ratio for gain in summary_build(matrix, (METRIC,), gain=METRIC).gains.values())


def by_compare(matrix: Matrix) -> Iterator[stats.Estimate]:
    """The ratios of a comparison of the baseline with all else."""
    for one in compare_baseline(matrix, [TIME]):
        yield from (row.changes[METRIC].ratio for row in one.rows)


def by_best(matrix: Matrix) -> Iterator[stats.Estimate]:
    """The ratios by which best= marks, but those to the baseline."""
    yield from (ratio for ratio in pairs_compare(matrix, "write", METRIC).values() if ratio)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_an_interval_of_identical_cells_excludes_1_as_often_as_its_level_says(
    noise: Draw, rounds: int
) -> None:
    two, three = (matrix_identical(noise, GROUPS, cells, rounds, seed=21) for cells in (2, 3))
    for command, matrix in ((by_table, two), (by_gain, two), (by_compare, two), (by_best, three)):
        outcomes = [not ratio.interval.contains(1) for ratio in command(matrix)]
        share_check(outcomes, level_of(rounds), f"{noise.__name__}, n={rounds}, {command.__name__}")


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_a_geometric_mean_of_identical_rows_excludes_1_as_often_as_its_level_says(
    noise: Draw, rounds: int
) -> None:
    matrix = matrix_identical(noise, MEANS * ROWS, 2, rounds, seed=23)
    pairs = zip(*[iter(matrix.cells.values())] * 2, strict=True)
    changes = [change_make((matrix, matrix), pair, TIME, Unit.ROUND) for pair in pairs]
    outcomes = []
    for first in range(0, len(changes), ROWS):
        mean = changes_geomean(dict(enumerate(changes[first:first + ROWS])), ROWS)
        assert mean.rows == ROWS and mean.ratio.pairs == rounds
        outcomes.append(not mean.ratio.interval.contains(1))
    share_check(outcomes, level_of(rounds),
                f"{noise.__name__}, n={rounds}, geometric mean of {ROWS} rows")


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_an_identical_baseline_is_the_best_of_six_in_one_group_of_six(noise: Draw) -> None:
    matrix = matrix_identical(noise, GROUPS, 6, 10, seed=22)
    share_check([one.best == BASE for one in optima_build(matrix, "write", TIME)], 1 / 6,
                f"{noise.__name__}, best")


@pytest.mark.parametrize("rounds", (10, 20))
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_of_results_with_identical_rows_at_most_5_percent_have_any_claim_by_any_command(
    noise: Draw, rounds: int
) -> None:
    matrices = [matrix_identical(noise, 1, CELLS, rounds, seed) for seed in range(RESULTS)]
    for command in COMMANDS:
        claims = sum(map(command, matrices))
        low, high = share_interval(claims, RESULTS)
        print(f"{noise.__name__}, n={rounds}, {command.__name__}: {claims} of {RESULTS} results "
              f"have a claim, {claims / RESULTS:.2%}, 95 % interval {low:.2%} to {high:.2%}")
        assert low <= stats.ALPHA, command


@pytest.mark.parametrize("rounds", (10, 20))
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_a_change_of_a_tenth_in_one_row_of_eleven_is_found_where_noise_allows(
    noise: Draw, rounds: int
) -> None:
    found = 0
    for seed in range(RESULTS):
        matrix = matrix_identical(noise, 1, CELLS, rounds, seed, TENTH)
        verdicts = [baseline_verdict(matrix, cell, METRIC) for cell in matrix.cells.values()]
        found += verdicts[1] is Verdict.CHANGED
    low, high = share_interval(found, RESULTS)
    print(f"{noise.__name__}, n={rounds}: a change of {TENTH - 1:.0%} is found in {found} of "
          f"{RESULTS} results, {found / RESULTS:.1%}, 95 % interval {low:.1%} to {high:.1%}")
    assert noise not in (normal, drifting) or found / RESULTS >= POWER
